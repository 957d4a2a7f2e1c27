"""Progress of a run."""

import io
import re
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from doubles.cost import cost_trial
from httpdyno.cli.display import Display, ResultLines, line_colour, readable_line
from httpdyno.judge import Expectations, trial_not_run
from httpdyno.judge.reference import EXPECTED
from httpdyno.lab.observer import Progress, Silence
from httpdyno.model import (
    Condition,
    Counters,
    LinesSummary,
    LinkCounters,
    Outcome,
    PathCounters,
    Subject,
    SubjectKind,
    Trial,
    TrialPlan,
    Workload,
)
from httpdyno.subjects.build import BuildState

SUBJECT = Subject(
    id="good", kind=SubjectKind.CLIENT, language="C", method="m", folder=Path("/nowhere"), run_argv=("x",)
)
PLAN = TrialPlan(2, 1, 0, SUBJECT, Condition("bench", "plain", Workload(())))
TRIAL = trial_not_run(PLAN, Outcome.OK, None).having(LinesSummary(urls=2000, time_ns=14_700_000_000))

Lines = Callable[[], list[str]]
_ESCAPES = re.compile(r"\x1b\[[\d;?]*[A-Za-z]")


@pytest.fixture
def lines(capsys: pytest.CaptureFixture[str]) -> Lines:
    return lambda: capsys.readouterr().err.splitlines()


def plain(*, quiet: bool = False) -> Display:
    return Display(Console(file=StringIO()), quiet=quiet)


@pytest.mark.parametrize(
    ("trials", "finished", "left_s", "line"),
    [
        (20, 0, 431.0, "20 trials: about 7 min"),
        (1, 0, 20.0, "1 trial: about 20 s"),
        (20, 12, 100.0, "20 trials, 12 of them finished before: about 2 min"),
        (20, 0, None, "20 trials"),
    ],
)
def test_the_plan_is_a_line(trials: int, finished: int, left_s: float | None, line: str, lines: Lines) -> None:
    with plain() as display:
        display.planned(trials, finished=finished, left_s=left_s)
    assert lines() == [f"httpdyno: {line}"]


@pytest.mark.parametrize(
    ("trial", "left_s", "ending"),
    [
        (TRIAL, 300.0, "2,000 URLs in 14.7 s; about 5 min left"),
        (TRIAL, None, "2,000 URLs in 14.7 s"),
        (TRIAL, 0.0, "2,000 URLs in 14.7 s"),
        (replace(TRIAL, cool_down_ns=250_000_000), None, "2,000 URLs in 14.7 s"),
        (
            replace(TRIAL, cool_down_ns=2_500_000_000, cool_down_reason="CPU 1 was 45% busy"),
            40.0,
            "2,000 URLs in 14.7 s, after a cool-down of 2.5 s; about 40 s left",
        ),
        (replace(TRIAL, outcome=Outcome.CRASHED, reason="signal 6"), 40.0, "crashed: signal 6; about 40 s left"),
    ],
)
def test_each_trial_is_a_line_where_there_is_no_terminal(
    trial: Trial, left_s: float | None, ending: str, lines: Lines
) -> None:
    with plain() as display:
        display.planned(20, finished=0, left_s=left_s)
        display.cooling_down("CPU 1 was 45% busy")
        display.trial_begins(PLAN)
        display.trial_ends(trial, left_s=left_s)
    assert lines()[1:] == [f"httpdyno: trial 3 of 20: good: {ending}"]


LINK = LinkCounters(
    verdict="held",
    rtt_p50_ns=40_026_327,
    down=PathCounters(goodput_bits_per_s=97_912_345.0, goodput_expected_bits_per_s=98_133_333.0),
)


def test_each_link_is_printed_once_with_its_measured_values(lines: Lines) -> None:
    asked = "rtt=40ms,down.rate=100mbit,queue=100ms"
    over = replace(TRIAL, link=asked, counters=Counters(link=LINK))
    refused = replace(over, link="rtt=1ms", outcome=Outcome.REFUSED, reason="off")
    with plain() as display:
        display.planned(20, finished=0, left_s=None)
        for trial in (over, over, refused):
            display.trial_ends(trial, left_s=None)
    assert lines()[1:] == [
        f"httpdyno: link {asked}: round trip 40 ms, measured 40.03 ms; "
        "down 98.13 Mbit/s for content, measured 97.91 Mbit/s",
        "httpdyno: trial 3 of 20: good: 2,000 URLs in 14.7 s",
        "httpdyno: trial 3 of 20: good: 2,000 URLs in 14.7 s",
        "httpdyno: trial 3 of 20: good: refused: off",
    ]


def test_a_block_of_several_trials_is_a_line_and_so_is_each_trial_that_went_wrong(lines: Lines) -> None:
    crashed = replace(TRIAL, outcome=Outcome.CRASHED, reason="signal 6")
    with plain() as display:
        display.planned(4, finished=0, left_s=60, blocks=2)
        for number, (block, trial) in enumerate([(0, TRIAL), (0, crashed), (1, TRIAL), (1, TRIAL), (2, TRIAL)]):
            display.trial_begins(replace(PLAN, number=number, block=block))
            counters = Counters(wall_ns=20_000_000_000)
            display.trial_ends(replace(trial, trial=number, block=block, counters=counters), left_s=60 - 15 * number)
    assert lines()[1:] == [
        "httpdyno: trial 2 of 4: good: crashed: signal 6; about 45 s left",
        "httpdyno: block 1 of 2: 1 trial in 20 s; about 60 s left",
        "httpdyno: block 2 of 2: 2 trials in 40 s; about 15 s left",
        "httpdyno: block 3: 1 trial in 20 s",
    ]


def test_all_builds_of_a_run_are_one_line_and_so_are_all_proofs(lines: Lines) -> None:
    with Display(Console(file=StringIO()), folded=True) as display:
        for subject in (SUBJECT, replace(SUBJECT, id="other")):
            display.build(subject, BuildState.BUILDING)
            display.build(subject, BuildState.BUILT)
        for subject in (SUBJECT, replace(SUBJECT, id="other")):
            display.probing(subject)
    assert lines() == [
        "httpdyno: building subjects that are not built yet, which may take minutes",
        "httpdyno: testing the claims of subjects, once for each build",
    ]


def test_only_failures_are_printed_between_the_lines_of_a_client(lines: Lines) -> None:
    with plain(quiet=True) as display:
        display.planned(20, finished=0, left_s=5)
        display.cooling_down("CPU 1 was 45% busy")
        display.trial_begins(PLAN)
        display.trial_ends(TRIAL, left_s=0)
        assert lines() == []
        display.trial_ends(replace(TRIAL, outcome=Outcome.CRASHED, reason="signal 6"), left_s=40)
    assert lines() == ["httpdyno: trial 3 of 20: good: crashed: signal 6"]


def test_a_silent_client_is_reported_even_by_a_quiet_display(lines: Lines) -> None:
    with plain(quiet=True) as display:
        display.planned(1, finished=0, left_s=5)
        display.trial_begins(replace(PLAN, number=0))
        display.silent(Silence(30.2, printed=98, given=100, left_s=569.8))
    assert lines() == ["httpdyno: trial 1 of 1: good: no line in 30 s: 98 of 100, deadline in 570 s"]


def test_a_terminal_shows_the_run_and_what_is_waited_for() -> None:
    drawn = StringIO()
    with Display(Console(file=drawn, force_terminal=True, width=150)) as display:
        display.planned(20, finished=2, left_s=431)
        display.cooling_down("CPU 1 was 45% busy")
        display._progress.refresh()
        display.trial_begins(PLAN)
        display._progress.refresh()
        for news in (
            Progress("preparing", 0, 0, None, 0),
            Progress("running", 2 * 10**9, 500, 2000, 0),
            Progress("running", 3 * 10**9, 4500, None, 0),
            Progress("done", 8 * 10**9, 2000, 2000, 0),
        ):
            display.progress(news)
            display._progress.refresh()
        display.trial_ends(TRIAL, left_s=100)
        display._progress.refresh()
    lines = [_ESCAPES.sub("", line).strip() for line in drawn.getvalue().splitlines()]
    for part in (
        "2 of 20 trials, about 7 min left",
        "cooling down: CPU 1 was 45% busy",
        "trial 3 of 20: good",
        "preparing the web",
        "500 of 2,000 requests, 250/s, 6 s left",
        "3 of 20 trials, about 2 min left",
    ):
        assert any(part in line for line in lines)
    # Without a known number of trials there is no estimate; nor at the end.
    for end in (" 4,500 requests, 1,500/s", " 2,000 of 2,000 requests, 250/s"):
        assert any(line.endswith(end) for line in lines)


def test_a_narrow_terminal_cuts_the_name_and_keeps_the_figures() -> None:
    drawn = StringIO()
    with Display(Console(file=drawn, force_terminal=True, width=80)) as display:
        display.planned(20, finished=2, left_s=431)
        display.trial_begins(replace(PLAN, why="again: one was disturbed"))
        display.progress(Progress("running", 2 * 10**9, 500, 2000, 0))
        display._progress.refresh()
    run, trial = [line for line in _ESCAPES.sub("", drawn.getvalue()).splitlines() if line.strip()][-2:]
    assert run.rstrip().endswith("2 of 20 trials, about 7 min left")
    assert "trial 3 of 20" in trial
    assert "…" in trial
    assert trial.rstrip().endswith("500 of 2,000 requests, 250/s, 6 s left")


def test_an_experiment_with_figures_of_its_own_tells_them_after_each_trial(lines: Lines) -> None:
    documents = Condition("cost", "plain", Workload(()), name="gzip")
    with plain() as display:
        for plan, trial in (
            (replace(PLAN, condition=documents), cost_trial(document_us=195)),
            (PLAN, trial_not_run(replace(PLAN, condition=documents), Outcome.CRASHED, "signal 6")),
        ):
            display.trial_begins(plan)
            display.trial_ends(replace(trial, trial=2), left_s=None)
    assert lines() == [
        "httpdyno: trial 3: ruby-curb, gzip: 10,000 documents, 200 us of CPU time each",
        "httpdyno: trial 3: good: crashed: signal 6",
    ]


def test_a_repeated_trial_is_labelled_and_added_to_the_planned_ones(lines: Lines) -> None:
    with plain() as display:
        display.planned(20, finished=0, left_s=None)
        for number, added in ((18, False), (19, True), (20, False)):
            display.trial_begins(replace(PLAN, number=number, added=added, why="again, since x" * added))
            display.trial_ends(replace(TRIAL, trial=number), left_s=None)
    assert lines() == [
        "httpdyno: 20 trials",
        "httpdyno: trial 19 of 20: good: 2,000 URLs in 14.7 s",
        "httpdyno: trial 20 of 21: good, again, since x: 2,000 URLs in 14.7 s",
        "httpdyno: trial 21 of 21: good: 2,000 URLs in 14.7 s",
    ]


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
def test_the_colour_of_a_line_follows_its_code(code: str, colour: str) -> None:
    assert line_colour(code) == colour


def test_a_line_is_readable() -> None:
    assert readable_line(LINE) == ("200", "https://a.example/x,y", "123ms", 99)
    assert printed(LINE.encode(), terminal=False) == "[200] https://a.example/x,y : 123ms\n"
    assert printed(LINE.encode(), terminal=True) == "\x1b[32m[200]\x1b[0m https://a.example/x,y : 123ms\n"


def test_a_wrong_answer_is_red_and_names_the_served_one() -> None:
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
