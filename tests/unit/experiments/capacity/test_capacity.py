"""The capacity question as an experiment: its conditions, its plan, its size."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue, UnreadableRun, UsageError
from httpdyno.experiments.capacity.axes import Axes
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.experiments.capacity.plan import Capacity, check_extent, mean_trial_s, timing_of
from httpdyno.experiments.capacity.published import preset_axes
from httpdyno.model import Loop, Subject, SubjectKind, UrlSeries, format_exact
from httpdyno.published import find_preset

MS = 10**6
KIB = 1024
AXES = Axes(
    sizes_bytes=(0, 100 * KIB),
    delays_ns=(0, 20 * MS),
    round_trips_ns=(40 * MS,),
    rates_bits_per_s=(10**9,),
    queues_ns=(50 * MS,),
    concurrencies=(50, 100),
    loss=0.001,
    rps=200.0,
)
SUBJECTS = [Subject(name, SubjectKind.CLIENT, "C", name, Path(name), ("./main",)) for name in ("one", "two", "three")]


def test_a_condition_is_the_link_the_list_and_the_schedule_of_its_point() -> None:
    condition = list(Capacity(axes=AXES).conditions())[-1]
    assert condition.get(CapacityPoint) == CapacityPoint(
        100 * KIB, 20 * MS, 40 * MS, 10**9, 50 * MS, 100, Loop.OPEN, 200.0
    )
    assert str(condition.link) == "rtt=40ms,rate=1gbit,queue=50ms,loss=0.1%"
    assert condition.name == "100 KiB, delay 20 ms, rtt 40 ms, 1 Gbit/s, queue 50 ms, 100 in flight"
    assert (condition.concurrency, condition.rate_per_s, condition.web) == (100, 200.0, "plain")
    urls = condition.workload.urls
    assert isinstance(urls, UrlSeries)
    assert urls.prefix == "http://capacity.example/bytes/102400?delay_ms=20&n="
    assert condition.send_s is not None
    assert urls.count == pytest.approx(200 * condition.send_s, abs=1)
    assert condition.grace_s is not None
    assert condition.send_s + condition.grace_s < condition.deadline_s


def test_a_closed_loop_is_fed_at_once() -> None:
    (condition,) = Capacity(axes=Axes(loop=Loop.CLOSED, rps=None)).conditions()
    assert (condition.rate_per_s, condition.grace_s) == (None, None)


def test_subjects_are_interleaved_in_a_block_for_each_point() -> None:
    plan = Capacity(axes=AXES, repeat=2).plan(SUBJECTS)
    trials = plan.left([])
    assert plan.most == len(trials) == 8 * 3 * 2
    for block in range(16):
        of_block = [trial for trial in trials if trial.block == block]
        assert {trial.subject.id for trial in of_block} == {"one", "two", "three"}
        assert len({trial.condition.name for trial in of_block}) == 1
    orders = {tuple(trial.subject.id for trial in trials if trial.block == block) for block in range(16)}
    assert len(orders) > 1


@given(st.sampled_from(["", "p99 < rtt + 5ms"]), st.floats(0.5, 60), st.integers(1, 9), st.booleans())
def test_a_resumed_run_has_the_same_settings(objective: str, duration_s: float, repeat: int, quick: bool) -> None:
    experiment = Capacity(axes=AXES, slo=objective, duration_s=duration_s, repeat=repeat, quick=quick, seed=7)
    assert Capacity.restore(experiment.settings(), experiment.webs()) == experiment


def test_damaged_settings_give_one_line() -> None:
    experiment = Capacity(axes=AXES)
    with pytest.raises(UnreadableRun, match="rtt is missing"):
        Capacity.restore({k: v for k, v in experiment.settings().items() if k != "rtt"}, experiment.webs())
    with pytest.raises(UnreadableRun, match="--size: 'much' is not understood"):
        Capacity.restore({**experiment.settings(), "size": "much"}, experiment.webs())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"duration_s": 0.4}, "--duration: 0.4 s are too short"),
        ({"slo": "p99 < soon"}, "--slo"),
        ({"timeout_s": 0.0}, "is not a timeout"),
        ({"duration_s": 1e5}, "a list of 20,.* URLs, and has at most 10,000,000; give a smaller --rps or a shorter"),
        (
            # The slowest of the points decides, whose rate is that of no corner.
            {"axes": replace(AXES, sizes_bytes=(0, 10**9), rates_bits_per_s=(10**5, 10**9)), "duration_s": 1},
            "a list of .* URLs, and has at most 10,000,000",
        ),
        (
            {"axes": Axes(concurrencies=(200, 9_999_999), loop=Loop.CLOSED, rps=None)},
            "a list of .* URLs, and has at most 10,000,000; give less --concurrency",
        ),
    ],
)
def test_impossible_settings_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        replace(Capacity(axes=AXES), **changes)  # type: ignore[arg-type]  # wrong on purpose


@given(
    st.integers(0, 10**6),
    st.integers(0, 3000),
    st.integers(0, 10**9),
    st.none() | st.integers(10**6, 10**11),
    st.integers(1, 1000),
    st.sampled_from(Loop),
    st.floats(1, 10_000),
)
def test_a_trial_lasts_as_long_as_it_waits_for(
    size: int, delay_ms: int, round_trip: int, rate: int | None, concurrency: int, loop: Loop, target: float
) -> None:
    point = CapacityPoint(size, delay_ms * MS, round_trip, rate, None, concurrency, loop, target)
    timing = timing_of(point, 1.0)
    assert timing.urls >= 1
    assert 0 < timing.foreseen_s <= timing.deadline_s
    # The engine reads milliseconds.
    assert Fraction(format_exact(timing.deadline_s)) * 1000 % 1 == 0
    if loop is Loop.OPEN:
        assert timing.urls / target >= 1.0 + (delay_ms * MS + round_trip) / 1e9


def test_the_time_of_a_small_grid_is_the_mean_of_its_trials() -> None:
    sent_s = sum(timing_of(point, 1.0).foreseen_s for point in AXES.points()) / AXES.count
    assert sent_s < mean_trial_s(AXES, 1.0) < sent_s + 2


def test_a_grid_of_a_million_points_is_refused_with_its_estimate() -> None:
    many = tuple(range(1, 101))
    axes = Axes(sizes_bytes=many, round_trips_ns=many, concurrencies=many)
    for confirmed in (False, True):
        with pytest.raises(UsageError, match=r"1,000,000 trials would take about \d+ days") as refused:
            check_extent(axes.count, axes.count * mean_trial_s(axes, 5.0), confirmed=confirmed)
        # Consent would not help.
        assert "a run has at most 100,000: make the grid smaller" in str(refused.value)
        assert "--yes" not in str(refused.value)


@pytest.mark.parametrize(("trials", "time_s", "asks"), [(3000, 3600.0, False), (3001, 60.0, True), (2, 3601.0, True)])
def test_long_runs_need_consent(trials: int, time_s: float, asks: bool) -> None:
    check_extent(trials, time_s, confirmed=True)
    if asks:
        with pytest.raises(UsageError, match="give --yes to start them"):
            check_extent(trials, time_s, confirmed=False)
    else:
        check_extent(trials, time_s, confirmed=False)


def test_the_published_batch_4_at_a_tenth_is_minutes() -> None:
    axes = preset_axes(find_preset("published-batch-4", "capacity"), Fraction(1, 10))
    assert axes.count * mean_trial_s(axes, 5.0) < 600
