"""What a run shows of itself while it is made."""

from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from httpdyno.cli.display import Display
from httpdyno.judge import trial_not_run
from httpdyno.model import Condition, CrawlSummary, Outcome, Subject, SubjectKind, Trial, TrialPlan, Workload

SUBJECT = Subject(
    id="good", kind=SubjectKind.CLIENT, language="C", method="m", folder=Path("/nowhere"), run_argv=("x",)
)
PLAN = TrialPlan(2, 1, 0, SUBJECT, Condition("bench", "plain", Workload(())))
TRIAL = replace(trial_not_run(PLAN, Outcome.OK, None), summary=CrawlSummary(urls=2000, time_ns=14_700_000_000))

Lines = Callable[[], list[str]]


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


def test_what_is_shown_beside_lines_of_a_client_is_what_went_wrong(lines: Lines) -> None:
    with plain(quiet=True) as display:
        display.planned(1, finished=0, left_s=5)
        display.cooling_down("CPU 1 was 45% busy")
        display.trial_begins(PLAN)
        display.trial_ends(TRIAL, left_s=0)
        assert lines() == []
        display.trial_ends(replace(TRIAL, outcome=Outcome.CRASHED, reason="signal 6"), left_s=40)
    assert lines() == ["httpdyno: trial 3 of 1: good: crashed: signal 6"]


def test_a_terminal_shows_the_run_and_what_is_waited_for() -> None:
    drawn = StringIO()
    with Display(Console(file=drawn, force_terminal=True, width=150)) as display:
        display.planned(20, finished=2, left_s=431)
        display.cooling_down("CPU 1 was 45% busy")
        display._progress.refresh()
        display.trial_begins(PLAN)
        display._progress.refresh()
        display.trial_ends(TRIAL, left_s=100)
        display._progress.refresh()
    for part in (
        "2 of 20 trials, about 7 min left",
        "cooling down: CPU 1 was 45% busy",
        "trial 3 of 20: good",
        "3 of 20 trials, about 2 min left",
    ):
        assert part in drawn.getvalue()
