"""Disturbances of a measurement, and repeats of failed ones."""

from types import SimpleNamespace

import pytest

from disturbance import ATTEMPTS, Moment, disturbance, measured, skip_inconclusive, wait_for_quiet

BEGIN = Moment(at_s=100.0, stolen_s=5, busy_s=50, own_s=20, stalled_s=1, throttled=3)


def after(lasted_s: float, **more: float) -> Moment:
    """Return a later moment, at which some counters have grown by given amounts."""
    grown = {name: getattr(BEGIN, name) + value for name, value in more.items()}
    return Moment(**{**{name: getattr(BEGIN, name) for name in BEGIN.__slots__}, "at_s": 100.0 + lasted_s, **grown})


@pytest.mark.parametrize(
    ("then", "said"),
    [
        (after(10), None),
        (after(10, stolen_s=0.09), None),
        (after(10, stolen_s=0.2), "the host took 2% of a CPU"),
        (after(10, busy_s=10, own_s=10), None),
        (after(10, busy_s=10.9, own_s=10), None),
        (after(10, busy_s=13, own_s=10), "other programs used 30% of a CPU"),
        (after(10, stalled_s=2), "memory or disks held it up 20% of the time"),
        (after(10, throttled=1), "a quota held it up"),
        (after(10, stolen_s=1, busy_s=5), "the host took 10% of a CPU, other programs used 50% of a CPU"),
        (BEGIN, None),
    ],
)
def test_what_disturbed_is_named(then: Moment, said: str | None) -> None:
    assert disturbance(BEGIN, then) == said


def test_a_moment_is_read_of_this_machine() -> None:
    first, then = Moment.now(), Moment.now()
    assert first.busy_s > 0 < first.own_s
    assert all(getattr(then, name) >= getattr(first, name) for name in Moment.__slots__)


def attempts(*tried: tuple[bool, bool]) -> tuple[bool, int, bool]:
    """Make a measurement that fails or not, on a disturbed machine or not.

    Return whether it failed, how often it was made, and whether it is inconclusive.
    """
    following, moments, waits = iter(tried), [Moment(0.0)], []

    def once() -> list[SimpleNamespace]:
        failed, disturbed = next(following)
        moments.append(Moment(moments[-1].at_s + 1, stolen_s=moments[-1].stolen_s + disturbed))
        return [SimpleNamespace(failed=False), SimpleNamespace(failed=failed)]

    reports, disturbed = measured(once, now=lambda: moments[-1], wait=lambda: waits.append(1))
    assert len(waits) == len(moments) - 2
    return reports[-1].failed, len(moments) - 1, disturbed is not None


@pytest.mark.parametrize(
    ("tried", "failed", "made", "inconclusive"),
    [
        ([(False, False)], False, 1, False),
        ([(False, True)], False, 1, False),
        ([(True, False)], True, 1, False),
        ([(True, True), (False, True)], False, 2, False),
        ([(True, True), (True, False)], True, 2, False),
        ([(True, True)] * ATTEMPTS, True, ATTEMPTS, True),
    ],
)
def test_what_fails_disturbed_is_measured_again(
    tried: list[tuple[bool, bool]], failed: bool, made: int, inconclusive: bool
) -> None:
    assert attempts(*tried) == (failed, made, inconclusive)


def test_what_never_could_be_measured_is_skipped_with_what_disturbed_it() -> None:
    location = ("tests/a.py", 6, "test_a")

    def report() -> pytest.TestReport:
        return pytest.TestReport("tests/a.py::test_a", location, {}, "failed", None, "call")

    (left,) = skip_inconclusive([report()], "the host took 50% of a CPU")
    reason = "Skipped: INCONCLUSIVE tests/a.py::test_a: the host took 50% of a CPU"
    assert (left.outcome, left.longrepr) == ("skipped", ("tests/a.py", 7, reason))
    (left,) = skip_inconclusive([report()], None)
    assert left.outcome == "failed"


@pytest.mark.parametrize(("busy_seconds", "found"), [(0, False), (5, False), (10_000, True)])
def test_it_is_waited_for_a_quiet_second_but_not_for_ever(busy_seconds: int, found: bool) -> None:
    clock = [0.0]

    def now() -> Moment:
        return Moment(at_s=clock[0], busy_s=min(clock[0], busy_seconds))

    left = wait_for_quiet(now, lambda seconds: clock.append(clock.pop() + seconds))
    assert (left is not None) is found
    assert clock[0] < 100
