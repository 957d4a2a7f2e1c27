"""The sentence at the top names the best median first, by how much it leads, and how certain that is."""

import re
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.trials import summary_of, trial, trials_of
from httpdyno.experiments.crawl.present import answer
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import find_metric, rank
from httpdyno.judge.ranking import lower_bounds
from httpdyno.judge.wording import listed
from httpdyno.model import Comparison, Counters, CpuTime, Difference, Direction, Outcome, Ranking, Trial, Validity
from httpdyno.report.cell import figure_text
from httpdyno.report.sections.headline import headline, placing_medians, ranked_headline
from httpdyno.stats import FEWEST_BLOCKS, median

METRICS = definition_of("bench").presentation.metrics
METRIC = find_metric(METRICS, "right_per_s")
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


def test_a_certain_lead_has_its_size_and_the_interval_of_it() -> None:
    wobble = [1.0, 1.021, 0.981, 1.009, 0.988]
    assert said(trials_of("a", values(178)), trials_of("b", values(159, wobble))) == (
        "A is first: 178 right answers a second, 12 % more than B (12 to 12 %): certain"
    )
    assert said(trials_of("a", values(300)), trials_of("b", values(100, wobble))) == (
        "A is first: 300 right answers a second, 3.00 times B (3.00 to 3.01): certain"
    )


def test_of_a_figure_that_is_better_when_it_is_lower_it_is_less() -> None:
    metric = find_metric(METRICS, "cpu_per_right_ms")
    trials = [
        replace(trial(name, block), figures={}).having(summary_of(None, cpu_per_right_ns=ms * 1e6 * noise))
        for name, ms in (("a", 1.5), ("b", 2.0))
        for block, noise in enumerate(NOISE if name == "a" else [1.0, 1.021, 0.981, 1.009, 0.988])
    ]
    text = ranked_headline(trials, rank(trials, metric), metric, {"a": "A", "b": "B"})
    assert text == "A is first: 1.5 ms of CPU time per right answer, 25 % less than B (25 to 25 %): certain"


def test_the_best_median_is_first_where_the_difference_may_be_chance() -> None:
    text = said(
        trials_of("a", values(100, [1.0, 1.1, 0.9, 1.05, 0.95])),
        trials_of("b", values(99, [1.0, 0.92, 1.1, 0.97, 1.04])),
    )
    low, high = (float(end) for end in re.findall(r"\((-?[0-9.]+) to (-?[0-9.]+) %\)", text)[0])
    assert text.startswith("A is first: 100 right answers a second, ")
    assert text.endswith(": may be chance")
    assert low < 0 < high


def test_a_lead_that_only_the_number_of_pairs_leaves_open_has_that_reason() -> None:
    # Alone, the pair of the first two would be certain (p = 0.04); among six pairs it is not.
    text = said(
        trials_of("a", values(100, [1.02, 1.0, 1.01])),
        trials_of("b", values(96.5, [1.0, 1.009, 1.005])),
        trials_of("c", values(10, [1.02, 0.98, 1.0])),
        trials_of("d", values(10, [0.98, 1.02, 1.0])),
    )
    assert text.endswith("4 % more than B (0.5 to 8 %): may be chance, one of 6 pairs")


def test_a_lead_that_the_common_blocks_contradict_is_provisional_with_that_reason() -> None:
    # The last blocks were slow, and only one of the two was measured in them.
    text = said(trials_of("a", [100, 101, 99]), trials_of("b", [110, 111, 109.2, 11, 11.1, 10.9, 11]))
    assert text.startswith("A is first: 100 right answers a second, -9 % more than B")
    assert text.endswith(": provisional (the reverse in 3 common blocks)")


@pytest.mark.parametrize(("common", "words"), [(0, "no common block"), (1, "1 common block"), (2, "2 common blocks")])
def test_a_lead_over_a_subject_with_few_common_blocks_is_provisional(common: int, words: str) -> None:
    few = trials_of("b", [None] * (4 - common) + [150.0, 151, 152][: max(common, 1) + 1])
    text = said(trials_of("a", [200, 201, 199, 200]), few, trials_of("c", [10, 10.1, 9.9, 10]))
    assert text.startswith("A is first: 200 right answers a second, 3")
    assert text.endswith(f"than B: provisional ({words})")


def test_zeros_in_some_trials_are_no_lack_of_blocks() -> None:
    text = said(trials_of("a", values(100)), trials_of("b", [0.0, *values(90)[1:]]))
    assert text.endswith(": may be chance, 0 in some trials")


@pytest.mark.parametrize(("count", "trials"), [(1, "one trial each"), (2, "2 trials each")])
def test_a_first_look_promises_nothing(count: int, trials: str) -> None:
    assert said(trials_of("a", values(200)[:count]), trials_of("b", values(100)[:count])).endswith(
        f"2.00 times B: may be chance, {trials}"
    )


def test_one_subject_has_no_other_to_be_ahead_of() -> None:
    assert said(trials_of("a", values(178))) == "A: 178 right answers a second (93.75 %: 174 to 182)"
    assert said(trials_of("a", [178])) == "A: 178 right answers a second in one trial"


LIMITED = [5.0, 5.2, 4.9]


def bounded(bound: float, *groups: list[Trial]) -> str:
    """Return the headline if the origin limits Z at that figure."""
    trials = [trial for group in groups for trial in group]
    held_up = trials_of("z", [bound] * 3, validity=Validity.ORIGIN_LIMITED)
    ranking = rank(trials, METRIC)
    medians = {standing.subject: standing.value.estimate if standing.value else 0.0 for standing in ranking.standings}
    names = {subject: subject.upper() for subject in (*medians, "z")}
    at_least = {subject: value for (_, subject), value in lower_bounds([*trials, *held_up], METRIC).items()}
    return headline(ranking, METRIC, medians, names, {"z": "ORIGIN_LIMITED"}, at_least)


def test_no_subject_is_first_behind_one_that_the_origin_held_up() -> None:
    a, b = trials_of("a", values(178)), trials_of("b", values(159, [1.0, 1.021, 0.981, 1.009, 0.988]))
    tail = "not ranked: Z (ORIGIN_LIMITED, at least 1,806 right answers a second)"
    assert bounded(1806, a, b) == (
        "No clear winner: the origin limited Z; of those ranked, A is first: 178 right answers a second, "
        f"12 % more than B (12 to 12 %): certain; {tail}"
    )
    assert bounded(1806) == "No subject is ranked: Z (ORIGIN_LIMITED, at least 1,806 right answers a second)"
    # One that is ahead of it is first.
    assert bounded(170, a, b).startswith("A is first: 178 right answers a second, ")
    assert bounded(170, a, b).endswith("; not ranked: Z (ORIGIN_LIMITED, at least 170 right answers a second)")


def test_the_answer_of_bench_calls_none_the_fastest_behind_one_that_the_origin_held_up() -> None:
    # A late origin does not spoil CPU time: the subject is ranked there like any other.
    held_up = trials_of("z", [1806.0] * 3, validity=Validity.ORIGIN_LIMITED)
    trials = [*trials_of("a", values(178)), *trials_of("b", values(159)), *held_up]
    names = {subject: subject.upper() for subject in "abz"}
    (fastest,) = (line for line in answer(trials, names, "right_per_s") if line.startswith("Fastest here: "))
    assert fastest == (
        "Fastest here: no clear winner: the origin limited Z at 1,806 right/s; of those ranked A is first"
    )
    slow = [one for one in trials if one.subject != "z"] + trials_of("z", [1.0] * 3, validity=Validity.ORIGIN_LIMITED)
    assert answer(slow, names, "right_per_s")[0].startswith("Fastest here: A, 178 right answers/s, ")


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
def test_a_bound_is_a_rate_of_a_subject_that_only_the_origin_held_up(
    changes: dict[str, Any], bound: dict[tuple[str, str], float]
) -> None:
    assert lower_bounds(trials_of("z", LIMITED, **changes), METRIC) == bound
    for other in ("p99_ms", "right_per_core_s"):
        assert lower_bounds(trials_of("z", LIMITED, **changes), find_metric(METRICS, other)) == {}


def test_no_subject_is_ranked() -> None:
    assert said(unranked={"a": "INCORRECT", "b": "crashed", "c": "INCORRECT"}) == (
        "No subject is ranked: A and C (INCORRECT), B (crashed)"
    )
    assert said() == "Nothing was measured"


def test_those_without_a_rank_are_named_but_not_all_of_many() -> None:
    left_out = dict.fromkeys("bcdef", "crashed") | {"g": "INCORRECT"}
    assert said(trials_of("a", [10]), unranked=left_out).endswith(
        "; not ranked: B, C, D and 2 more (crashed), G (INCORRECT)"
    )


def test_a_subject_that_did_nothing_right_has_no_ratio() -> None:
    text = said(trials_of("a", values(10)), trials_of("b", [0.0] * 5))
    assert text == "A is first: 10 right answers a second, B has 0: certain"


@pytest.mark.parametrize(("value", "text"), [(12967.2, "12,967"), (178.4, "178"), (71.66, "71.7"), (0.1234, "0.123")])
def test_a_figure_has_three_digits_that_matter(value: float, text: str) -> None:
    assert figure_text(value) == text


@pytest.mark.parametrize(("words", "text"), [(["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")])
def test_words_are_joined_as_in_a_sentence(words: list[str], text: str) -> None:
    assert listed(words) == text


DISTURBED: dict[str, Any] = {
    "validity": Validity.UNSTEADY,
    "counters": Counters(
        wall_ns=10**10,
        cpu_user_ns=4 * 10**9,
        cpu_system_ns=0,
        cpus=(CpuTime(1, "subject", 9 * 10**9, 0, 10**10, 0),),
    ),
}
"""Counters of a trial in which other programs used half of the CPU."""


@st.composite
def runs(draw: st.DrawFn) -> list[Trial]:
    """Make a run: subjects equal, near or far apart, blocks missing, trials disturbed, some repeated in their block."""
    blocks = draw(st.integers(1, 9))
    noise = draw(st.sampled_from([0.0, 0.001, 0.02, 0.3]))
    factor = draw(st.sampled_from([1.0, 1.003, 1.05, 3.0]))
    block_effects = draw(st.lists(st.floats(0.7, 1.4), min_size=blocks, max_size=blocks))
    drawn = draw(st.randoms(use_true_random=False))
    few = draw(st.floats(0, 0.6))
    trials = []
    for number in range(draw(st.integers(2, 12))):
        for block in range(blocks):
            if drawn.random() < few:
                continue
            for _ in range(1 + (drawn.random() < 0.1)):
                value = 50.0 * factor**number * block_effects[block] * (1 + noise * (2 * drawn.random() - 1))
                value = 0.0 if drawn.random() < 0.005 else value
                spoiled = DISTURBED if drawn.random() < few / 2 else {}
                trials.append(replace(trial(f"s{number}", block, value, **spoiled), trial=len(trials)))
    return trials


def pair_of_the_first_two(ranking: Ranking) -> Comparison:
    first, second = (standing.subject for standing in ranking.standings[:2])
    return next(pair for pair in ranking.comparisons if {pair.subject, pair.baseline} == {first, second})


def explained(text: str, pair: Comparison) -> bool:
    """Return whether a sentence gives the reason for possible chance: too few trials, or an interval with 0."""
    if re.search(r"trials? each|common block|one of [0-9]+ pairs|0 in some trials", text):
        return True
    ends = re.search(r"\((-?[0-9.]+) to (-?[0-9.]+)( %)?\)", text)
    if ends is None or pair.ratio is None:
        return False
    nothing = 0.0 if ends[3] else 1.0
    return float(ends[1]) <= nothing <= float(ends[2]) or float(ends[2]) <= nothing <= float(ends[1])


@pytest.mark.slow
@given(runs(), st.sampled_from(["right_per_s", "right_per_core_s", "cpu_per_right_ms"]))
def test_a_headline_claims_no_more_than_the_run_shows_and_has_the_reason(trials: list[Trial], figure: str) -> None:
    names = {one.subject: f"<{one.subject}>" for one in trials}
    metric = find_metric(METRICS, figure)
    ranking = rank(trials, metric, disturbed=True)
    medians = placing_medians(metric, trials, [standing.subject for standing in ranking.standings])
    texts = [ranked_headline(trials, ranking, metric, names)]
    if ranking.standings:
        texts.append(answer(trials, names, figure)[0])
    for text in texts:
        assert "share the lead" not in text
        assert "cannot be told apart" not in text
        if not ranking.standings:
            assert text.startswith("No subject is ranked") or text == "Nothing was measured"
            continue
        best = (max if metric.better is Direction.HIGHER else min)(medians.values())
        assert medians[re.findall(r"<(s[0-9]+)>", text)[0]] == pytest.approx(best, rel=1e-12)
        if len(ranking.standings) == 1:
            assert not re.search("certain|chance|provisional", text)
            continue
        pair = pair_of_the_first_two(ranking)
        decided = pair.difference is Difference.BETTER and pair.subject == ranking.standings[0].subject
        assert ("certain" in text) == decided, text
        assert decided or re.search("may be chance|provisional", text), text
        # Not only where the medians differ by more than the run could find: wherever nothing was found.
        assert "may be chance" not in text or explained(text, pair), text
        if any(standing.provisional for standing in ranking.standings[:2]):
            assert "provisional" in text, text


@pytest.mark.slow
@given(runs())
def test_ranks_are_the_order_of_medians_and_possible(trials: list[Trial]) -> None:
    ranking = rank(trials, METRIC, disturbed=True)
    medians = placing_medians(METRIC, trials, [standing.subject for standing in ranking.standings])
    in_order = [medians[standing.subject] for standing in ranking.standings]
    assert in_order == sorted(in_order, reverse=True)
    assert [standing.rank for standing in ranking.standings] == list(range(1, len(in_order) + 1))
    assert all(standing.best <= standing.rank <= standing.worst for standing in ranking.standings)
    for above, below in zip(ranking.standings, ranking.standings[1:], strict=False):
        pair = next(p for p in ranking.comparisons if (p.subject, p.baseline) == (above.subject, below.subject))
        assert below.open == (pair.difference is not Difference.BETTER)
        if below.open is False:
            assert pair.blocks >= FEWEST_BLOCKS
