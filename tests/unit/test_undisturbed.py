"""A failure counts where the test had its CPUs, and only there."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import undisturbed_command
from undisturbed import ATTEMPTS, CpuTicks, read_ticks, skip_unmeasured, until_undisturbed

STAT = """cpu  40 0 0 160 0 0 0 200 9 9
cpu0 10 1 2 3 4 5 6 7 8 9
cpu1 10 0 0 70 0 0 0 20 0 0
cpu10 1 1 1 1 1 1 1 1 1 1
intr 5
"""


def test_steal_is_read_of_the_named_cpus() -> None:
    assert read_ticks(STAT, {0}) == CpuTicks(stolen=7, all=38)
    assert read_ticks(STAT, {0, 1}) == CpuTicks(stolen=27, all=138)
    assert CpuTicks(27, 138).share_since(CpuTicks(7, 38)) == 0.2
    assert CpuTicks(5, 9).share_since(CpuTicks(5, 9)) == 0


def attempts(*outcomes: tuple[bool, int], took_s: float = 1.0) -> tuple[list[bool], float, int]:
    """Run a test whose attempts pass or not, while so many of a hundred ticks are stolen; give what came of it."""
    following, counted, waits = iter(outcomes), [CpuTicks(0, 0)], []

    def once() -> Sequence[Any]:
        passed, stolen = next(following)
        counted.append(CpuTicks(counted[-1].stolen + stolen, counted[-1].all + 100))
        return [SimpleNamespace(failed=False), SimpleNamespace(failed=not passed)]

    reports, stolen = until_undisturbed(
        once, ticks=lambda: counted[-1], wait=lambda: waits.append(1), clock=lambda: took_s * (len(counted) - 1)
    )
    return [not report.failed for report in reports], stolen, len(counted) - 1


@pytest.mark.parametrize(
    ("outcomes", "passed", "stolen", "runs"),
    [
        ([(True, 0)], True, 0, 1),
        ([(True, 90)], True, 0, 1),
        ([(False, 0)], False, 0, 1),
        ([(False, 1)], False, 0.01, 1),
        ([(False, 30), (True, 30)], True, 0, 2),
        ([(False, 30), (False, 0)], False, 0, 2),
        ([(False, 30)] * ATTEMPTS, False, 0.3, ATTEMPTS),
        ([(False, 30), (False, 6), (False, 20), (False, 9)], False, 0.06, ATTEMPTS),
    ],
)
def test_what_failed_while_cpus_were_stolen_is_run_again(
    outcomes: list[tuple[bool, int]], passed: bool, stolen: float, runs: int
) -> None:
    assert attempts(*outcomes) == ([True, passed], stolen, runs)


def test_what_takes_long_is_not_run_for_ever() -> None:
    assert attempts((False, 30), (False, 30), (True, 0), took_s=200)[2] == 2


@pytest.mark.parametrize(("stolen", "passes_at", "code", "runs"), [(30, 2, 0, 2), (30, 9, 7, ATTEMPTS), (0, 2, 7, 1)])
def test_a_command_is_run_again_alike(tmp_path: Path, stolen: int, passes_at: int, code: int, runs: int) -> None:
    done = tmp_path / "done"
    program = f'echo >> "{done}"; [ $(wc -l < "{done}") -ge {passes_at} ] || exit 7'
    counted = (CpuTicks(stolen * read, 100 * read) for read in range(99))
    got = undisturbed_command.run(["sh", "-c", program], ticks=lambda: next(counted), wait=lambda: None)
    assert (got, len(done.read_text().splitlines())) == (code, runs)


def test_only_what_never_had_its_cpus_is_skipped() -> None:
    for stolen, outcome in ((0.0, "failed"), (0.04, "failed"), (0.06, "skipped")):
        report: Any = SimpleNamespace(failed=True, outcome="failed", longrepr="off", location=("test_it.py", 7, "test"))
        fine: Any = SimpleNamespace(failed=False, outcome="passed", longrepr=None)
        skip_unmeasured([fine, report], stolen)
        assert (fine.outcome, report.outcome) == ("passed", outcome)
    assert report.longrepr[:2] == ("test_it.py", 8)
    assert "took 6% or more of this test's CPUs" in report.longrepr[2]
