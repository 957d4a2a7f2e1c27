"""An experiment whose subjects pass or fail: no metric ranks them."""

from pathlib import Path

import pytest

from doubles.runs import make_run
from doubles.trials import trial
from httpdyno.errors import UsageError
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.experiments.definition import Definition, Presentation
from httpdyno.experiments.report import usual_headline
from httpdyno.model import Outcome, Tally, Trial, Validity
from httpdyno.report.html import page
from httpdyno.runs.showing import build_report, tables_of
from httpdyno.store import open_run

SHOWN = Presentation(CRAWL_METRICS)
FAILED = {"outcome": Outcome.CRASHED, "reason": "SIGSEGV", "validity": None, "summary": None, "tally": None}


def wrong(subject: str, block: int) -> Trial:
    return trial(subject, block, 1.0, tally=Tally(right=9, late=1), validity=Validity.INCORRECT)


TRIALS = [
    *(trial("good", block, 9.0) for block in range(2)),
    *(trial("once", 0, 9.0), wrong("once", 1)),
    trial("crashed", 0, **FAILED),
    trial("absent", 0, **{**FAILED, "outcome": Outcome.UNAVAILABLE}),
]


@pytest.mark.parametrize(
    ("one", "passed"),
    [
        (trial("a", 0, 9.0), True),
        # A right answer is right on a busy machine, too; of a wrong one the machine may be the cause.
        (trial("a", 0, 9.0, validity=Validity.DISTURBED), True),
        (trial("a", 0, 9.0, tally=Tally(right=9, late=1), validity=Validity.DISTURBED), None),
        (wrong("a", 0), False),
        (trial("a", 0, 9.0, tally=None), None),
        (trial("a", 0, **FAILED), False),
        (trial("a", 0, **{**FAILED, "outcome": Outcome.UNAVAILABLE}), None),
    ],
)
def test_a_trial_passes_when_all_answers_are_right(one: Trial, passed: bool | None) -> None:
    assert SHOWN.passes(one) is passed


def test_a_row_shows_whether_every_trial_passed_and_has_no_rank() -> None:
    table = SHOWN.table(TRIALS)
    rows = dict(zip(table.values("subject"), table.values("passed"), strict=True))
    assert rows == {"good": True, "once": False, "crashed": False, "absent": None}
    assert list(rows)[:2] == ["crashed", "once"]
    assert "rank" not in [column.name for column in table.columns]
    assert table.values("right_per_s")[table.values("subject").index("good")] == 9.0


def test_the_answer_names_those_that_pass_and_those_that_fail_with_the_reason() -> None:
    answer = "Passed: C good; failed: C crashed (crashed), C once (INCORRECT); not judged: C absent (unavailable)"
    assert usual_headline(SHOWN, TRIALS, SHOWN.table(TRIALS)) == answer
    (table,) = tables_of(Definition("bench", "Is it right?", SHOWN), TRIALS, {}, "table")
    assert table.title == answer
    busy = [trial("slow", 0, 9.0, tally=Tally(right=9, late=1), validity=Validity.VALID)]
    assert usual_headline(SHOWN, busy, SHOWN.table(busy)) == "No subject passed; failed: C slow"
    nothing = usual_headline(SHOWN, TRIALS[-1:], SHOWN.table(TRIALS[-1:]))
    assert nothing == "No subject passed; not judged: C absent (unavailable)"


def test_the_page_has_no_ranking(tmp_path: Path) -> None:
    report = build_report(open_run(make_run(tmp_path, TRIALS)), Definition("bench", "Is it right?", SHOWN))
    assert report.headline.startswith("Passed: C good; failed: ")
    assert report.comparisons.rows == ()
    assert not {"ranking", "ratios"} & {chart.name for chart in report.charts}
    assert [column.name for column in report.table.columns][:4] == ["subject", "passed", "wrong", "verdict"]
    assert "passed" in page(report)


def test_runs_are_compared_by_every_metric_that_has_a_direction() -> None:
    names = [metric.name for metric in SHOWN.compared_metrics]
    assert "right_per_s" in names
    with pytest.raises(UsageError, match="name a metric"):
        _ = SHOWN.ranking_metric
