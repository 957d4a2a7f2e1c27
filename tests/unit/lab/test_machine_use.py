"""How busy a machine is, from the counters of its kernel."""

import os
from pathlib import Path

from httpdyno.lab.machine_use import MachineUse, Snapshot, take_snapshot, use_between

STAT = """cpu  300 0 100 1000 50 0 0 0 0 0
cpu0 100 10 50 500 20 1 2 3 40 0
cpu1 200 0 50 500 30 0 0 0 0 0
intr 12345
"""
SOCKSTAT = "sockets: used 17\nTCP: inuse 1 orphan 4 tw 7 alloc 2296 mem 68\nUDP: inuse 0 mem 0\n"
PRESSURE = "some avg10=56.01 avg60=35.61 avg300=18.14 total={}\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=1\n"


def proc(folder: Path) -> Path:
    (folder / "net").mkdir()
    (folder / "pressure").mkdir()
    (folder / "stat").write_text(STAT)
    (folder / "net" / "sockstat").write_text(SOCKSTAT)
    (folder / "pressure" / "io").write_text(PRESSURE.format(77))
    (folder / "pressure" / "memory").write_text(PRESSURE.format(88))
    return folder


def test_the_kernel_is_read(tmp_path: Path) -> None:
    taken = take_snapshot({0}, proc=proc(tmp_path), clock_ns=lambda: 5)
    # Guest time is part of user time already: it is not counted twice.
    assert taken == Snapshot(5, {0: (166, 686)}, {"io": 77, "memory": 88}, 4)


def test_what_a_kernel_does_not_say_is_absent(tmp_path: Path) -> None:
    assert take_snapshot({0}, proc=tmp_path, clock_ns=lambda: 5) == Snapshot(5, {})


def test_this_machine_can_be_read() -> None:
    cpus = os.sched_getaffinity(0)
    taken = take_snapshot(cpus)
    assert set(taken.ticks) == cpus
    assert all(0 <= busy <= total > 0 for busy, total in taken.ticks.values())


def test_two_snapshots_make_shares() -> None:
    before = Snapshot(0, {0: (10, 100), 1: (5, 100), 2: (0, 0)}, {"io": 0, "memory": 10}, 9)
    after = Snapshot(10**9, {0: (60, 200), 1: (5, 100)}, {"io": 250_000, "memory": 9_000_000}, 2)
    assert use_between(before, after) == MachineUse({0: 0.5, 1: 0.0}, {"io": 0.25, "memory": 1.0}, 2)


def test_no_time_between_two_snapshots_divides_nothing_by_zero() -> None:
    one = Snapshot(0, {0: (10, 100)}, {"io": 0})
    assert use_between(one, one) == MachineUse({0: 0.0}, {"io": 0.0})
