"""The published grids as presets: their points, at any scale, and the place of each in the publication."""

from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doubles.presets import preset_names
from httpdyno.errors import UnknownName, UsageError
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.published import at_scale, place_of, preset_axes, varies_link
from httpdyno.model import Cell, Loop
from httpdyno.published import PublishedTable, find_preset
from httpdyno.published.table import Row

TENTH = Fraction(1, 10)
MS = 1_000_000
NAMES = preset_names("capacity")
BATCH_4 = "published-batch-4"


def points(name: str, scale: Fraction = Fraction(1), *, as_labelled: bool = False) -> list[CapacityPoint]:
    return list(preset_axes(find_preset(name, "capacity"), scale, as_labelled=as_labelled).points())


def published_place(row: Row) -> tuple[Cell, ...]:
    return tuple(row.values())[1:4]


def test_only_batch_4_varies_the_link() -> None:
    assert [name for name in NAMES if varies_link(find_preset(name, "capacity"))] == [BATCH_4]


def places_in(table: PublishedTable) -> set[tuple[Cell, ...]]:
    return {published_place(row) for row in table.rows}


@cache
def places(name: str) -> frozenset[tuple[float, ...]]:
    preset = find_preset(name, "capacity")
    return frozenset(place_of(preset, point) for point in points(name))


def test_there_is_a_preset_for_each_published_grid() -> None:
    assert len(NAMES) == 6
    assert {find_preset(name, "capacity").preset for name in NAMES} == set(NAMES)


@pytest.mark.parametrize(
    ("name", "not_measured", "not_published"),
    [
        ("published-batch-1", 0, 2),
        ("published-batch-1-public-network", 15, 0),
        ("published-batch-2", 0, 0),
        ("published-batch-3", 0, 0),
        ("published-batch-3-23gbit", 0, 0),
        (BATCH_4, 0, 0),
    ],
)
def test_a_grid_has_the_points_that_were_published(name: str, not_measured: int, not_published: int) -> None:
    preset = find_preset(name, "capacity")
    ours = [place_of(preset, point) for point in points(name)]
    theirs = places_in(preset)
    assert len(set(ours)) == len(ours)
    assert len(theirs - set(ours)) == not_measured
    assert len(set(ours) - theirs) == not_published


@pytest.mark.parametrize("name", NAMES)
def test_a_grid_is_a_closed_loop_that_is_to_hold_2000_a_second(name: str) -> None:
    for point in points(name):
        assert (point.loop, point.target_per_s) == (Loop.CLOSED, 2000)
    assert find_preset(name, "capacity").circumstances.timeout_s == 20


def test_batch_4_was_run_with_a_bounded_queue_and_no_distance() -> None:
    assert {point.queue_ns for point in points(BATCH_4)} == {label * MS for label in (100, 200, 300, 400, 500)}
    assert {(point.round_trip_ns, point.delay_ns, point.size_bytes) for point in points(BATCH_4)} == {(0, 0, 204_800)}


def test_as_labelled_batch_4_has_the_distances_of_its_labels() -> None:
    labelled = points(BATCH_4, as_labelled=True)
    assert {point.round_trip_ns for point in labelled} == {label * MS for label in (100, 200, 300, 400, 500)}
    assert {point.queue_ns for point in labelled} == {None}
    preset = find_preset(BATCH_4, "capacity")
    assert {place_of(preset, point) for point in labelled} == {place_of(preset, point) for point in points(BATCH_4)}


def test_the_labels_of_the_other_batches_are_right() -> None:
    for name in set(NAMES) - {BATCH_4}:
        with pytest.raises(UsageError, match=f"the labels of {name} are right"):
            points(name, as_labelled=True)


def test_a_tenth_of_batch_4_takes_a_tenth_of_rates_and_concurrency() -> None:
    tenth = points(BATCH_4, TENTH)
    assert len(tenth) == 250
    assert {point.rate_bits_per_s for point in tenth} == {count * 100_000_000 for count in range(1, 11)}
    assert {point.concurrency for point in tenth} == {20, 40, 60, 80, 100}
    assert {(point.size_bytes, point.target_per_s) for point in tenth} == {(204_800, 200)}
    assert {point.queue_ns for point in tenth} == {point.queue_ns for point in points(BATCH_4)}


def test_a_tenth_of_batch_3_rounds_concurrency_and_keeps_at_least_one() -> None:
    assert sorted({point.concurrency for point in points("published-batch-3", TENTH)}) == [1, 2, 3, 5, 7, 8, 10, 11]


@given(
    name=st.sampled_from(NAMES),
    scale=st.builds(Fraction, st.integers(1, 20), st.just(20)),
    as_labelled=st.booleans(),
)
@settings(max_examples=30)
def test_each_published_row_within_the_grid_has_its_point_at_any_scale(
    name: str, scale: Fraction, as_labelled: bool
) -> None:
    preset = find_preset(name, "capacity")
    ours = {place_of(preset, point) for point in points(name, scale, as_labelled=as_labelled and name == BATCH_4)}
    whole = places(name)
    scaled = at_scale(preset, scale, ["hey"])
    for row, own in zip(preset.rows, scaled.rows, strict=True):
        assert published_place(row) not in whole or published_place(own) in ours


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    with pytest.raises(
        UnknownName, match="capacity has no preset 'published-batch-5'; choose from: published-batch-1, "
    ):
        find_preset("published-batch-5", "capacity")


def test_a_place_is_in_the_units_of_the_publication() -> None:
    preset = find_preset(BATCH_4, "capacity")
    assert place_of(preset, points(BATCH_4, TENTH)[0]) == (100, 0.1, 20)
    small = find_preset("published-batch-3", "capacity")
    assert place_of(small, points("published-batch-3")[1]) == (100, 10, 1)
