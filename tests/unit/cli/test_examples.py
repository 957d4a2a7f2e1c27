"""The examples that each verb's help shows can be typed."""

import re
import shlex

import click
import pytest

from doubles.command_line import Command, all_commands
from doubles.presets import preset_names
from httpdyno.cli.app import app
from httpdyno.cli.verb import examples_text, first_example
from httpdyno.experiments.options import WEBS
from httpdyno.judge.scripted.case_file import read_cases
from httpdyno.subjects.catalogue import read_catalogue
from pages.command_line import command_line_page

_OWN = {"mine", "./my-client", "./my-server"}
"""Subjects of the user of the example."""
_GROUPS = {"": app, "subjects": app.get_command(click.Context(app), "subjects")}
"""Their help lists verbs, and begins with an example of one of them."""
EXAMPLES = {name: command.examples for name, command in (*all_commands().items(), *_GROUPS.items())}


def typed(line: str) -> list[str]:
    """Return the words of the one command of httpdyno in a line: no pipe, no redirection."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|<>")
    lexer.whitespace_split = True
    parts: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set("|<>"):
            parts.append([])
        else:
            parts[-1].append(word)
    (words,) = [part for part in parts if part[:1] == ["httpdyno"]]
    return words


@pytest.fixture(scope="module")
def subjects() -> frozenset[str]:
    return frozenset(read_catalogue(()).subjects)


@pytest.fixture(scope="module")
def reference_page() -> str:
    return command_line_page({})


LINES = [(verb, line) for verb, examples in EXAMPLES.items() for line, _ in examples]


def test_every_verb_has_examples() -> None:
    assert [name for name, examples in EXAMPLES.items() if not examples] == []


@pytest.mark.parametrize(("verb", "line"), LINES)
def test_each_example_can_be_typed(verb: str, line: str, subjects: frozenset[str]) -> None:
    words = typed(line)[1:]
    name = max((name for name in all_commands() if words[: len(name.split())] == name.split()), key=len)
    context = all_commands()[name].make_context(name, words[len(name.split()) :])
    if name not in {"urls", "published", "query", "report", "compare", "plan"}:
        given = context.params.get("names") or context.params.get("name") or []
        assert {given} if isinstance(given, str) else set(given) <= {*subjects, *_OWN, *read_cases()}
    assert (context.params.get("preset") or "published") in ("published", *preset_names(name))
    assert (context.params.get("web") or "plain") in WEBS
    # Most examples are with their verb; the others show a use of its results.
    assert name == verb or EXAMPLES[verb][0][0].startswith(f"httpdyno {verb}")


@pytest.mark.parametrize("verb", EXAMPLES)
@pytest.mark.parametrize("columns", ["80", "120"])
def test_the_help_has_an_example_before_the_options_and_the_others_at_its_end(
    httpdyno: Command, verb: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    ended = httpdyno(*verb.split(), "--help")
    assert (ended.code, ended.err) == (0, "")
    lines = [line.strip() for line in ended.out.splitlines()]
    usage, example, options = (
        next(place for place, line in enumerate(lines) if line.startswith(start))
        for start in ("Usage: ", first_example(EXAMPLES[verb]), ("Arguments:", "Options:"))
    )
    assert usage < example < options
    more = examples_text(EXAMPLES[verb][1:], "More examples").strip()
    assert ended.out.strip().endswith(more)
    assert max(map(len, ended.out.splitlines())) <= int(columns)
    assert max(map(len, more.splitlines()), default=0) <= 80


@pytest.mark.parametrize("verb", sorted(EXAMPLES.keys() - _GROUPS.keys()))
def test_the_reference_has_all_of_them(verb: str, reference_page: str) -> None:
    assert examples_text(EXAMPLES[verb]).strip() in reference_page


def test_a_meaning_that_does_not_fit_stands_below_its_line() -> None:
    for examples in EXAMPLES.values():
        text = examples_text(examples)
        for line, meaning in examples:
            assert re.search(rf"^  {re.escape(line)}(   +|\n      ){re.escape(meaning)}$", text, re.MULTILINE)
