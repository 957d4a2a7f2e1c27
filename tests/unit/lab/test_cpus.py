"""Time in which CPUs ran no program."""

from pathlib import Path

import pytest

from httpdyno.lab.machine_use import without_program_s

STAT = """cpu  600 0 300 5000 40 1 60 0 0 0
cpu0 100 0 100 1000 10 0 20 0 0 0
cpu1 200 0 100 2000 20 1 30 0 0 0
cpu10 300 0 100 2000 10 0 10 0 0 0
intr 12 0
ctxt 5
"""


@pytest.mark.parametrize(("cpus", "seconds"), [({0}, 10.3), ({1}, 20.51), ({0, 1}, 30.81), ({10}, 20.2), ({7}, 0.0)])
def test_idle_waiting_and_interrupts_count(cpus: set[int], seconds: float, tmp_path: Path) -> None:
    (tmp_path / "stat").write_text(STAT, encoding="ascii")
    assert without_program_s(cpus, proc=tmp_path, ticks_per_s=100) == pytest.approx(seconds)


def test_this_machine_tells() -> None:
    assert without_program_s({0, 1, 2, 3}) > 0
