"""Progress from the engine's lines, in whatever pieces they arrive."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.lab.observer import Progress, ProgressReader

LINE = b'{"phase":"running","elapsed_ns":2000000000,"requests":50,"requests_expected":200,"sent_bytes":9}'


def test_a_line_has_the_progress() -> None:
    (progress,) = ProgressReader().feed(LINE + b"\n")
    assert progress == Progress("running", 2_000_000_000, 50, 200, 9)
    assert progress.requests_per_s == 25
    assert progress.left_s == 6


def test_nothing_is_known_at_the_start() -> None:
    progress = Progress("preparing", 0, 0, None, 0)
    assert (progress.requests_per_s, progress.left_s) == (None, None)


def test_more_requests_than_expected_are_no_more_than_all() -> None:
    progress = Progress("running", 1_000_000_000, 300, 200, 0)
    assert progress.left_s == 0


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b"{}", LINE.replace(b"50", b'"many"'), b"\xff\xfe"])
def test_what_is_no_progress_stops_nothing(line: bytes) -> None:
    assert ProgressReader().feed(line + b"\n") == []


@given(st.lists(st.integers(0, 10**6), max_size=8), st.lists(st.integers(1, 40), max_size=30))
def test_any_split_into_pieces_reads_the_same(requests: list[int], sizes: list[int]) -> None:
    whole = b"".join(
        json.dumps(
            {"phase": "running", "elapsed_ns": 1, "requests": count, "requests_expected": None, "sent_bytes": 0}
        ).encode()
        + b"\n"
        for count in requests
    )
    reader = ProgressReader()
    seen: list[Progress] = []
    rest = whole
    for size in sizes:
        seen += reader.feed(rest[:size])
        rest = rest[size:]
    seen += reader.feed(rest)
    assert [progress.requests for progress in seen] == requests
