"""The examples that each verb's help shows can be typed."""

import shlex

import pytest

from doubles.command_line import Command, all_commands
from httpdyno.cli.examples import EXAMPLES, examples_text
from httpdyno.experiments.options import WEBS
from httpdyno.published import preset_names
from httpdyno.subjects.catalogue import read_catalogue
from pages.command_line import command_line_page

_OWN = {"mine"}
"""Subjects of whoever types the example."""


def typed(line: str) -> list[str]:
    """Give the words of the one command of httpdyno in a line: no pipe, no redirection."""
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


LINES = [(verb, example.line) for verb, examples in EXAMPLES.items() for example in examples]


def test_every_verb_has_examples() -> None:
    assert set(EXAMPLES) == set(all_commands())


@pytest.mark.parametrize(("verb", "line"), LINES)
def test_each_example_can_be_typed(verb: str, line: str, subjects: frozenset[str]) -> None:
    words = typed(line)[1:]
    (name,) = [name for name in all_commands() if words[: len(name.split())] == name.split()]
    context = all_commands()[name].make_context(name, words[len(name.split()) :])
    if name not in {"urls", "published", "query", "load", "report", "compare"}:
        given = context.params.get("names") or context.params.get("name") or []
        assert {given} if isinstance(given, str) else set(given) <= {*subjects, *_OWN}
    assert (context.params.get("preset") or "published") in ("published", *preset_names(name))
    assert (context.params.get("web") or "plain") in WEBS
    # Most stand with the verb that they are of; the others show what is done with what it leaves.
    assert name == verb or EXAMPLES[verb][0].line.startswith(f"httpdyno {verb}")


@pytest.mark.parametrize("verb", EXAMPLES)
def test_the_help_ends_with_them_and_the_reference_has_them(httpdyno: Command, verb: str, reference_page: str) -> None:
    text = examples_text(verb).strip()
    ended = httpdyno(*verb.split(), "--help")
    assert ended.code == 0
    assert ended.out.strip().endswith(text)
    assert text in reference_page
