"""A CPU that is kept awake does not sleep, is free for every program, and sleeps again afterwards."""

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from httpdyno.lab.cpus import kept_awake, pinned
from httpdyno.lab.machine_use import without_program_s

from .conftest import wait_until

LONG_S = 0.5
BUSY = f"import time\nend = time.monotonic() + {LONG_S}\nwhile time.monotonic() < end: pass"


def children_cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def children() -> set[str]:
    return set(Path(f"/proc/self/task/{os.getpid()}/children").read_text(encoding="ascii").split())


def test_a_process_that_keeps_a_cpu_awake_is_bound_to_it_gives_way_and_ends() -> None:
    cpu, before = max(os.sched_getaffinity(0)), children()
    with kept_awake({cpu}):
        (keeper,) = map(int, children() - before)
        wait_until(lambda: os.sched_getscheduler(keeper) == os.SCHED_IDLE, lambda: "it does not give way")
        assert os.sched_getaffinity(keeper) == {cpu}
    assert children() == before


@pytest.mark.measured
def test_a_cpu_that_is_kept_awake_does_not_sleep() -> None:
    cpu = max(os.sched_getaffinity(0))
    with kept_awake({cpu}):
        time.sleep(0.2)
        slept_s = without_program_s({cpu})
        time.sleep(LONG_S)
        slept_s = without_program_s({cpu}) - slept_s
    assert slept_s < LONG_S / 5


@pytest.mark.measured
def test_who_wants_a_cpu_that_is_kept_awake_has_it() -> None:
    cpu = max(os.sched_getaffinity(0))
    before_s = children_cpu_s()
    with pinned({cpu}):
        subprocess.run([sys.executable, "-I", "-S", "-c", BUSY], check=True)
    alone_s = children_cpu_s() - before_s
    with kept_awake({cpu}), pinned({cpu}):
        time.sleep(0.2)
        before_s = children_cpu_s()
        subprocess.run([sys.executable, "-I", "-S", "-c", BUSY], check=True)
        beside_s = children_cpu_s() - before_s
    assert beside_s > 0.9 * alone_s
