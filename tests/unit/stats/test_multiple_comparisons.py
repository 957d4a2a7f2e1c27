"""Comparisons made together."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.stats import FloatArray, adjust_all_pairs, all_pairs_p, compare_all_pairs, holm
from httpdyno.stats.ratio import LogRatio
from httpdyno.stats.summary import two_sided_p


def own_p(logs: FloatArray) -> FloatArray:
    first, second = np.triu_indices(len(logs), 1)
    return LogRatio.paired(logs[first] - logs[second]).p()


def drawn(seed: int, subjects: int, blocks: int, step: float = 0.0) -> FloatArray:
    rng = np.random.default_rng(seed)
    logs = step * np.arange(subjects)[:, None] + 0.01 * rng.standard_normal((subjects, blocks))
    return logs + rng.standard_normal(blocks)


@st.composite
def families(draw: st.DrawFn) -> tuple[FloatArray, list[int]]:
    subjects = draw(st.integers(2, 6))
    pairs = subjects * (subjects - 1) // 2
    p_values = draw(st.lists(st.one_of(st.floats(0, 1), st.just(float("nan"))), min_size=pairs, max_size=pairs))
    return np.array(p_values), draw(st.permutations(range(subjects)))


def most_equal_pairs(subjects: int, different: set[tuple[int, int]]) -> int:
    """Try every division of the subjects into groups."""

    def best(place: int, groups: list[list[int]]) -> int:
        if place == subjects:
            return sum(len(group) * (len(group) - 1) // 2 for group in groups)
        found = best(place + 1, [*groups, [place]])
        for number, group in enumerate(groups):
            if not any((member, place) in different for member in group):
                joined = [*groups[:number], [*group, place], *groups[number + 1 :]]
                found = max(found, best(place + 1, joined))
        return found

    return best(0, [])


def test_three_subjects_by_hand() -> None:
    # Three pairs can be equal at first. Once the first and the last differ, only one of the other two pairs can be.
    assert adjust_all_pairs(np.array([0.03, 0.01, 0.04]), np.arange(3)) == pytest.approx([0.03, 0.03, 0.04])
    assert holm([0.03, 0.01, 0.04]) == pytest.approx([0.06, 0.03, 0.06])


def test_neighbours_of_whom_no_two_pairs_share_a_subject_are_left() -> None:
    # All but neighbours are different, and of the four pairs of neighbours among five at most two can be equal.
    p_values = np.array([0.02 if second - first == 1 else 1e-6 for first, second in combinations(range(5), 2)])
    adjusted = adjust_all_pairs(p_values, np.arange(5))
    assert adjusted[p_values == 0.02] == pytest.approx([0.04] * 4)


@given(families())
def test_never_above_holm_and_never_below_what_can_be_equal_together(family: tuple[FloatArray, list[int]]) -> None:
    p_values, order = family
    adjusted = adjust_all_pairs(p_values, np.array(order))
    tested = ~np.isnan(p_values)
    assert (np.isnan(adjusted) == ~tested).all()
    assert (adjusted[tested] <= holm(p_values[tested]) + 1e-12).all()
    places = list(combinations(range(len(order)), 2))
    different: set[tuple[int, int]] = set()
    largest = 0.0
    for pair in np.argsort(p_values, kind="stable")[: int(tested.sum())]:
        bound = min(most_equal_pairs(len(order), different), int(tested.sum()) - len(different))
        largest = max(largest, min(1.0, p_values[pair] * bound))
        assert adjusted[pair] >= largest - 1e-12
        different.add(places[pair])


@given(st.integers(0, 1000), st.integers(2, 6), st.integers(3, 6), st.sampled_from([0.0, 0.02, 1.0]))
def test_names_and_blocks_do_not_matter(seed: int, subjects: int, blocks: int, step: float) -> None:
    logs = drawn(seed, subjects, blocks, step)
    adjusted = compare_all_pairs(logs, own_p(logs))
    turned = logs[::-1, ::-1] + 3 * np.arange(blocks)
    assert compare_all_pairs(turned, own_p(turned)) == pytest.approx(
        [
            adjusted[list(combinations(range(subjects), 2)).index((subjects - 1 - second, subjects - 1 - first))]
            for first, second in combinations(range(subjects), 2)
        ],
        rel=1e-6,
        abs=1e-12,
    )


@given(st.integers(0, 1000), st.integers(2, 6), st.integers(3, 6))
def test_no_adjusted_p_is_below_that_of_its_pair(seed: int, subjects: int, blocks: int) -> None:
    logs = drawn(seed, subjects, blocks, 0.01)
    assert (compare_all_pairs(logs, own_p(logs)) >= own_p(logs)).all()


def test_the_spread_of_a_pair_is_that_of_its_subjects_after_their_blocks() -> None:
    # The others are still, so that the median of all others is 0 in every block.
    rng = np.random.default_rng(7)
    logs = 1e-7 * rng.standard_normal((7, 6))
    logs[:2] += [[0.01, -0.01, 0.02, 0.0, -0.01, 0.03], [0.1, 0.08, 0.12, 0.1, 0.09, 0.11]]
    one, other = logs[:2].var(axis=-1, ddof=1)
    assert logs[:2].var(axis=-1, ddof=1).sum() > (logs[0] - logs[1]).var(ddof=1)
    t = (logs[0] - logs[1]).mean() / np.sqrt((one + other) / 6)
    welch = (one + other) ** 2 / (one**2 / 5 + other**2 / 5)
    freedom = 5 + 0.85 * (welch - 5)
    assert all_pairs_p(logs, own_p(logs))[0] == pytest.approx(float(two_sided_p(t, freedom)), rel=1e-4)


def test_the_spread_of_a_pair_that_a_block_moves_apart_is_its_own() -> None:
    rng = np.random.default_rng(8)
    logs = 1e-7 * rng.standard_normal((8, 6))
    reaction = np.array([0.01, -0.02, 0.03, -0.01, 0.02, -0.03])
    logs[0] += 0.05 + reaction
    logs[1] -= reaction
    difference = logs[0] - logs[1]
    t = difference.mean() / np.sqrt(difference.var(ddof=1) / 6)
    assert all_pairs_p(logs, own_p(logs))[0] == pytest.approx(float(two_sided_p(t, 5 + 0.85 * 5)), rel=1e-4)


@pytest.mark.parametrize("subjects", [2, 3])
def test_few_subjects_keep_the_p_values_of_their_pairs(subjects: int) -> None:
    logs = drawn(3, subjects, 5)
    assert all_pairs_p(logs, own_p(logs)).tolist() == own_p(logs).tolist()


def test_a_pair_without_spread_keeps_its_p_value() -> None:
    logs = drawn(4, 6, 5)
    logs[3] = logs[2] + 0.5
    p_values, own = all_pairs_p(logs, own_p(logs)), own_p(logs)
    kept = np.array([pair == (2, 3) for pair in combinations(range(6), 2)])
    assert (p_values[kept] == own[kept]).all()
    assert (p_values[~kept] != own[~kept]).all()


def test_a_missing_trial_changes_little_and_a_subject_without_values_nothing() -> None:
    logs = drawn(5, 11, 9, 0.01)
    whole = compare_all_pairs(logs, own_p(logs))
    with_none = np.vstack([logs, np.full(9, np.nan)])
    of_all = np.array([second == 11 for _, second in combinations(range(12), 2)])
    own = np.full(66, np.nan)
    own[~of_all] = own_p(logs)
    adjusted = compare_all_pairs(with_none, own)
    assert np.isnan(adjusted[of_all]).all()
    assert (np.abs(np.log(adjusted[~of_all] / whole)) < 0.7).all()
    logs[4, 2] = np.nan
    assert np.isfinite(all_pairs_p(logs, own_p(np.nan_to_num(logs)))).all()


def test_none_and_one_subject_have_no_pairs() -> None:
    for subjects, blocks in ((0, 0), (1, 5)):
        assert compare_all_pairs(np.zeros((subjects, blocks)), np.zeros(0)).tolist() == []


def test_each_run_stands_for_itself() -> None:
    runs = np.stack([drawn(seed, 5, 4, 0.02) for seed in range(3)])
    own = np.stack([own_p(logs) for logs in runs])
    together = compare_all_pairs(runs, own)
    assert together.tolist() == [compare_all_pairs(logs, of).tolist() for logs, of in zip(runs, own, strict=True)]


p_values = st.lists(st.floats(0, 1), max_size=20).map(np.array)


def test_by_hand() -> None:
    # Sorted 0.005 x 4, 0.01 x 3, 0.03 x 2, then 0.04 x 1 is below what stands before it and takes that over.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_none_and_one() -> None:
    assert holm([]).tolist() == []
    assert holm([0.03]).tolist() == [0.03]


def test_each_row_is_a_family() -> None:
    rows = np.array([[0.01, 0.04], [0.5, 0.001]])
    assert holm(rows).tolist() == [holm(rows[0]).tolist(), holm(rows[1]).tolist()]


@given(p_values)
def test_between_none_and_bonferroni_in_the_same_order(values: np.ndarray) -> None:
    adjusted = holm(values)
    assert (adjusted >= values).all()
    assert (adjusted <= np.minimum(values * max(len(values), 1), 1) + 1e-15).all()
    assert (np.diff(adjusted[np.argsort(values, kind="stable")]) >= 0).all()
