"""Results of the trials of a search."""

from typing import Any

import pytest

from doubles.trials import trial
from httpdyno.experiments.tune.plan import (
    SearchResult,
    observed,
)
from httpdyno.experiments.tune.present import tune_table
from httpdyno.model import LinesSummary, Outcome, Tally, Trial, Validity
from httpdyno.stats import NotEnoughPoints, ScalabilityLaw


def at(concurrency: int, right_per_s: float | None, number: int = 0, **changes: Any) -> Trial:
    tally = Tally(right=1000, late=changes.pop("late", 0), false_error=changes.pop("errors", 0))
    return trial("one", number, right_per_s, concurrency=concurrency, tally=tally, **changes)


def amdahl(*loads: int, sigma: float = 0.02) -> list[Trial]:
    return [at(n, 10 * n / (1 + sigma * (n - 1)), number) for number, n in enumerate(loads)]


@pytest.mark.parametrize(
    ("one", "value", "answers", "faults", "failed", "weight"),
    [
        (at(4, 12.5, late=2, errors=3), 12.5, 1005, 5, False, 1.0),
        (at(4, None), 0.0, 1000, 0, False, 1.0),
        (at(4, 12.5, outcome=Outcome.CRASHED, validity=None), 12.5, 1000, 0, True, 1.0),
        (at(4, 12.5, validity=Validity.UNSTEADY), 12.5, 1000, 0, False, 0.25),
        (at(4, 12.5, validity=Validity.ORIGIN_LIMITED), 12.5, 1000, 0, False, 1.0),
    ],
)
def test_a_trial_is_read_as_an_observation(
    one: Trial, value: float, answers: int, faults: int, failed: bool, weight: float
) -> None:
    seen = observed(one)

    assert (seen.load, seen.value, seen.answers, seen.faults) == (4, value, answers, faults)
    assert (seen.failed, seen.weight) == (failed, weight)


def test_what_could_not_be_run_has_neither_summary_nor_tally() -> None:
    seen = observed(trial("one", 0, summary=None, tally=None, outcome=Outcome.UNAVAILABLE))

    assert (seen.value, seen.answers, seen.failed) == (0.0, 0, True)


def test_contention_in_words() -> None:
    trials = amdahl(1, 4, 16, 64, 256)
    result = SearchResult.of(trials)

    assert isinstance(result.law, ScalabilityLaw)
    assert result.contention_begins == pytest.approx(21, abs=0.5)
    assert result.law_text == (
        "contention begins at about 21: from there each further request in flight adds less than half of the 10 a"
        " second of the first one (sigma 0.02, kappa 0; the law misses the trials by 0 %)"
    )


def test_no_contention_up_to_the_highest_concurrency_tried() -> None:
    trials = amdahl(1, 2, 4, 8, sigma=0.001)
    result = SearchResult.of(trials)

    words = result.law_text

    assert words.startswith("no contention up to 8: each further request in flight adds over half of the first one's")


def test_a_peak_within_the_concurrencies_tried() -> None:
    trials = [at(n, 10 * n / (1 + 1e-3 * n * (n - 1)), number) for number, n in enumerate((1, 4, 16, 64, 128))]
    result = SearchResult.of(trials)

    assert "; beyond about 32 it reduces the rate (sigma" in result.law_text


def test_a_law_that_fits_badly_leaves_contention_unknown() -> None:
    trials = [at(n, rate, number) for number, (n, rate) in enumerate([(1, 10), (4, 90), (16, 20), (64, 300)])]
    result = SearchResult.of(trials)

    assert result.contention_begins is None
    assert result.law_text.startswith(
        "where contention begins is unknown: the law of scalability misses the trials by "
    )


def test_too_few_concurrencies_have_no_law() -> None:
    trials = amdahl(1, 4, 16)
    result = SearchResult.of(trials)

    assert result.law == NotEnoughPoints(3)
    assert result.law_text == (
        "where contention begins is unknown: not enough points for a law: 3 different concurrencies instead of 4"
    )


def test_what_failed_is_not_fitted_what_raises_faults_is() -> None:
    trials = [*amdahl(1, 4, 16), at(64, 10 * 64 / (1 + 0.02 * 63), 3, errors=90)]
    trials.append(at(256, 5000.0, 4, errors=500))
    trials.append(at(512, 5000.0, 5, outcome=Outcome.CRASHED, validity=None))

    law = SearchResult.of(trials).law

    assert isinstance(law, ScalabilityLaw)
    assert law.residual < 1e-3


@pytest.mark.parametrize(
    ("own", "words"),
    [
        (16, "one: its own concurrency, 16, is the best"),
        (99, "one: 16 in flight is the best; its own is 99"),
        (4, "one: 16 in flight is the best: 4.00 times the rate at its own concurrency, 4 (worse)"),
    ],
)
def test_the_result_is_compared_with_the_subjects_own(own: int, words: str) -> None:
    result = SearchResult.of([at(4, 40.0), at(16, 160.0, 1), at(64, 160.0, 2)])

    assert result.compared_text("one", own) == words


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([100.0, 104.0, 97.0], None),
        ([100.0], None),
        ([], None),
        (
            [100.0, 20.0, 300.0],
            "the result is too uncertain to be saved: 84.3 right answers a second may be 2.9 or 2485.8",
        ),
    ],
)
def test_what_is_too_uncertain_is_not_relied_on(values: list[float], words: str | None) -> None:
    assert SearchResult.of([at(4, value, number) for number, value in enumerate(values)]).uncertainty == words


@pytest.mark.parametrize(("disturbed", "of", "warned"), [(0, 0, False), (0, 3, False), (1, 3, False), (2, 3, True)])
def test_a_restless_machine_has_a_warning(disturbed: int, of: int, warned: bool) -> None:
    kinds = [Validity.UNSTEADY] * disturbed + [Validity.VALID] * (of - disturbed)

    words = SearchResult.of([at(1, 1.0, number, validity=kind) for number, kind in enumerate(kinds)]).disturbance

    assert words == (
        "the machine, not the subject, decided 2 of 3 trials (2 UNSTEADY): search again when the machine is quiet"
        if warned
        else None
    )


def test_a_table_has_a_row_for_each_concurrency_and_marks_the_chosen_one() -> None:
    trials = [
        at(64, 320.0, 0, late=40, errors=60),
        at(4, 40.0, 1),
        at(16, 150.0, 2, summary=LinesSummary(urls=10, right_per_s=150.0, p50_ns=5_000_000, p99_ns=9_000_000)),
        at(16, 170.0, 3),
    ]

    table = tune_table(trials)

    assert table.values("concurrency") == (4, 16, 64)
    assert table.values("trials") == (1, 2, 1)
    assert table.values("right_per_s") == (40.0, 159.7, 320.0)
    assert table.values("errors") == (0, 0, 60)
    assert table.values("late") == (0, 0, 40)
    assert table.values("p50_ms") == (None, 5.0, None)
    assert table.values("verdict") == ("worse", "chosen", "raises faults")
    assert table.values("chosen") == (False, True, False)
    low, high = table.values("right_per_s_low")[1], table.values("right_per_s_high")[1]
    assert isinstance(low, float)
    assert isinstance(high, float)
    assert low < 159.7 < high
    texts = [note.text for note in table.notes]
    assert texts[-2].startswith("best with 16 in flight: 159.7 right answers a second (95 %: ")
    assert "not enough points" in texts[-1]


def test_a_table_has_failures_and_validities() -> None:
    trials = [
        at(4, 40.0, validity=Validity.ORIGIN_LIMITED, validity_reason="the origin was busy"),
        at(16, None, 1, outcome=Outcome.CRASHED, validity=None, reason="killed by SIGSEGV"),
    ]

    table = tune_table(trials)

    assert table.values("verdict") == ("chosen", "crashed")
    assert table.values("validity") == ("ORIGIN_LIMITED", None)
    texts = [note.text for note in table.notes]
    assert "4 in flight: ORIGIN_LIMITED: the origin was busy" in texts
    assert "16 in flight: crashed: killed by SIGSEGV" in texts


def test_of_no_trials_there_is_an_empty_table() -> None:
    table = tune_table([])

    assert table.rows == ()
    assert table.notes == ()
