"""``load --cluster``: one generator a node, a segment of one schedule each, one start, and the merge of the reports."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from httpdyno.cluster import node as node_code
from httpdyno.cluster.command_line import parse_cluster, refuse_options
from httpdyno.cluster.connection import Connection, connect
from httpdyno.cluster.load_plan import REFUSED, SILENT_S, LoadWords, RunningSeconds, read_words, start_lead_s
from httpdyno.cluster.screen import show_line
from httpdyno.errors import EngineFailed, Interrupted, NothingMeasured, UsageError
from httpdyno.lab.interruption import Interruption
from httpdyno.subjects.engine_program import find_engine

_PLACES_S: Final = 60.0
"""Longest wait for a free CPU on each node."""
_LAST_S: Final = 120.0
"""Longest time between the ends of the first and the last generator."""
_REPORT: Final = "load-000000.json"


def load_on_cluster(words: Sequence[str]) -> int:
    """Send one load from all nodes and merge the reports; return the exit code of ``httpdyno load-merge``."""
    refuse_options(words, REFUSED)
    plan = read_words(words)
    cluster = parse_cluster(plan.cluster)
    engine = find_engine()
    _check(engine, plan)
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
    argv = ["httpdyno", "load", *plan.engine, "--segment", "1/2", "--dry-run"]
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
    ray, count = connection.ray, len(connection.cpus())
    if count < 2:
        raise UsageError(
            "needs two nodes or more; leave it out to load from this machine", option="--cluster", joint=" "
        )
    with _places(connection, count, interruption) as places, _clock(engine, ray.util.get_node_ip_address()) as clock:
        start = time.time() + start_lead_s(plan.engine)
        tasks = {}
        for number, (name, strategy) in enumerate(places, 1):
            own = ["--segment", f"{number}/{count}", "--start-at", f"{start:.6f}", "--clock", clock]
            run = ray.remote(num_cpus=1, max_retries=0)(node_code.run_segment).options(scheduling_strategy=strategy)
            tasks[run.remote(["load", *plan.engine, *own], connection.folder)] = (number, name)
        return _collect(ray, tasks, interruption, is_quiet=plan.is_quiet)


@contextmanager
def _places(connection: Connection, count: int, interruption: Interruption) -> Iterator[list[tuple[str, Any]]]:
    """Reserve a CPU on each of the nodes; yield the name and the strategy of each."""
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
            (
                connection.names[nodes[place]],
                PlacementGroupSchedulingStrategy(group, placement_group_bundle_index=place),
            )
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
    interruption: Interruption,
    *,
    is_quiet: bool,
) -> dict[str, bytes]:
    """Take seconds and reports; raise ``NothingMeasured`` with the name of a generator that is lost, late or stuck."""
    seconds, reports = RunningSeconds(len(tasks)), {}
    first_end_s = None
    while tasks:
        if interruption.requested:
            raise Interrupted("interrupted; the load of all generators was ended")
        names = dict(tasks.values())
        if (silent := seconds.silent(names)) is not None:
            raise NothingMeasured(
                f"{_named((silent, names[silent]))} reported nothing for {SILENT_S:.0f} s, so that the load was a lower"
                " one; repeat it"
            )
        if first_end_s is not None and time.monotonic() - first_end_s > _LAST_S:
            stuck = _named(next(iter(tasks.values())))
            raise NothingMeasured(f"{stuck} did not end within {_LAST_S:.0f} s after the first one; repeat the load")
        for task in ray.wait(list(tasks), num_returns=1, timeout=node_code.REPORT_S)[0]:
            generator = tasks[task]
            try:
                found = ray.get(next(task))
            except (ray.exceptions.RayError, StopIteration) as error:
                raise NothingMeasured(
                    f"{_named(generator)} was lost, so that the load was a lower one; repeat it"
                ) from error
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


def _named(generator: tuple[int, str]) -> str:
    return f"generator {generator[0]} on {generator[1]}"
