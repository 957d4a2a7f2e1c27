"""The help of a verb describes that verb, for users."""

import re

import click
import pytest

from doubles.command_line import Command, all_commands
from doubles.presets import preset_names
from httpdyno.cli.app import app


def help_of(httpdyno: Command, verb: str) -> str:
    """Return the help of a verb on one line."""
    return " ".join(httpdyno(*verb.split(), "--help").out.split())


@pytest.mark.parametrize("verb", all_commands())
def test_help_names_no_python_types(httpdyno: Command, verb: str) -> None:
    shown = httpdyno(*verb.split(), "--help").out
    for word in ("<bool>", "<str>", "list[", "x>=", "x<="):
        assert word not in shown


@pytest.mark.parametrize("verb", ["", "subjects"])
def test_help_of_all_verbs_names_no_python_types(httpdyno: Command, verb: str) -> None:
    assert "<bool>" not in httpdyno(*verb.split(), "--help").out


def test_options_stand_in_groups(httpdyno: Command) -> None:
    assert re.findall(r"^(\S.*):$", httpdyno("bench", "--help").out, re.MULTILINE) == [
        "Arguments",
        "What is measured",
        "The web, and the path to it",
        "The real internet",
        "Published measurements",
        "Subjects, and the machine",
        "The run",
        "Results",
    ]


def test_paragraphs_are_broken_where_the_terminal_ends(httpdyno: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert "of those that are equally good the smallest is chosen." in httpdyno("tune", "--help").out


@pytest.mark.parametrize("verb", ["bench", "capacity", "cost", "latency", "service"])
def test_the_presets_of_a_verb_are_named(httpdyno: Command, verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "400")
    (named,) = re.findall("and compare; one of: (.*?)[.] ", help_of(httpdyno, verb))
    assert tuple(re.split(", | or ", named)) == preset_names(verb)


def test_shared_options_are_explained_by_each_verb(httpdyno: Command) -> None:
    for verb in ("tune", "cost"):
        assert "real internet" not in help_of(httpdyno, verb)
    assert "the real internet, for the list of --urls" in help_of(httpdyno, "bench")
    assert "Path between generator and server" in help_of(httpdyno, "service")
    assert "of the preset's documents" in help_of(httpdyno, "cost")
    assert "of the preset's rates and requests in flight" in help_of(httpdyno, "capacity")


@pytest.mark.parametrize(("name", "summary"), [(name, text) for _, name, text in app.summaries()])
def test_the_list_of_verbs_has_the_first_paragraph_of_each(name: str, summary: str) -> None:
    command = app.get_command(click.Context(app), name)
    assert command is not None
    assert str(command.help).split("\n\n")[0] == summary
