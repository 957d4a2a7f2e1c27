"""Layout of a grid: its axes, its panels, and the format of values."""

import pytest

from doubles.capacity import MS, point
from httpdyno.experiments.capacity.axes import CONCURRENCY, DELAY, LINK_RATE, QUEUE, ROUND_TRIP, SIZE, Quantity
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.points import Layout

SIZES = [point(size) for size in (0, 100, 200)]


@pytest.mark.parametrize(
    ("points", "across", "up", "panels"),
    [
        ([point()], SIZE, None, ()),
        (SIZES, SIZE, None, ()),
        ([point(0, rtt) for rtt in (0, 20)], ROUND_TRIP, None, ()),
        ([point(size, rtt) for size in (0, 100) for rtt in (0, 20, 40)], ROUND_TRIP, SIZE, ()),
        ([point(1, rtt, gbit) for rtt in (0, 20, 40) for gbit in (1, 2)], LINK_RATE, ROUND_TRIP, ()),
        (
            [
                point(1, 0, gbit, queue_ns=queue * MS, concurrency=many)
                for gbit in range(1, 11)
                for queue in (1, 2, 3)
                for many in (1, 2, 3)
            ],
            LINK_RATE,
            QUEUE,
            (CONCURRENCY,),
        ),
        (
            [
                point(size, 0, delay_ns=delay, concurrency=many)
                for size in (1, 2)
                for delay in (1, 2, 3)
                for many in (1, 2, 3, 4)
            ],
            DELAY,
            CONCURRENCY,
            (SIZE,),
        ),
    ],
)
def test_the_two_axes_with_the_most_values_span_the_grid_and_the_size_runs_up(
    points: list[CapacityPoint], across: Quantity, up: Quantity | None, panels: tuple[Quantity, ...]
) -> None:
    layout = Layout.of(points)
    assert (layout.across, layout.up, layout.panels) == (across, up, panels)


@pytest.mark.parametrize(
    ("axis", "values", "unit", "labels"),
    [
        (SIZE, (0, 1024, 102400), "KiB", ["0", "1", "100"]),
        (SIZE, (0, 2**20), "MiB", ["0", "1"]),
        (SIZE, (0,), "KiB", ["0"]),
        (SIZE, (1000, 102400), "B", ["1000", "102400"]),
        (ROUND_TRIP, (0, 40 * MS, 100 * MS), "ms", ["0", "40", "100"]),
        (LINK_RATE, (10**9, 2_500_000_000, None), "Gbit/s", ["1", "2.5", "no limit"]),
        (CONCURRENCY, (200, 1000), "", ["200", "1000"]),
    ],
)
def test_values_share_the_largest_unit_that_suits_all(
    axis: Quantity, values: tuple[int | None, ...], unit: str, labels: list[str]
) -> None:
    assert axis.unit(values)[0] == unit
    assert axis.labels(values)[1] == dict(zip(values, labels, strict=True))


def test_shared_settings_leave_out_zeros() -> None:
    assert Layout.of(SIZES).shared(SIZES) == "600 in flight"
    far = [point(size, 40, 1, delay_ns=20 * MS) for size in (1, 2)]
    assert Layout.of(far).shared(far) == "1 Gbit/s, rtt 40 ms, delay 20 ms, 600 in flight"


def test_no_limit_comes_last() -> None:
    assert LINK_RATE.distinct([point(), point(0, 0, 10), point(0, 0, 1)]) == (10**9, 10**10, None)
