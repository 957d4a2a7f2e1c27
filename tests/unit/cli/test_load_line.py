"""The line that tells how a load is doing: only in a terminal, never wider than it, gone at the end."""

import io

import pytest

from httpdyno.cli.load_line import LoadLine, line_of
from httpdyno.experiments.load.progress import LoadProgress

PROGRESS = LoadProgress(12.34, 48_211, 0, 3_912.6, 64, 1_020_000, 4_500_000)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("progress", "line"),
    [
        (PROGRESS, "12.3 s, 3,913/s, 48,211 answers, p50 1.02 ms, p99 4.5 ms, 64 open"),
        (LoadProgress(0.2, 0, 1, 0.0, 3, None, None), "0.2 s, 0/s, 0 answers, 1 error, 3 open"),
        (LoadProgress(0.2, 0, 20, 0.0, 3, None, None), "0.2 s, 0/s, 0 answers, 20 errors, 3 open"),
    ],
)
def test_it_says_what_is_known(progress: LoadProgress, line: str) -> None:
    assert line_of(progress) == line


def test_it_is_written_over_and_cleared_at_the_end() -> None:
    stream = Terminal()
    with LoadLine(stream, repeat=3) as line:
        line.trial_begins(1)
        line.load_progress(PROGRESS)
        line.load_progress(PROGRESS)
    text = stream.getvalue()
    assert text.count("2 of 3: 12.3 s") == 2
    assert "\n" not in text
    assert text.endswith("\r\x1b[2K")
    assert max(map(len, text.replace("\x1b[2K", "").split("\r"))) < 80


def test_outside_a_terminal_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not LoadLine(io.StringIO()).shown
    monkeypatch.setenv("TERM", "dumb")
    assert not LoadLine(Terminal()).shown


def test_a_load_that_told_nothing_leaves_no_trace() -> None:
    stream = Terminal()
    with LoadLine(stream):
        pass
    assert stream.getvalue() == ""
