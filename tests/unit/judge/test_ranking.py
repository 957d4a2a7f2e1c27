"""Ranks and their certainty: ties, certain differences, missing blocks."""

from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest

from doubles.trials import trial, trials_of
from httpdyno.errors import InvalidValue
from httpdyno.experiments.registry import definition_of
from httpdyno.judge import find_metric, rank
from httpdyno.model import Difference, LinesSummary, Outcome, Ranking, Trial, Validity

METRICS = definition_of("bench").presentation.metrics
RIGHT = find_metric(METRICS, "right_per_s")
FAST = [200.0, 222, 201, 199, 210]
SLOW = [100.0, 110, 101, 100, 104]
"""Half of FAST in each block, give or take 2 %."""


def texts(ranking: Ranking) -> dict[str, str]:
    """Return the rank of each subject, with its mark."""
    return {standing.subject: standing.text for standing in ranking.standings}


def possible(ranking: Ranking) -> dict[str, tuple[int, int]]:
    """Return the first and the last rank that each subject may have."""
    return {standing.subject: (standing.best, standing.worst) for standing in ranking.standings}


def scaled(values: list[float], factor: float, noise: list[float]) -> list[float]:
    return [value * factor * (1 + error) for value, error in zip(values, noise, strict=True)]


def three() -> list[Trial]:
    """Two without a certain difference, and one that is certainly worse."""
    alike = scaled(FAST, 1.001, [0.01, -0.02, 0.01, 0.02, -0.02])
    return trials_of("fast", FAST) + trials_of("alike", alike) + trials_of("slow", SLOW)


def test_ranks_are_those_of_the_medians_and_open_where_they_may_be_chance() -> None:
    ranking = rank(three(), RIGHT)
    assert texts(ranking) == {"alike": "1", "fast": "2?", "slow": "3"}
    assert possible(ranking) == {"alike": (1, 2), "fast": (1, 2), "slow": (3, 3)}
    assert [standing.subject for standing in ranking.standings] == ["alike", "fast", "slow"]
    assert ranking.metric == "right_per_s"


def test_one_whose_trials_scatter_does_not_stand_higher_for_it() -> None:
    steady = scaled(FAST, 0.6, [0.001, -0.001, 0.0, 0.001, -0.001])
    scattering = scaled(FAST, 0.5, [0.8, -0.6, 0.0, 0.7, -0.5])
    ranking = rank(trials_of("fast", FAST) + trials_of("scattering", scattering) + trials_of("steady", steady), RIGHT)
    assert [(standing.subject, standing.text) for standing in ranking.standings] == [
        ("fast", "1"),
        ("steady", "2"),
        ("scattering", "3?"),
    ]
    assert possible(ranking) == {"fast": (1, 2), "steady": (2, 3), "scattering": (1, 3)}


def test_every_pair_is_there_once_with_its_ratio() -> None:
    ranking = rank(three(), RIGHT)
    pairs = {(comparison.subject, comparison.baseline): comparison for comparison in ranking.comparisons}
    assert {frozenset(pair) for pair in pairs} == {
        frozenset(pair) for pair in permutations(["fast", "alike", "slow"], 2)
    }
    assert len(pairs) == 3
    against = pairs["fast", "slow"]
    assert against.ratio is not None
    assert against.ratio.estimate == pytest.approx(2, rel=0.02)
    assert (against.difference, against.blocks, against.paired) == (Difference.BETTER, 5, True)
    assert against.p is not None
    assert against.p_adjusted is not None
    assert against.p < against.p_adjusted < 0.05
    tie = next(pair for pair in ranking.comparisons if "slow" not in {pair.subject, pair.baseline})
    assert tie.difference is Difference.UNDECIDED
    assert tie.ratio is not None
    assert tie.ratio.low < 1 < tie.ratio.high


def test_the_value_is_the_median_with_its_interval() -> None:
    value = next(standing.value for standing in rank(three(), RIGHT).standings if standing.subject == "fast")
    assert value is not None
    assert (value.low, value.estimate, value.high, value.level) == (199, 201, 222, 0.9375)


def test_lower_is_better_for_a_metric_of_that_direction() -> None:
    def timed(subject: str, times_ms: list[float]) -> list[Trial]:
        return [
            trial(subject, block, summary=LinesSummary(urls=1, time_ns=round(time * 1e6)))
            for block, time in enumerate(times_ms)
        ]

    ranking = rank(timed("slow", FAST) + timed("quick", SLOW), find_metric(METRICS, "time"))
    assert [(standing.subject, standing.text) for standing in ranking.standings] == [("quick", "1"), ("slow", "2")]
    assert ranking.comparisons[0].subject == "quick"
    assert ranking.comparisons[0].difference is Difference.BETTER


def test_blocks_see_through_noise_that_is_larger_than_the_difference() -> None:
    rng = np.random.default_rng(5)
    blocks = rng.lognormal(5, 0.8, 5)
    one, other = (
        trials_of(name, (blocks * factor * rng.lognormal(0, 0.01, 5)).tolist())
        for name, factor in (("a", 1), ("b", 1.1))
    )
    assert texts(rank(one + other, RIGHT)) == {"b": "1", "a": "2"}


@pytest.mark.parametrize("blocks", [1, 2])
def test_fewer_than_three_blocks_leave_every_rank_open(blocks: int) -> None:
    trials = [other for name in "abcd" for other in trials_of(name, [ord(name) * 1.0] * blocks)]
    ranking = rank(trials, RIGHT)
    assert texts(ranking) == {"d": "1", "c": "2?", "b": "3?", "a": "4?"}
    assert set(possible(ranking).values()) == {(1, 4)}
    assert {comparison.difference for comparison in ranking.comparisons} == {Difference.UNDECIDED}
    assert {comparison.ratio for comparison in ranking.comparisons} == {None}


def test_pairs_use_the_blocks_that_both_have() -> None:
    # Blocks of only one of them must not count: the last block was ten times as slow for its subjects.
    trials = trials_of("fast", [*FAST, None]) + trials_of("slow", [None, *SLOW[1:], 10.0])
    ranking = rank(trials, RIGHT)
    assert texts(ranking) == {"fast": "1", "slow": "2"}
    assert ranking.comparisons[0].blocks == 4
    assert ranking.comparisons[0].ratio is not None
    assert ranking.comparisons[0].ratio.estimate == pytest.approx(2, rel=0.02)


def test_fewer_than_three_common_blocks_are_undecided_and_take_no_part_in_the_correction() -> None:
    late = [None, None, None, *FAST]
    trials = trials_of("fast", FAST) + trials_of("slow", SLOW) + trials_of("late", late)
    ranking = rank(trials, RIGHT)
    assert texts(ranking) == {"fast": "1", "late": "2~", "slow": "3?"}
    assert possible(ranking) == {"fast": (1, 2), "late": (1, 3), "slow": (2, 3)}
    tested = [comparison for comparison in ranking.comparisons if comparison.p is not None]
    assert [comparison.p == comparison.p_adjusted for comparison in tested] == [True]


def test_a_rank_that_the_common_blocks_contradict_is_open_and_possible() -> None:
    # The last blocks were slow, and only b was measured in them: in the common blocks it is better.
    ranking = rank(trials_of("a", [100, 101, 99]) + trials_of("b", [110, 111, 109.2, 11, 11.1, 10.9, 11]), RIGHT)
    assert texts(ranking) == {"a": "1", "b": "2?"}
    assert ranking.comparisons[0].difference is Difference.WORSE
    assert possible(ranking) == {"a": (1, 2), "b": (1, 2)}


def test_who_shares_too_few_blocks_with_most_others_is_provisional_and_they_are_not() -> None:
    apart = trials_of("apart", [None] * 3 + [150.0, 151, 152])
    common = [trials_of(name, scaled(FAST[:3], factor, [0.0, 0.001, -0.001])) for name, factor in (("a", 1), ("b", 2))]
    ranking = rank([trial for own in (*common, apart) for trial in own], RIGHT)
    assert {standing.subject for standing in ranking.standings if standing.provisional} == {"apart"}
    # If no subject has three blocks, all are alike: differences may be chance, none is provisional.
    few = rank(trials_of("a", FAST[:2]) + trials_of("b", [None, None, *FAST[:2]]), RIGHT)
    assert not any(standing.provisional for standing in few.standings)


def test_what_cannot_be_believed_has_no_part() -> None:
    liar = trials_of("liar", FAST, validity=Validity.INCORRECT)
    fickle = [*trials_of("fickle", FAST[:4]), trial("fickle", 4, 500.0, outcome=Outcome.CRASHED, validity=None)]
    ranking = rank(liar + fickle + trials_of("slow", SLOW), RIGHT)
    assert texts(ranking) == {"slow": "1"}
    assert ranking.comparisons == ()


def test_a_spoiled_trial_is_left_out_with_its_block() -> None:
    spoiled = [*trials_of("fast", FAST[:4]), trial("fast", 4, 1.0, validity=Validity.ORIGIN_LIMITED)]
    ranking = rank(spoiled + trials_of("slow", SLOW), RIGHT)
    assert texts(ranking) == {"fast": "1", "slow": "2"}
    assert ranking.comparisons[0].blocks == 4


def test_equal_values_in_every_block_are_a_tie() -> None:
    ranking = rank(trials_of("a", [7.0] * 5) + trials_of("b", [7.0] * 5), RIGHT)
    assert texts(ranking) == {"a": "1", "b": "2?"}
    assert set(possible(ranking).values()) == {(1, 2)}
    comparison = ranking.comparisons[0]
    assert comparison.ratio is not None
    assert (comparison.ratio.low, comparison.ratio.high, comparison.p) == (1, 1, 1)


def test_different_constant_values_are_distinguished_once_there_are_enough() -> None:
    def shares(blocks: int) -> list[Trial]:
        return trials_of("a", [0.97] * blocks) + trials_of("b", [0.98] * blocks)

    assert texts(rank(shares(3), RIGHT)) == {"b": "1", "a": "2?"}
    assert texts(rank(shares(5), RIGHT)) == {"b": "1", "a": "2"}


def test_nothing_right_in_any_block_is_last_and_in_some_blocks_is_undecided() -> None:
    nothing, sometimes = trials_of("nothing", [0.0] * 5), trials_of("sometimes", [0.0, *SLOW[1:]])
    assert texts(rank(trials_of("fast", FAST) + nothing, RIGHT)) == {"fast": "1", "nothing": "2"}
    assert texts(rank(trials_of("fast", FAST) + sometimes, RIGHT)) == {"fast": "1", "sometimes": "2?"}
    assert texts(rank(nothing + trials_of("nil", [0.0] * 5), RIGHT)) == {"nil": "1", "nothing": "2?"}


def test_trials_without_the_figure_are_left_out() -> None:
    absent = [trial("unknown", block) for block in range(5)]
    assert texts(rank(absent + trials_of("slow", SLOW), RIGHT)) == {"slow": "1"}
    assert rank([], RIGHT).standings == ()


def test_who_was_beyond_any_figure_in_a_trial_has_no_rank_by_the_others() -> None:
    endless = replace(RIGHT, endless=True)
    slow = [replace(trial("slow", number), block=number) for number in range(2)]
    flaky = [*trials_of("flaky", FAST[:3]), *(replace(one, subject="flaky", block=3 + one.block) for one in slow)]
    without = [one if number < 3 else one.having(LinesSummary()) for number, one in enumerate(flaky)]
    assert set(texts(rank(without + trials_of("slow", SLOW), endless))) == {"slow"}
    assert set(texts(rank(without + trials_of("slow", SLOW), RIGHT))) == {"slow", "flaky"}


def test_a_metric_without_a_direction_gives_no_ranking() -> None:
    with pytest.raises(InvalidValue, match="totalUrls has no direction"):
        rank([], find_metric(METRICS, "totalUrls"))


def test_several_conditions_are_refused() -> None:
    with pytest.raises(InvalidValue, match="under one condition, not 2"):
        rank([trial("a", 0, 1.0), trial("a", 1, 1.0, condition="far")], RIGHT)


def test_the_order_of_trials_does_not_matter() -> None:
    trials = three()
    shuffled = [trials[place] for place in np.random.default_rng(1).permutation(len(trials))]
    assert rank(shuffled, RIGHT) == rank(trials, RIGHT)
