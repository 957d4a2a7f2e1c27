"""Rounds in random order, measured programs, stored results."""

import os
import random
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.errors import InvalidValue, NothingMeasured
from ratios import processes
from ratios.case import Case, Measured
from ratios.cases import CASES
from ratios.figures import Column, Target
from ratios.interleave import interleave
from ratios.place import Place, check_cpus, usable_cpus
from ratios.processes import Server, run_pinned
from ratios.quiet import disturbance
from ratios.results import Result, read_results, result_of, save
from ratios.wording import plain, with_results

CPU = min(usable_cpus())


def place(tmp_path: Path, rounds: int = 5) -> Place:
    return Place(Path("engine"), tmp_path, (0,), (1,), rounds, 1, random.Random(7))


def test_every_round_runs_everybody_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    order: list[str] = []

    def runs(name: str) -> Mapping[str, float]:
        order.append(name)
        return {"speed": 1.0}

    competitors = {name: lambda name=name: runs(name) for name in "abcd"}
    rounds = interleave(place(tmp_path, 20), competitors, notes=[], tell=lambda _: None)
    blocks = ["".join(order[start : start + 4]) for start in range(0, 80, 4)]
    assert {"".join(sorted(block)) for block in blocks} == {"abcd"}
    assert len(set(blocks)) > 4
    assert [list(measured) for measured in rounds] == [list("abcd")] * 20


def test_who_fails_is_out_of_the_round_and_said_once(tmp_path: Path) -> None:
    def fails() -> Mapping[str, float]:
        raise NothingMeasured("b: refused")

    notes: list[str] = []
    rounds = interleave(place(tmp_path), {"a": lambda: {"x": 1.0}, "b": fails}, notes=notes, tell=lambda _: None)
    assert rounds == ({"a": {"x": 1.0}},) * 5
    assert notes == ["b: refused"]


def test_a_program_is_charged_for_its_own_cpu_time(tmp_path: Path) -> None:
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    idle = "import time; time.sleep(0.3)"
    worked, slept = (run_pinned([sys.executable, "-c", code], cpus=[CPU], scratch=tmp_path) for code in (busy, idle))
    assert worked.cpu_s >= 0.29
    # A sleeping program uses no CPU, however slow it is before and after.
    assert slept.cpu_s <= slept.elapsed_s - 0.29


def test_memory_is_the_program_s_own_and_not_that_of_its_parent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = b"x" * (200 << 20)
    seen = tmp_path / "seen"
    look = processes._high_water_bytes

    def look_and_say(pid: int) -> int:
        found = look(pid)
        if found > 30 << 20:
            seen.touch()
        return found

    monkeypatch.setattr(processes, "_high_water_bytes", look_and_say)
    waits = f"while not os.path.exists({str(seen)!r}): time.sleep(0.01)"
    code = f"import os, time; held = b'x' * (30 << 20)\n{waits}"
    ended = run_pinned([sys.executable, "-c", code], cpus=[CPU], scratch=tmp_path)
    assert 30 << 20 < ended.peak_memory_bytes < len(held)


def test_a_program_that_fails_or_hangs_is_refused_in_one_line(tmp_path: Path) -> None:
    code = "import sys; print('no such host\\nTraceback', file=sys.stderr); sys.exit(3)"
    with pytest.raises(NothingMeasured, match="ended with exit status 3, saying: no such host$"):
        run_pinned([sys.executable, "-c", code], cpus=[CPU], scratch=tmp_path)
    with pytest.raises(NothingMeasured, match=r"did not end within 0.2 s"):
        run_pinned(["sleep", "60"], cpus=[CPU], scratch=tmp_path, longest_s=0.2)


def test_a_server_is_charged_while_it_runs_and_gone_afterwards(tmp_path: Path) -> None:
    code = "import os, threading\nprint(os.getpid(), flush=True)\nwhile True: pass"
    with Server([sys.executable, "-c", code], cpus=[CPU], scratch=tmp_path) as server:
        while not server.said():
            time.sleep(0.01)
        pid, first = int(server.said()), server.cpu_s()
        while server.cpu_s() < first + 0.05:
            time.sleep(0.01)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_server_that_has_ended_is_named_with_what_it_said(tmp_path: Path) -> None:
    with Server(["sh", "-c", "echo port taken >&2; exit 1"], cpus=[CPU], scratch=tmp_path) as server:
        while not server.said():
            time.sleep(0.01)
        with pytest.raises(NothingMeasured, match="port taken"):
            ask_until_it_has_ended(server)


def ask_until_it_has_ended(server: Server) -> None:
    """Read its time again and again; the time limit of the test ends a program that never ends."""
    while True:
        server.cpu_s()
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("server", "client", "said"),
    [((0,), (9,), "CPU 9 cannot be used here; usable are 0, 1"), ((0, 1), (1,), "CPU 1 cannot be the server's")],
)
def test_cpus_that_cannot_be_had_are_refused(server: tuple[int, ...], client: tuple[int, ...], said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        check_cpus(server, client, {0, 1})


def test_a_busy_machine_is_said() -> None:
    assert disturbance({0: 0.01, 1: 0.05}) is None
    assert "CPU 1 60%" in (disturbance({0: 0.01, 1: 0.6}) or "")


def result() -> Result:
    case = Case(
        name="speed",
        title="Speed",
        setting="Something is timed.",
        columns=(Column("speed", "per s"), Column("memory", "MiB", 1)),
        targets=(Target("ours", "speed", "theirs", at_least=1.5), Target("ours", "memory", at_most=10)),
        measure=lambda _: Measured(()),
    )
    measured = Measured(
        tuple({"ours": {"speed": 3000.0 + step, "memory": 11.0}, "theirs": {"speed": 1500.0}} for step in range(5)),
        {"theirs": "4.1"},
        ("something was odd",),
    )
    return result_of(case, measured, at="2026-01-01T00:00Z", disturbance=None)


def test_results_are_kept_and_read_again(tmp_path: Path) -> None:
    kept, path = result(), tmp_path / "folder" / "ratios.json"
    save({"speed": kept}, path)
    assert read_results(path, {"speed": kept.case}) == {"speed": kept}
    assert read_results(path, {}) == {}
    assert read_results(tmp_path / "none.json", {}) == {}
    path.write_text('{"version": 1}')
    with pytest.raises(InvalidValue, match=r"ratios\.json: is not a file of results"):
        read_results(path, {})


PAGE = """\
# Performance
<!-- generated: promises -->
<!-- end: promises -->
Why.
<!-- generated: cases -->
<!-- end: cases -->
"""


def test_the_page_and_the_terminal_say_the_same() -> None:
    shown, written = plain(result()), with_results(PAGE, [result()], [result().case])
    for text in (shown, written):
        assert "3,002 [3,000 - 3,004]" in text
        assert "2.00 [2.00 - 2.00]" in text
        assert "ours / theirs: per s" in text
        assert "something was odd" in text
    assert "| ours: MiB | 11.0 [11.0 - 11.0] | <= 10 | **missed** |" in written
    assert "missed" in shown
    assert "**" not in shown


def test_the_page_is_renewed_and_what_people_wrote_stays() -> None:
    once = with_results(PAGE, [result()], [result().case])
    assert with_results(once, [result()], [result().case]) == once
    assert "\nWhy.\n" in once
    promises = once.partition("<!-- end: promises -->")[0]
    assert " | 11.0 [11.0 - 11.0] | <= 10 | **missed** | 2026-01-01 |" in promises
    assert f"| [{result().case.title}](#" in promises
    assert once.count(f"### {result().case.title}\n") == 1
    with pytest.raises(ValueError, match="generated: cases"):
        with_results(PAGE.replace("cases", "none"), [], [])


def test_what_the_page_says_of_a_case_that_was_not_measured_here_stays() -> None:
    first, last = result(), result()
    last = replace(last, case=replace(last.case, title="Another"))
    whole = with_results(PAGE, [first, last], [first.case, last.case])
    assert with_results(whole, [], [first.case, last.case]) == whole
    assert with_results(whole, [last], [first.case, last.case]) == whole
    newer = with_results(whole, [replace(first, at="2027-01-01T00:00Z")], [first.case, last.case])
    assert newer.count("2027-01-01") == whole.count("2026-01-01") / 2 == newer.count("2026-01-01")
    assert [line for line in newer.splitlines() if "###" in line] == [f"### {first.case.title}", "### Another"]


def test_every_target_is_of_a_figure_that_its_case_has() -> None:
    for case in CASES.values():
        columns = {column.name for column in case.columns}
        assert {target.figure for target in case.targets} <= columns, case.name
