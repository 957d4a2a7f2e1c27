"""The sentence at the top says who is first, by how much, and how sure that is, and never more than is known."""

from typing import Any

import pytest

from doubles.trials import trials_of
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import find_metric, rank
from httpdyno.judge.lower_bound import lower_bounds
from httpdyno.model import Outcome, Trial, Validity
from httpdyno.report.sections.headline import figure_text, headline, listed
from httpdyno.stats import median

METRICS = definition_of("bench").metrics
METRIC = definition_of("bench").ranking_metric
NOISE = [1.0, 1.02, 0.98, 1.01, 0.99]


def values(middle: float, wobble: list[float] | None = None) -> list[float]:
    return [middle * noise for noise in (wobble or NOISE)]


def said(*groups: list[Trial], unranked: dict[str, str] | None = None) -> str:
    trials = [trial for group in groups for trial in group]
    ranking = rank(trials, METRIC)
    medians = {
        subject: median(METRIC.figure(trial) for trial in trials if trial.subject == subject) or 0.0
        for subject in {trial.subject for trial in trials}
    }
    names = {subject: subject.upper() for subject in (*medians, *(unranked or {}))}
    return headline(ranking, METRIC, medians, names, unranked or {})


def test_a_clear_first_is_told_with_its_ratio_and_the_interval_of_it() -> None:
    wobble = [1.0, 1.021, 0.981, 1.009, 0.988]
    assert said(trials_of("a", values(178)), trials_of("b", values(159, wobble))) == (
        "A is first: 178 right answers a second, 1.12 times B (95 %: 1.12 to 1.12)"
    )


def test_those_below_that_cannot_be_told_apart_are_named() -> None:
    text = said(
        trials_of("a", values(200, [1.0, 1.01, 0.99, 1.0, 1.02])),
        trials_of("b", values(100, [1.0, 1.1, 0.9, 1.05, 0.95])),
        trials_of("c", values(99, [1.0, 0.92, 1.1, 0.97, 1.04])),
        trials_of("d", values(50)),
    )
    assert text.startswith("A is first: 200 right answers a second, 2.0")
    assert text.endswith("; B and C cannot be told apart")


def test_many_ties_are_the_tables_matter() -> None:
    noisy = [[1.0, 1.1, 0.9, 1.05, 0.95], [1.0, 0.92, 1.1, 0.97, 1.04], [1.05, 0.96, 0.98, 1.1, 0.9]]
    below = [trials_of(name, values(100 - place, noisy[place % 3])) for place, name in enumerate("bcdef")]
    text = said(trials_of("a", values(200, [1.0, 1.01, 0.99, 1.0, 1.02])), *below)
    assert text.startswith("A is first: 200 right answers a second, ")
    assert text.endswith("; of the 5 below, not all can be told apart")


def test_many_that_share_the_lead_are_counted_and_their_figures_spanned() -> None:
    noise = [1.2, 0.8, 1.0, 1.3, 0.7]
    turned = [noise[place:] + noise[:place] for place in range(5)]
    text = said(*(trials_of(name, values(100 - place, turned[place])) for place, name in enumerate("abcde")))
    assert text == "A, B, C and 2 more share the lead and cannot be told apart: 96 to 100 right answers a second"


def test_a_shared_lead_is_no_lead() -> None:
    text = said(
        trials_of("a", values(100, [1.0, 1.1, 0.9, 1.05, 0.95])),
        trials_of("b", values(99, [1.0, 0.92, 1.1, 0.97, 1.04])),
    )
    assert text.startswith(
        "A and B share the lead and cannot be told apart: 100 and 99 right answers a second, a ratio"
    )
    assert "(95 %: 0." in text
    assert "first" not in text


def test_an_interval_without_1_is_no_contradiction_to_a_tie_among_many_pairs() -> None:
    # Alone, the pair of the first two would be told apart (p = 0.04); beside another one that is open it is not.
    text = said(
        trials_of("a", values(100, [1.02, 1.0, 1.01])),
        trials_of("b", values(96.5, [1.0, 1.009, 1.005])),
        trials_of("c", values(10, [1.02, 0.98, 1.0])),
        trials_of("d", values(10, [0.98, 1.02, 1.0])),
    )
    assert text.startswith("A and B share the lead and cannot be told apart after correction for 6 pairs: 101 and 97 ")
    assert "a ratio of 1.04 (95 %: 1.01 to 1.08)" in text


def test_who_is_surely_first_is_named_though_blocks_are_missing() -> None:
    # The last two blocks were slow for all who were measured in them, which only one of the two was.
    text = said(trials_of("a", [100, 101, 99]), trials_of("b", [110, 111, 109.2, 11, 11.1, 10.9, 11]))
    assert text.startswith("B is first: 11.1 right answers a second, 1.10 times A (95 %: 1.10 to 1.11)")


def test_three_that_share_the_lead_have_no_single_ratio() -> None:
    text = said(
        trials_of("a", values(100, [1.0, 1.1, 0.9, 1.05, 0.95])),
        trials_of("b", values(99, [1.0, 0.92, 1.1, 0.97, 1.04])),
        trials_of("c", values(98, [1.05, 0.96, 0.98, 1.1, 0.9])),
    )
    assert text == "A, B and C share the lead and cannot be told apart: 100, 99 and 96 right answers a second"


def test_a_large_difference_that_is_not_told_has_its_reason() -> None:
    # Three blocks say something about a and c; a and b have two in common.
    text = said(trials_of("a", [200, 201, 199, 200]), trials_of("b", [150, 151]), trials_of("c", [10, 10.1, 9.9, 10]))
    assert text.startswith(
        "A and B share the lead and cannot be told apart, for too few of their trials count: 200 and 150 right"
    )


@pytest.mark.parametrize(("count", "trials"), [(1, "one trial each"), (2, "2 trials each")])
def test_a_first_look_promises_nothing(count: int, trials: str) -> None:
    assert said(trials_of("a", values(200)[:count]), trials_of("b", values(100)[:count])).endswith(
        f"2.00 times B; with {trials} nobody can be told apart for sure"
    )


def test_one_subject_has_nobody_to_be_ahead_of() -> None:
    assert said(trials_of("a", values(178))) == "A: 178 right answers a second (93.75 %: 174 to 182)"
    assert said(trials_of("a", [178])) == (
        "A: 178 right answers a second in one trial, which says nothing about how sure that is"
    )


LIMITED = [5.0, 5.2, 4.9]


def bounded(bound: float, *groups: list[Trial]) -> str:
    """Say it where Z is held up by the origin at that figure."""
    trials = [trial for group in groups for trial in group]
    held_up = trials_of("z", [bound] * 3, validity=Validity.ORIGIN_LIMITED)
    ranking = rank(trials, METRIC)
    medians = {standing.subject: standing.value.estimate if standing.value else 0.0 for standing in ranking.standings}
    names = {subject: subject.upper() for subject in (*medians, "z")}
    at_least = {subject: value for (_, subject), value in lower_bounds([*trials, *held_up], METRIC).items()}
    return headline(ranking, METRIC, medians, names, {"z": "ORIGIN_LIMITED"}, at_least)


def test_nobody_is_first_behind_a_rate_that_is_the_least_of_somebodys() -> None:
    a, b = trials_of("a", values(178)), trials_of("b", values(159, [1.0, 1.021, 0.981, 1.009, 0.988]))
    tail = "not ranked: Z (ORIGIN_LIMITED, at least 1,806 right answers a second)"
    assert bounded(1806, a, b) == (
        "Nobody is called first, for Z may be faster; of those ranked A has most: 178 right answers a second, "
        f"1.12 times B (95 %: 1.12 to 1.12); {tail}"
    )
    assert "of those ranked on a first look A has most: " in bounded(1806, a[:1], b[:1])
    assert bounded(1806) == "Nobody is ranked: Z (ORIGIN_LIMITED, at least 1,806 right answers a second)"
    # Who is ahead of it is.
    assert bounded(170, a, b).startswith("A is first: 178 right answers a second, ")
    assert bounded(170, a, b).endswith("; not ranked: Z (ORIGIN_LIMITED, at least 170 right answers a second)")


@pytest.mark.parametrize(
    ("changes", "bound"),
    [
        ({"validity": Validity.ORIGIN_LIMITED}, {("", "z"): 5.0}),
        ({"validity": Validity.LINK_LIMITED}, {}),
        ({"validity": Validity.INCORRECT}, {}),
        ({"validity": Validity.ORIGIN_LIMITED, "outcome": Outcome.CRASHED}, {}),
        ({}, {}),
    ],
)
def test_a_bound_is_of_those_whom_nothing_but_the_origin_held_up(
    changes: dict[str, Any], bound: dict[tuple[str, str], float]
) -> None:
    assert lower_bounds(trials_of("z", LIMITED, **changes), METRIC) == bound
    assert lower_bounds(trials_of("z", LIMITED, **changes), find_metric(METRICS, "p99")) == {}


def test_nobody_is_ranked() -> None:
    assert said(unranked={"a": "INCORRECT", "b": "crashed", "c": "INCORRECT"}) == (
        "Nobody is ranked: A and C (INCORRECT), B (crashed)"
    )
    assert said() == "Nothing was measured"


def test_those_without_a_rank_are_named_but_not_all_of_many() -> None:
    left_out = dict.fromkeys("bcdef", "crashed") | {"g": "INCORRECT"}
    assert said(trials_of("a", [10]), unranked=left_out).endswith(
        "; not ranked: B, C, D and 2 more (crashed), G (INCORRECT)"
    )


def test_a_subject_that_did_nothing_right_has_no_ratio() -> None:
    text = said(trials_of("a", values(10)), trials_of("b", [0.0] * 5))
    assert text == "A is first: 10 right answers a second, B has none"


@pytest.mark.parametrize(("value", "text"), [(12967.2, "12,967"), (178.4, "178"), (71.66, "71.7"), (0.1234, "0.123")])
def test_a_figure_has_three_digits_that_matter(value: float, text: str) -> None:
    assert figure_text(value) == text


@pytest.mark.parametrize(("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_words_are_joined_as_in_a_sentence(words: list[str], text: str) -> None:
    assert listed(words) == text
