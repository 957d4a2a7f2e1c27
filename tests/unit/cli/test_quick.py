"""The quick reading of `httpdyno load`: it says what Typer says, or leaves it to Typer."""

import inspect
from typing import Any

import pytest
import typer
from hypothesis import example, given, settings
from hypothesis import strategies as st

from httpdyno.cli.load import load
from httpdyno.experiments.load.quick import read_quickly
from httpdyno.experiments.load.words import FORMATS, LOAD_OPTIONS
from httpdyno.report.formats import format_names


def test_the_formats_that_need_no_look_are_all_there_are() -> None:
    assert sorted(FORMATS) == sorted(format_names())


def read_by_typer(words: list[str]) -> dict[str, Any] | None:
    """Give the arguments with which Typer would call the command; None when it refuses."""
    called: list[dict[str, Any]] = []

    def record(**arguments: Any) -> None:
        called.append({name: value for name, value in arguments.items() if name != "context"})

    record.__signature__ = inspect.signature(load)  # type: ignore[attr-defined]
    record.__annotations__ = load.__annotations__
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(record)
    try:
        app(args=words, standalone_mode=False)
    except Exception:  # whatever it is, the words are refused
        return None
    return called[0] if called else None


WORDS = st.sampled_from(
    [
        *("http://a/", "-", "--", "x y", "", "5", "-5", "07", "1e3", "--header", "-H", "a: b", "-H=a", "--header=a: b"),
        *("-c", "-c8", "--connections", "--connections=8", "-d", "10s", "-d10s", "--rate=5..9", "-k", "--insecure"),
        *("--keepalive", "--no-keepalive", "--http2", "--http2=1", "--seed", "--seed=-1", "--repeat", "-kc", "--help"),
        *(
            "--out",
            "--out=dir",
            "--no-store",
            "--format",
            "json",
            "--fail-if",
            "p99 > 5ms",
            "--unknown",
            "-Z",
            "--body=",
        ),
    ]
)


@settings(deadline=None, max_examples=300)
@given(st.lists(WORDS, max_size=6))
@example(["http://a/", "http://b/", "-c", "8", "-d", "10s", "--check", "status=200", "--check=length=5"])
@example(["--out", "http://a/"])
def test_it_reads_what_typer_reads(words: list[str]) -> None:
    quickly = read_quickly(LOAD_OPTIONS, words)
    if quickly is not None:
        assert quickly == read_by_typer(words)


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (["http://a/"], {"urls": ["http://a/"]}),
        (["http://a/", "http://b/", "-c", "8"], {"urls": ["http://a/", "http://b/"], "connections": 8}),
        (["--urls", "-", "--no-keepalive", "-k"], {"urls_file": "-", "keepalive": False, "insecure": True}),
        (["--rate=100..200", "-H", "a: b", "-H", "c: d"], {"rate": "100..200", "headers": ["a: b", "c: d"]}),
        (["--out", "there", "--fail-if", "p99 > 5ms"], {"out": "there", "fail_if": ["p99 > 5ms"]}),
        (["--body="], {"body": ""}),
    ],
)
def test_usual_command_lines_are_read_quickly(words: list[str], arguments: dict[str, Any]) -> None:
    quickly = read_quickly(LOAD_OPTIONS, words)
    assert quickly is not None
    assert {name: value for name, value in quickly.items() if name in arguments} == arguments
    assert quickly == read_by_typer(words)


@pytest.mark.parametrize(
    "words", [["--help"], ["-c"], ["-c", "many"], ["--no-such"], ["-c8"], ["--repeat", "-1"], ["--repeat", "1001"]]
)
def test_anything_else_is_left_to_typer(words: list[str]) -> None:
    assert read_quickly(LOAD_OPTIONS, words) is None


def test_a_variable_of_the_environment_is_left_to_typer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORMAT", "json")
    assert read_quickly(LOAD_OPTIONS, ["http://a/"]) is None
