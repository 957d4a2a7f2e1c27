"""Other programs on the CPU: of made-up processes, and of this machine's."""

import os
from pathlib import Path

import pytest

from httpdyno.lab.machine_use import Process, busiest, read_processes
from httpdyno.model import ProgramUse

TICK_NS = 10**9 // os.sysconf("SC_CLK_TCK")
OWN = 100
BEFORE = {
    1: Process("init", 0, 50, 0),
    2: Process("kthreadd", 0, 0, 0),
    3: Process("ksoftirqd/0", 2, 10, 0),
    OWN: Process("python3", 1, 70, 5),
    101: Process("engine", OWN, 30, 6),
    200: Process("make", 1, 10, 5),
    201: Process("cc1", 200, 40, 6),
}


def uses(after: dict[int, Process]) -> list[tuple[str, int]]:
    found = busiest(BEFORE, BEFORE | after, own=OWN)
    assert all(isinstance(use, ProgramUse) for use in found)
    return [(use.name, use.cpu_ns // TICK_NS) for use in found]


@pytest.mark.parametrize(
    ("after", "used"),
    [
        ({}, []),
        ({201: Process("cc1", 200, 90, 6)}, [("cc1", 50)]),
        ({OWN: Process("python3", 1, 900, 5), 101: Process("engine", OWN, 700, 6)}, []),
        ({102: Process("client", 101, 400, 8)}, []),
        ({3: Process("ksoftirqd/0", 2, 90, 0)}, []),
        ({300: Process("cc1", 200, 25, 9), 201: Process("cc1", 200, 50, 6)}, [("cc1", 35)]),
        ({201: Process("other", 1, 7, 99), 200: Process("make", 1, 90, 5)}, [("make", 40), ("other", 7)]),
        ({number: Process(f"p{number}", 1, number, 9) for number in (301, 302, 303, 304)},
         [("p304", 304), ("p303", 303), ("p302", 302)]),
    ],
)  # fmt: skip
def test_the_busiest_are_named_without_our_own_and_the_kernels(
    after: dict[int, Process], used: list[tuple[str, int]]
) -> None:
    assert uses(after) == used


def test_earlier_cpu_time_of_an_ended_child_is_not_counted() -> None:
    after = {number: process for number, process in BEFORE.items() if number != 201}
    after[200] = Process("make", 1, 10 + 60, 5)  # the child's 40 of before, and 20 since
    assert busiest(BEFORE, after, own=OWN) == (ProgramUse("make", 20 * TICK_NS),)
    before = {**BEFORE, 202: Process("as", 201, 7, 8)}
    after[200] = Process("make", 1, 10 + 67, 5)  # that of the child's child, too
    assert busiest(before, after, own=OWN) == (ProgramUse("make", 20 * TICK_NS),)


def test_the_processes_of_this_machine_are_read() -> None:
    own = read_processes()[os.getpid()]
    assert own.parent == os.getppid()
    assert own.ticks >= 0


def test_a_name_may_hold_brackets_and_spaces(tmp_path: Path) -> None:
    fields = " ".join(["S", "1", *["0"] * 9, "3", "4", "5", "6", *["0"] * 4, "77"])
    (tmp_path / "12").mkdir()
    (tmp_path / "12" / "stat").write_text(f"12 (tmux: (a) b) {fields}\n")
    (tmp_path / "13").mkdir()
    (tmp_path / "self").mkdir()
    assert read_processes(tmp_path) == {12: Process("tmux: (a) b", 1, 18, 77)}
