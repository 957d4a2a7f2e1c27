"""``load --cluster``: one generator a node, a segment of one schedule each, one start, and the merge of the reports.

With ``--find``, a process of the engine chooses the steps, and each is sent in this way.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from httpdyno.cluster import node as node_code
from httpdyno.cluster.command_line import parse_cluster, refuse_options
from httpdyno.cluster.connection import Connection, await_ends, connect
from httpdyno.cluster.load_plan import (
    NEXT_LEAD_S,
    REFUSED,
    SILENT_S,
    START_LEAD_S,
    LoadWords,
    RunningSeconds,
    read_words,
    start_lead_s,
    step_words,
)
from httpdyno.cluster.screen import show_line
from httpdyno.errors import EngineFailed, Interrupted, NothingMeasured, UsageError
from httpdyno.lab.interruption import Interruption
from httpdyno.subjects.engine_program import find_engine

_PLACES_S: Final = 60.0
"""Longest wait for a free CPU on each node."""
_LAST_S: Final = 120.0
"""Longest time between the ends of the first and the last generator."""
_STOP_S: Final = 5.0
"""Longest wait for the end of generators that are stopped early."""
_REPORT: Final = "load-000000.json"


def load_on_cluster(words: Sequence[str]) -> int:
    """Send one load from all nodes and merge the reports; return the exit code of ``httpdyno load-merge``."""
    plan = read_words(words)
    # A search has no reports of generators to keep.
    refused = {"--no-store"} if plan.search is not None else set()
    refuse_options(words, {name: why for name, why in REFUSED.items() if name not in refused})
    cluster = parse_cluster(plan.cluster)
    engine = find_engine()
    _check(engine, plan)
    if plan.search is not None:
        with Interruption() as interruption, connect(cluster, interruption) as connection:
            return _search(connection, engine, plan, interruption)
    with tempfile.TemporaryDirectory(prefix="httpdyno-") as scratch:
        folder = Path(plan.out or scratch)
        with Interruption() as interruption, connect(cluster, interruption) as connection:
            reports = _send(connection, engine, plan, interruption)
        files = []
        for name, report in reports.items():
            (folder / name).mkdir(parents=True, exist_ok=True)
            files.append(folder / name / _REPORT)
            files[-1].write_bytes(report)
        merge = ["httpdyno", "load-merge", *map(str, files), *plan.merge]
        return subprocess.run(merge, executable=engine, stdin=subprocess.DEVNULL, check=False).returncode


def _check(engine: Path, plan: LoadWords) -> None:
    """Have the engine read its options before a cluster is started or joined."""
    words = [*plan.engine, "--segment", "1/2"] if plan.search is None else plan.search
    argv = ["httpdyno", "load", *words, "--dry-run"]
    tried = subprocess.run(
        argv,
        executable=engine,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if tried.returncode != 0:
        lines = tried.stderr.decode(errors="replace").strip().splitlines() or ["the engine refuses the options"]
        raise UsageError(lines[-1].removeprefix("httpdyno: "))


def _send(connection: Connection, engine: Path, plan: LoadWords, interruption: Interruption) -> dict[str, bytes]:
    """Run the generators; return their reports by node, in the order of the segments."""
    with _generators(connection, engine, interruption) as generators:
        return generators.send(plan.engine, start_lead_s(plan.engine), is_quiet=plan.is_quiet)


def _search(connection: Connection, engine: Path, plan: LoadWords, interruption: Interruption) -> int:
    """Send the steps that a process of ``--find`` proposes, from all nodes; return its exit code."""
    assert plan.search is not None
    with (
        _generators(connection, engine, interruption) as generators,
        tempfile.TemporaryDirectory(prefix="httpdyno-") as scratch,
        _proposing(engine, plan.search) as search,
    ):
        lead_s = START_LEAD_S
        for line in search.steps:
            words = [*plan.engine, *step_words(json.loads(line))]
            reports = generators.send(words, start_lead_s(words, lead_s), is_quiet=True)
            lead_s = NEXT_LEAD_S
            files = [Path(scratch) / name for name in reports]
            for file, report in zip(files, reports.values(), strict=True):
                file.write_bytes(report)
            with suppress(BrokenPipeError):
                print(json.dumps([str(file) for file in files]), file=search.reports, flush=True)
        return search.process.wait()


@dataclass(frozen=True, slots=True)
class _Search:
    """The process that chooses the steps of a search.

    Attributes
    ----------
    process : subprocess.Popen
        It prints the result.
    steps : text file
        A step a line, until the search has ended.
    reports : text file
        For each step a line with the files of its reports.
    """

    process: "subprocess.Popen[bytes]"
    steps: TextIO
    reports: TextIO


@contextmanager
def _proposing(engine: Path, words: Sequence[str]) -> Iterator[_Search]:
    """Start the process; it ends, with what it has found until then, when the reports end."""
    (steps, its_steps), (its_reports, reports) = os.pipe(), os.pipe()
    argv = ["httpdyno", "load", *words, "--find-steps", f"{its_steps}:{its_reports}"]
    with ExitStack() as own:
        opened = own.enter_context(os.fdopen(steps)), own.enter_context(os.fdopen(reports, "w"))
        try:
            # Descriptor 2 is closed to Ray's messages, and this one is not.
            process = subprocess.Popen(
                argv, executable=engine, stdin=subprocess.DEVNULL, stderr=sys.stderr, pass_fds=(its_steps, its_reports)
            )
        finally:
            os.close(its_steps)
            os.close(its_reports)
        try:
            yield _Search(process, *opened)
        finally:
            with suppress(BrokenPipeError):
                opened[1].close()
            process.wait()


@dataclass(frozen=True, slots=True)
class _Generators:
    """A place on each node, as its id and Ray's strategy, and the clock of this machine."""

    connection: Connection
    places: list[tuple[str, Any]]
    clock: str
    interruption: Interruption

    def send(self, words: Sequence[str], lead_s: float, *, is_quiet: bool) -> dict[str, bytes]:
        """Send one load; return the reports by node, in the order of the segments."""
        ray, tasks, start = self.connection.ray, {}, time.time() + lead_s
        pids: dict[int, int] = {}
        for number, (node, strategy) in enumerate(self.places, 1):
            own = ["--segment", f"{number}/{len(self.places)}", "--start-at", f"{start:.6f}", "--clock", self.clock]
            run = ray.remote(num_cpus=1, max_retries=0)(node_code.run_segment).options(scheduling_strategy=strategy)
            tasks[run.remote(["load", *words, *own], self.connection.folder)] = (
                number,
                self.connection.names[node],
            )
        try:
            return _collect(ray, tasks, pids, self.interruption, is_quiet=is_quiet)
        finally:
            # A task removes its files at the end of its generator; a killed one would leave them.
            for number, _ in tasks.values():
                if (pid := pids.get(number)) and (node := self.places[number - 1][0]) in self.connection.cpus():
                    self.connection.on_node(node_code.stop, node, cpus=0).remote(pid, self.clock)
            await_ends(ray, tasks, _STOP_S)


@contextmanager
def _generators(connection: Connection, engine: Path, interruption: Interruption) -> Iterator[_Generators]:
    """Reserve a CPU on each of the nodes, and serve the clock."""
    count = len(connection.cpus())
    if count < 2:
        raise UsageError(
            "needs two nodes or more; leave it out to load from this machine", option="--cluster", joint=" "
        )
    address = connection.ray.util.get_node_ip_address()
    with _places(count, interruption) as places, _clock(engine, address) as clock:
        yield _Generators(connection, places, clock, interruption)


@contextmanager
def _places(count: int, interruption: Interruption) -> Iterator[list[tuple[str, Any]]]:
    """Reserve a CPU on each of the nodes; yield the id and the strategy of each."""
    from ray.util import placement_group, placement_group_table, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

    group = placement_group([{"CPU": 1}] * count, strategy="STRICT_SPREAD")
    try:
        with interruption.at_once("a CPU was reserved on each node"):
            is_reserved = group.wait(_PLACES_S)
        if not is_reserved:
            raise UsageError(f"no free CPU on each of {count} nodes within {_PLACES_S:.0f} s", option="--cluster")
        nodes = placement_group_table(group)["bundles_to_node_id"]
        yield [
            (nodes[place], PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=place))
            for place in range(count)
        ]
    finally:
        remove_placement_group(group)


@contextmanager
def _clock(engine: Path, address: str) -> Iterator[str]:
    """Serve this machine's clock; yield its URL."""
    argv = ["httpdyno", "clock", "--listen", f"[{address}]:0" if ":" in address else f"{address}:0"]
    with subprocess.Popen(
        argv, executable=engine, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stderr is not None
            line = process.stderr.readline().strip()
            if not line.startswith("clock on "):
                raise EngineFailed(f"the clock of this machine cannot be served: {line}")
            yield line.removeprefix("clock on ")
        finally:
            process.terminate()


def _collect(
    ray: Any,  # noqa: ANN401
    tasks: dict[Any, tuple[int, str]],
    pids: dict[int, int],
    interruption: Interruption,
    *,
    is_quiet: bool,
) -> dict[str, bytes]:
    """Take processes, seconds and reports; raise ``NothingMeasured`` if a generator is lost, late or stuck."""
    seconds, reports = RunningSeconds(len(tasks)), {}
    first_end_s = None
    while tasks:
        if interruption.requested:
            raise Interrupted("interrupted; the load of all generators was ended")
        _require_progress(seconds, dict(tasks.values()), first_end_s)
        for task in ray.wait(list(tasks), num_returns=1, timeout=node_code.REPORT_S)[0]:
            generator = tasks[task]
            try:
                found = ray.get(next(task))
            except (ray.exceptions.RayError, StopIteration) as error:
                raise NothingMeasured(
                    f"{_named(generator)} was lost, so that the load was a lower one; repeat it"
                ) from error
            if "pid" in found:
                pids[generator[0]] = found["pid"]
                continue
            if "second" in found:
                line = seconds.add(generator[0], json.loads(found["second"]))
                if line is not None and not is_quiet and sys.stderr.isatty():
                    show_line(line)
                continue
            if found["report"] is None:
                raise NothingMeasured(
                    f"{_named(generator)} sent nothing (exit code {found['exit_code']}): {found['line']}"
                )
            first_end_s = first_end_s or time.monotonic()
            reports[generator] = found["report"]
            del tasks[task]
    return {name: report for (_, name), report in sorted(reports.items())}


def _require_progress(seconds: RunningSeconds, names: dict[int, str], first_end_s: float | None) -> None:
    """Raise ``NothingMeasured`` with the name of a generator that is silent, or that does not end with the others."""
    if (silent := seconds.silent(names)) is not None:
        raise NothingMeasured(
            f"{_named((silent, names[silent]))} reported nothing for {SILENT_S:.0f} s, so that the load was a lower"
            " one; repeat it"
        )
    if first_end_s is not None and time.monotonic() - first_end_s > _LAST_S:
        stuck = _named(next(iter(names.items())))
        raise NothingMeasured(f"{stuck} did not end within {_LAST_S:.0f} s after the first one; repeat the load")


def _named(generator: tuple[int, str]) -> str:
    return f"generator {generator[0]} on {generator[1]}"
