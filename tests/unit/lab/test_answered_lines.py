"""Which URLs are answered, in whatever pieces and forms a client says so."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.lab.answered_lines import AnsweredLines

REST = b",200,2026-11-21T10:00:00Z,1.5,13"


def answered(output: bytes, *given_urls: bytes, cuts: list[int] | None = None) -> list[bytes]:
    told: list[bytes] = []

    def take(url: bytes) -> bool:
        if url in given_urls:
            told.append(url)
            return True
        return False

    lines = AnsweredLines(take)
    edges = [0, *sorted(cuts or []), len(output)]
    for begin, end in pairwise(edges):
        lines.feed(output[begin:end])
    assert lines.rows == len(told)
    return told


@pytest.mark.parametrize(
    ("line", "url"),
    [
        (b"https://a.example/" + REST, b"https://a.example/"),
        (b" https://a.example/ " + REST + b"\r", b"https://a.example/"),
        (b"https://a.example/x,y" + REST, b"https://a.example/x,y"),
        (b"https://a.example/,reset, by peer,2026-11-21T10:00:00Z,1,0", b"https://a.example/"),
        (b"https://a.example/x,y,a, b, c,2026-11-21T10:00:00Z,1,0", b"https://a.example/x,y"),
    ],
)
def test_a_line_names_its_url(line: bytes, url: bytes) -> None:
    assert answered(line + b"\n", url) == [url]


@pytest.mark.parametrize("line", [b"", b"hello", b"a,b,c", b"https://b.example/" + REST, b"x" * 70_000 + REST])
def test_other_lines_say_nothing(line: bytes) -> None:
    assert answered(line + b"\n", b"https://a.example/", b"") == []


def test_a_line_counts_when_it_is_whole() -> None:
    assert answered(b"https://a.example/" + REST, b"https://a.example/") == []


@given(st.lists(st.sampled_from([b"https://a.example/", b"https://b.example/"])), st.data())
def test_pieces_do_not_matter(urls: list[bytes], data: st.DataObject) -> None:
    output = b"".join(url + REST + b"\n" for url in urls)
    cuts = data.draw(st.lists(st.integers(0, len(output))))
    assert answered(output, b"https://a.example/", b"https://b.example/", cuts=cuts) == urls


def test_a_line_without_end_does_not_fill_memory() -> None:
    lines = AnsweredLines(lambda _: True)
    for _ in range(100):
        lines.feed(b"x" * 10_000)
    assert len(lines._rest) < 100_000
