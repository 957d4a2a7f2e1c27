"""Lines of a client on a terminal: readable, coloured, harmless."""

import io

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from httpdyno.cli.result_lines import ResultLines, line_colour, readable_line
from httpdyno.judge import Expectations
from httpdyno.judge.expectations import EXPECTED

LINE = "https://a.example/x,y,200,2026-11-21T10:00:00Z,123.4,99"


def printed(text: bytes, *, terminal: bool, raw: bool = False) -> str:
    out = io.StringIO()
    console = Console(file=out, force_terminal=terminal, color_system="standard" if terminal else None, width=20)
    lines = ResultLines(console, raw=raw)
    lines.feed(text)
    lines.finish()
    return out.getvalue()


@pytest.mark.parametrize(
    ("code", "colour"),
    [
        ("200", "green"),
        ("301", "yellow"),
        ("404", "yellow"),
        ("503", "red"),
        ("101", "red"),
        ("Timeout", "red"),
        ("2000", "red"),
        ("", "red"),
        ("２００", "red"),
    ],
)
def test_the_colour_says_how_it_went(code: str, colour: str) -> None:
    assert line_colour(code) == colour


def test_a_line_is_readable() -> None:
    assert readable_line(LINE) == ("200", "https://a.example/x,y", "123ms", 99)
    assert printed(LINE.encode(), terminal=False) == "[200] https://a.example/x,y : 123ms\n"
    assert printed(LINE.encode(), terminal=True) == "\x1b[32m[200]\x1b[0m https://a.example/x,y : 123ms\n"


def test_a_wrong_answer_is_red_and_stands_beside_what_was_served() -> None:
    rows = [("https://a.example/x,y", "status", 200, 100), ("https://b.example/", "status", 200, 99)]
    due = pl.DataFrame(
        [(url, outcome, status, length, None, 0, url) for url, outcome, status, length in rows],
        schema=EXPECTED,
        orient="row",
    )
    text = f"{LINE}\nhttps://b.example/,200,2026-11-21T10:00:00Z,5,99\nhttps://c.example/,200,x,5,1\n".encode()
    for terminal, red, green, end in ((False, "", "", ""), (True, "\x1b[31m", "\x1b[32m", "\x1b[0m")):
        out = io.StringIO()
        console = Console(file=out, force_terminal=terminal, color_system="standard" if terminal else None, width=20)
        lines = ResultLines(console, raw=False)
        lines.expect(Expectations.of(due))
        lines.feed(text)
        assert out.getvalue() == (
            f"{red}[200, 99 B; served 100] https://a.example/x,y : 123ms{end}\n"
            f"{green}[200]{end} https://b.example/ : 5ms\n"
            f"{green}[200]{end} https://c.example/ : 5ms\n"
        )


def test_the_form_of_the_seeds_is_readable() -> None:
    line = "https://a.example,Name or service not known,2024-11-01T10:00:00,12,0"
    assert printed(line.encode(), terminal=False) == "[Name or service not known] https://a.example : 12ms\n"


def test_what_is_no_line_is_shown_as_it_is() -> None:
    assert printed(b"panic: oh no\n\n", terminal=False) == "panic: oh no\n"
    assert printed(b"panic: oh no\n", terminal=True) == "\x1b[31mpanic: oh no\x1b[0m\n"


def test_nothing_that_a_client_prints_commands_the_terminal() -> None:
    hostile = "https://a.example/\x1b]0;owned\x07\u202e,\x9b31m200,2026-11-21T10:00:00Z,1,1"
    for raw in (False, True):
        shown = printed(hostile.encode(), terminal=True, raw=raw)
        assert "\x07" not in shown
        assert "\x9b" not in shown
        assert "\u202e" not in shown
        assert "\\x07" in shown
        assert "\x1b]" not in shown


def test_raw_lines_reach_a_pipe_unchanged() -> None:
    line = "https://a.example/\x1b[1m,200,x,1,1"
    assert printed(line.encode(), terminal=False, raw=True) == line + "\n"


@given(st.lists(st.text("ab,\n", max_size=20).map(str.encode), max_size=10))
def test_any_split_into_pieces_prints_the_same(pieces: list[bytes]) -> None:
    out = io.StringIO()
    lines = ResultLines(Console(file=out), raw=True)
    for piece in pieces:
        lines.feed(piece)
    lines.finish()
    whole = b"".join(pieces).decode()
    assert out.getvalue() == (whole if whole.endswith("\n") or not whole else whole + "\n")
