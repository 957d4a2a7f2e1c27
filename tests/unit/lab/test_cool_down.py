"""The pause between trials, with a made-up machine and clock."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.lab.cool_down import LONGEST_S, WINDOW_S, CoolDown, Pause, disturbance, quieter
from httpdyno.lab.machine_use import MachineUse, Snapshot

QUIET = MachineUse({0: 0.02, 1: 0.0}, {"io": 0.0, "memory": 0.0}, 0)
WINDOW_NS = int(WINDOW_S * 1e9)

shares = st.floats(0, 1)
uses = st.builds(
    MachineUse,
    st.dictionaries(st.integers(0, 3), shares),
    st.dictionaries(st.sampled_from(["io", "memory"]), shares),
    st.none() | st.integers(0, 9),
)


@pytest.mark.parametrize(
    ("use", "reason"),
    [
        (QUIET, None),
        (MachineUse({0: 0.22}), None),
        (MachineUse({0: 0.02, 1: 0.45}), "CPU 1 was 45% busy"),
        (MachineUse({0: 0.23}, {"io": 0.5}), "CPU 0 was 23% busy"),
        (MachineUse({}, {"io": 0.5}), "io made others wait for 50% of the time"),
        (MachineUse({}, {"memory": 0.2}), None),
        (MachineUse({}, {}, 1), "1 socket had lost their process"),
        (MachineUse({}, {}, 3), "3 sockets had lost their process"),
        (MachineUse({}), None),
    ],
)
def test_what_counts_as_a_disturbance(use: MachineUse, reason: str | None) -> None:
    assert disturbance(use, QUIET) == reason


@given(uses)
def test_the_usual_load_is_no_disturbance(use: MachineUse) -> None:
    assert disturbance(use, use) is None


@given(uses, uses)
def test_the_quieter_of_two_is_below_both(one: MachineUse, other: MachineUse) -> None:
    lower = quieter(one, other)
    assert lower == quieter(other, one)
    assert quieter(lower, one) == lower
    assert all(lower.busy[cpu] <= share for use in (one, other) for cpu, share in use.busy.items())
    assert set(lower.stalled) == {*one.stalled, *other.stalled}


class Machine:
    """CPU 0, busy for a share of each window by a script; the last entry lasts for ever."""

    def __init__(self, script: Sequence[float]) -> None:
        self.script: Iterator[float] = iter(script)
        self.share = 0.0
        self.now_ns = 0
        self.busy = 0
        self.all = 0
        self.messages: list[str] = []
        self.stopped = False

    def read(self) -> Snapshot:
        return Snapshot(self.now_ns, {0: (self.busy, self.all)})

    def pause(self, seconds: float) -> None:
        self.share = next(self.script, self.share)
        self.now_ns += int(seconds * 1e9)
        self.busy += round(self.share * 100)
        self.all += 100

    def cool_down(self, longest_s: float = LONGEST_S) -> CoolDown:
        return CoolDown(
            self.read, longest_s=longest_s, pause=self.pause, stop=lambda: self.stopped, tell=self.messages.append
        )


def test_a_machine_that_is_quiet_costs_one_look() -> None:
    machine = Machine([0.0])
    cool_down = machine.cool_down()
    assert cool_down.before_trial() is None
    cool_down.after_trial(ran=True)
    assert cool_down.before_trial() == Pause(WINDOW_NS, None)
    assert machine.messages == []


def test_load_is_waited_for_as_long_as_it_lasts() -> None:
    machine = Machine([0.0, 0.8, 0.5, 0.15])
    cool_down = machine.cool_down()
    assert cool_down.before_trial() is None
    cool_down.after_trial(ran=True)
    assert cool_down.before_trial() == Pause(3 * WINDOW_NS, "CPU 0 was 50% busy")
    assert machine.messages == ["CPU 0 was 80% busy", "CPU 0 was 50% busy"]


def test_between_short_trials_it_looks_for_a_shorter_time_and_gives_up_sooner() -> None:
    machine = Machine([0.0, 0.0, 0.8])
    cool_down = machine.cool_down(1.2)
    assert cool_down.before_trial() is None
    cool_down.after_trial(ran=True)
    assert cool_down.before_trial() == Pause(120_000_000, None)
    assert cool_down.before_trial() == Pause(1_200_000_000, "CPU 0 was 80% busy, still")


def test_what_others_do_all_the_time_is_not_waited_for() -> None:
    machine = Machine([0.6])
    cool_down = machine.cool_down()
    assert cool_down.before_trial() is None
    cool_down.after_trial(ran=True)
    assert cool_down.before_trial() == Pause(WINDOW_NS, None)


def test_others_that_leave_are_no_excuse_any_more() -> None:
    machine = Machine([0.6, 0.0, 0.6, 0.0])
    cool_down = machine.cool_down()
    assert cool_down.before_trial() is None
    cool_down.after_trial(ran=True)
    assert cool_down.before_trial().reason is None
    assert cool_down.before_trial() == Pause(2 * WINDOW_NS, "CPU 0 was 60% busy")


def test_the_wait_is_bounded_and_not_repeated_for_what_stays() -> None:
    machine = Machine([0.0, 0.9])
    cool_down = machine.cool_down()
    assert cool_down.before_trial() is None
    cool_down.after_trial(ran=True)
    assert cool_down.before_trial() == Pause(int(LONGEST_S * 1e9), "CPU 0 was 90% busy, still")
    assert cool_down.before_trial() == Pause(WINDOW_NS, None)


def test_a_wish_to_stop_ends_the_wait() -> None:
    machine = Machine([0.0, 0.9])
    cool_down = machine.cool_down()
    assert cool_down.before_trial() is None
    cool_down.after_trial(ran=True)
    machine.stopped = True
    assert cool_down.before_trial() == Pause(0, None)


def test_a_trial_that_did_not_run_is_not_waited_for() -> None:
    cool_down = Machine([0.0, 0.8]).cool_down()
    assert cool_down.before_trial() is None
    cool_down.after_trial(ran=False)
    assert cool_down.before_trial() is None
