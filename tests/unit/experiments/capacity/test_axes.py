"""The grid of the capacity question: typed lists, the points that they span, their names."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.axes import (
    CONCURRENCY,
    DELAY,
    LINK_RATE,
    QUANTITIES,
    QUEUE,
    ROUND_TRIP,
    SIZE,
    Axes,
    Quantity,
    name_of,
)
from httpdyno.model import Link, Loop

KIB = 1024
MS = 10**6


@pytest.mark.parametrize(
    ("quantity", "text", "values"),
    [
        (SIZE, "0", (0,)),
        (SIZE, "0,100KiB,...,500KiB", tuple(range(0, 501 * KIB, 100 * KIB))),
        (SIZE, "100KiB, 200KiB, ..., 400KiB", (100 * KIB, 200 * KIB, 300 * KIB, 400 * KIB)),
        (SIZE, "1000,64KiB", (1000, 64 * KIB)),
        (SIZE, "64KiB,1000", (1000, 64 * KIB)),
        (SIZE, "0,1KiB,...,3KiB,10KiB,20KiB,...,40KiB", tuple(n * KIB for n in (0, 1, 2, 3, 10, 20, 30, 40))),
        (DELAY, "100ms,200ms,...,500ms", tuple(n * MS for n in (100, 200, 300, 400, 500))),
        (ROUND_TRIP, "0,100ms,...,300ms", (0, 100 * MS, 200 * MS, 300 * MS)),
        (LINK_RATE, "1gbit..10gbit", tuple(n * 10**9 for n in range(1, 11))),
        (LINK_RATE, "100Mbit/s,2.5gbit", (100_000_000, 2_500_000_000)),
        (CONCURRENCY, "200..1000", (200, 400, 600, 800, 1000)),
        (CONCURRENCY, "50", (50,)),
    ],
)
def test_a_list_is_read_as_it_is_meant(quantity: Quantity, text: str, values: tuple[int, ...]) -> None:
    assert quantity.values(text) == values


@pytest.mark.parametrize(
    ("quantity", "text", "said"),
    [
        (SIZE, "", "--size: '' is not understood"),
        (SIZE, "1,,2", "values with commas between them"),
        (SIZE, "lots", "--size: 'lots' is not understood"),
        (SIZE, "0,...,500KiB", "needs two values before it"),
        (SIZE, "0,100KiB,...", "one after it"),
        (SIZE, "0,1,...,...,9", "needs two values before it and one after it"),
        (SIZE, "0,100KiB,...,450KiB", "never reaches 450KiB"),
        (SIZE, "200KiB,100KiB,...,500KiB", "never reaches 500KiB"),
        (SIZE, "0,1,...,1000000", "at most 10,000 values"),
        (SIZE, "1..1000000", "at most 10,000 values"),
        (SIZE, "0..100", "never reaches 100 in steps of 0"),
        (SIZE, "5,5", "has a value twice"),
        (SIZE, "0,100,...,300,200", "has a value twice"),
        (DELAY, "100", "--delay: '100' is not understood"),
        (SIZE, "2GiB", "at most 1 GiB"),
        (DELAY, "1.5ms", "whole milliseconds"),
        (DELAY, "2h", "whole milliseconds, up to an hour, like 100ms"),
        (DELAY, "-1ms", "--delay: '-1ms' is negative; write it like 40ms"),
        (ROUND_TRIP, "-5ms", "--rtt: '-5ms' is negative; write it like 40ms"),
        (ROUND_TRIP, "100h", "--rtt: '100h' is longer than on any link; write 2h or less"),
        (QUEUE, "0,61m", "--queue: '61m' is longer than on any link; write 1h or less"),
        (LINK_RATE, "999bit", "--link-rate: '999bit' is not a rate of a link; write 1kbit to 1tbit"),
        (LINK_RATE, "2tbit", "--link-rate: '2tbit' is not a rate of a link; write 1kbit to 1tbit"),
        (LINK_RATE, "0gbit", "--link-rate: '0gbit' is not above 0"),
        (LINK_RATE, "10", "--link-rate: '10' is not understood"),
        (CONCURRENCY, "200..500", "never reaches 500 in steps of 200"),
        (CONCURRENCY, "0", "whole numbers from 1 on"),
        (CONCURRENCY, "1.5", "whole numbers from 1 on"),
        (CONCURRENCY, "200..", "write a range like 200..1000"),
    ],
)
def test_a_bad_list_gets_one_clear_line(quantity: Quantity, text: str, said: str) -> None:
    with pytest.raises(InvalidValue) as refused:
        quantity.values(text)
    assert said in str(refused.value)
    assert quantity.option in str(refused.value)
    assert "\n" not in str(refused.value)


@given(
    st.sampled_from(sorted(set(QUANTITIES) - {DELAY}, key=str)),
    st.lists(st.integers(1000, 9_999_999), min_size=1, max_size=20, unique=True),
)
def test_a_list_reads_back_as_it_is_written(quantity: Quantity, numbers: list[int]) -> None:
    values = tuple(sorted(numbers))
    assert quantity.values(quantity.text(values)) == values


@given(st.integers(1, 1000), st.integers(1, 50), st.integers(2, 50))
def test_a_list_that_goes_on_is_the_same_as_one_that_is_written_out(first: int, step: int, steps: int) -> None:
    written_out = [first + step * number for number in range(steps + 1)]
    shortened = f"{written_out[0]},{written_out[1]},...,{written_out[-1]}"
    assert CONCURRENCY.values(shortened) == tuple(written_out)


_LISTS = st.lists(st.integers(1, 10**9), min_size=1, max_size=4, unique=True).map(lambda values: tuple(sorted(values)))
_RATES = st.lists(st.integers(10**3, 10**12), min_size=1, max_size=4, unique=True).map(
    lambda values: tuple(sorted(values))
)
_COUNTS = st.lists(st.integers(1, 10**5), min_size=1, max_size=4, unique=True).map(lambda values: tuple(sorted(values)))
_DELAYS = st.lists(st.integers(0, 10**5), min_size=1, max_size=4, unique=True).map(
    lambda values: tuple(MS * value for value in sorted(values))
)
GRIDS = st.builds(
    Axes,
    sizes_bytes=_LISTS,
    delays_ns=_DELAYS,
    round_trips_ns=_LISTS,
    rates_bits_per_s=st.just((None,)) | _RATES,
    queues_ns=st.just((None,)),
    concurrencies=_COUNTS,
    loss=st.floats(0, 0.5),
    rps=st.floats(0.01, 1e6),
    loop=st.sampled_from(Loop),
    link=st.sampled_from(("direct", "mtu=9000", "4g", "up.rate=1mbit,loss=0.5%")).map(Link.parse),
)


@given(GRIDS, _RATES, _LISTS)
def test_a_grid_with_queues_reads_back(axes: Axes, rates: tuple[int, ...], queues: tuple[int, ...]) -> None:
    limited = replace(axes, rates_bits_per_s=rates, queues_ns=queues)
    names = [name_of(point) for point in limited.points()]
    assert len(names) == limited.count == len(set(names))
    assert Axes.restored(limited.settings()) == limited


@given(GRIDS, _RATES, _LISTS)
def test_axes_apply_to_both_directions_of_a_direct_link(
    axes: Axes, rates: tuple[int, ...], queues: tuple[int, ...]
) -> None:
    for grid in (axes, replace(axes, rates_bits_per_s=rates, queues_ns=queues)):
        point = grid.point(grid.count - 1)
        assert replace(grid, link=Link()).link_at(point) == Link.symmetric(
            round_trip_ns=point.round_trip_ns,
            rate_bits_per_s=point.rate_bits_per_s,
            queue_ns=point.queue_ns,
            loss=grid.loss,
        )


@pytest.mark.parametrize(
    ("changes", "link"),
    [
        ({}, "rtt=20ms,up.rate=10mbit,down.rate=50mbit,up.queue=30ms,down.queue=60ms,loss=0.1%,mtu=1400"),
        (
            {"round_trips_ns": (80 * MS,)},
            "rtt=80ms,up.rate=10mbit,down.rate=50mbit,up.queue=30ms,down.queue=60ms,loss=0.1%,mtu=1400",
        ),
        (
            {"rates_bits_per_s": (10**9,)},
            "rtt=20ms,rate=1gbit,up.queue=30ms,down.queue=60ms,loss=0.1%,mtu=1400",
        ),
        (
            {"queues_ns": (5 * MS,), "loss": 0.02},
            "rtt=20ms,up.rate=10mbit,down.rate=50mbit,queue=5ms,loss=2%,mtu=1400",
        ),
    ],
)
def test_an_axis_overrides_the_link(changes: dict[str, object], link: str) -> None:
    base = "rtt=20ms,up.rate=10mbit,down.rate=50mbit,up.queue=30ms,down.queue=60ms,loss=0.1%,mtu=1400"
    axes = replace(Axes().over(Link.parse(base)), **changes)  # type: ignore[arg-type]
    assert axes.link_at(axes.point(0)) == Link.parse(link)
    assert (axes.point(0).round_trip_ns, axes.point(0).rate_bits_per_s) == (
        axes.link_at(axes.point(0)).round_trip_ns,
        axes.link_at(axes.point(0)).down.rate_bits_per_s,
    )


@pytest.mark.parametrize("way", ["up", "down"])
def test_a_queue_is_before_the_one_way_that_has_a_rate(way: str) -> None:
    axes = replace(Axes().over(Link.parse(f"rtt=20ms,{way}.rate=20mbit")), queues_ns=(50 * MS,))
    assert axes.link_at(axes.point(0)) == Link.parse(f"rtt=20ms,{way}.rate=20mbit,{way}.queue=50ms")
    assert Axes.restored(axes.settings()) == axes


def test_the_longest_link_makes_a_grid_that_reads_back() -> None:
    axes = Axes().over(Link.parse("delay=3600s"))
    assert axes.link_at(axes.point(0)) == Link.parse("delay=3600s")
    assert Axes.restored(axes.settings()) == axes


def test_a_grid_with_a_distance_of_its_own_keeps_it() -> None:
    axes = Axes(round_trips_ns=(0, 40 * MS)).over(Link.parse("satellite"))
    assert (axes.round_trips_ns, axes.rates_bits_per_s) == (
        (0, 40 * MS),
        (Link.parse("satellite").down.rate_bits_per_s,),
    )


@given(GRIDS)
def test_every_point_has_a_name_of_its_own_and_the_grid_reads_back(axes: Axes) -> None:
    points = list(axes.points())
    assert len(points) == axes.count == len({name_of(point) for point in points})
    assert Axes.restored(axes.settings()) == axes


def test_a_million_points_are_counted_without_being_made() -> None:
    many = tuple(range(1, 101))
    axes = Axes(sizes_bytes=many, delays_ns=many, concurrencies=many)
    assert axes.count == 1_000_000
    assert next(axes.points()).concurrency == 1


def test_the_name_of_a_point_lists_its_settings() -> None:
    axes = Axes(
        sizes_bytes=(100 * KIB,),
        delays_ns=(0, 20 * MS),
        round_trips_ns=(0, 40 * MS),
        rates_bits_per_s=(10**9, 2_500_000_000),
        concurrencies=(200,),
    )
    names = [name_of(point) for point in axes.points()]
    assert names[0] == "100 KiB, 1 Gbit/s, 200 in flight"
    assert names[-1] == "100 KiB, delay 20 ms, rtt 40 ms, 2.5 Gbit/s, 200 in flight"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sizes_bytes": ()}, "has no value"),
        ({"loss": 1.0}, "--loss: a link cannot lose 100 %"),
        ({"loss": -0.1}, "--loss"),
        ({"queues_ns": (MS,)}, "give a --link-rate, too"),
        ({"rps": 0.0}, "more than 0 requests a second"),
        ({"rps": None}, "an open loop needs a rate"),
    ],
)
def test_an_impossible_grid_is_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        Axes(**changes)  # type: ignore[arg-type]  # wrong on purpose
