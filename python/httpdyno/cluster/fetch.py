"""``fetch --cluster``: a task for each shard of a list, repeated elsewhere when it fails, and the merge of all.

A shard for which free CPUs would wait long is divided, if the nodes share the folder of the crawl.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from httpdyno.cluster import node as node_code
from httpdyno.cluster.command_line import last_value, parse_cluster, refuse_options, take_options
from httpdyno.cluster.connection import Connection, await_ends, connect
from httpdyno.cluster.crawl_progress import CrawlProgress
from httpdyno.cluster.placement import FEW_URLS, Placement, ShardKey, Verdict, numbered
from httpdyno.cluster.screen import show_line
from httpdyno.errors import Interrupted, NothingMeasured, StorageFull, UsageError
from httpdyno.lab.interruption import Interruption
from httpdyno.subjects.engine_program import find_engine

_REFUSED: Final = {
    "--shard": "it fetches all shards; leave it out",
    "--shard-seed": "the list is split already; leave it out",
    "--resume": "the same command continues the crawl; leave it out",
    "--divide": "a slow shard is divided when CPUs are free; leave it out",
    "--report": "the merge writes report.json into the folder of --into; leave it out",
    "--progress": "the figures of all nodes are one line; leave it out",
}
_SCREEN_S: Final = 1.0
_LINE_S: Final = 60.0
"""Interval of the progress line on a terminal, and in a file."""
_STOPPED: Final = 128 + signal.SIGTERM
_ANSWER_S: Final = 10.0
"""Longest wait for an answer of a node about its folders, and for the end of a stopped fetch."""


@dataclass(frozen=True, slots=True)
class ListShards:
    """The shards of a list.

    Attributes
    ----------
    manifest : Path
        The manifest of ``httpdyno split``.
    urls : dict of int to int
        Number of URLs by number of the shard.
    """

    manifest: Path
    urls: dict[int, int]


@dataclass(slots=True)
class _Crawl:
    """A running crawl: the tasks that run, and where their shards are."""

    connection: Connection
    placement: Placement
    progress: CrawlProgress
    words: Sequence[str]
    lists: Path
    into: Path
    of: int
    is_quiet: bool
    tasks: dict[Any, ShardKey] = field(default_factory=dict)
    pids: dict[ShardKey, int] = field(default_factory=dict)
    stopped: dict[ShardKey, int] = field(default_factory=dict)
    """Number of parts of each shard that is stopped to be divided, or that could not be."""
    rests: dict[int, int] = field(default_factory=dict)
    """Number of parts of the rest of each divided shard."""

    def name(self, shard: ShardKey) -> str:
        """Return the name of the folder of a shard."""
        of = self.rests[shard.number] if shard.part else self.of
        return f"shard-{shard.part or shard.number:05}-of-{of:05}"

    def rest(self, number: int) -> Path:
        """Return the folder of the rest of a shard: a list of its own, and the crawl of it."""
        return self.into / f"rest-of-{self.name(ShardKey(number))}"

    def folder(self, shard: ShardKey) -> Path:
        """Return the folder of a shard that is done."""
        return (self.rest(shard.number) if shard.part else self.into) / self.name(shard)

    def part(self, shard: ShardKey) -> Path:
        """Return the folder of a shard that is not done."""
        folder = self.folder(shard)
        return folder.with_name(f".{folder.name}.part")

    def command(self, shard: ShardKey) -> list[str]:
        """Return the words of the command for a shard."""
        of = self.rests[shard.number] if shard.part else self.of
        lists, into = (self.rest(shard.number),) * 2 if shard.part else (self.lists, self.into)
        folders = ["--from", str(lists), "--into", str(into)]
        return ["fetch", *self.words, *folders, "--shard", f"{shard.part or shard.number}/{of}"]


def fetch_on_cluster(words: Sequence[str]) -> int:
    """Fetch all shards of ``--from`` into ``--into`` and merge them; return the exit code of ``httpdyno merge``."""
    refuse_options(words, _REFUSED)
    others, values = take_options(words, {"--cluster": None, "--from": None, "--into": None, "--output": "o"})
    cluster = parse_cluster(last_value(values, "--cluster") or "")
    lists, into, output = (last_value(values, name) for name in ("--from", "--into", "--output"))
    if lists is None or into is None:
        raise UsageError(
            "needs --from LISTS (a folder of httpdyno split) and --into FOLDER", option="--cluster", joint=" "
        )
    is_quiet = any(word in ("-q", "--quiet") for word in others)
    others = [word for word in others if word not in ("-q", "--quiet")]
    if output is not None and (Path(output).is_dir() or not Path(output).absolute().parent.is_dir()):
        raise UsageError("is no file in an existing folder; name one", option=f"-o {output}")
    shards = read_shards(Path(lists))
    urls = {ShardKey(number): urls for number, urls in shards.urls.items()}
    with Interruption() as interruption, connect(cluster, interruption, shards.manifest) as connection:
        crawl = _Crawl(
            connection,
            Placement(urls, connection.cpus()),
            CrawlProgress(urls, connection.names),
            others,
            Path(lists).absolute(),
            Path(into).absolute(),
            len(urls),
            is_quiet,
        )
        _add_rests(crawl)
        try:
            _fetch_all(crawl, interruption)
        finally:
            _stop_all(crawl)
        _print_summary(crawl)
    _require_all(crawl)
    merge = ["httpdyno", "merge", into, *([] if output is None else ["-o", output])]
    return subprocess.run(merge, executable=find_engine(), stdin=subprocess.DEVNULL, check=False).returncode


def read_shards(lists: Path) -> ListShards:
    """Read the manifest of a split list; raise ``UsageError`` if it cannot be read."""
    manifest = lists / "split.json"
    cure = "name a folder that httpdyno split has written"
    try:
        split = json.loads(manifest.read_bytes())
        urls = {int(shard["number"]): int(shard["urls"]) for shard in split["shards"]}
        if sorted(urls) != list(range(1, int(split["of"]) + 1)):
            raise ValueError("its shards are not numbered from 1 to their number")
    except OSError as error:
        raise UsageError(f"{manifest}: {error.strerror}; {cure}", option="--from", joint=" ") from error
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"{manifest}: the manifest is damaged: {error!r}; {cure}", option="--from", joint=" "
        ) from error
    return ListShards(manifest.absolute(), urls)


def _add_rests(crawl: _Crawl) -> None:
    """Add what an earlier command has divided."""
    for shard in list(crawl.placement.urls):
        _add_rest(crawl, shard)


def _add_rest(crawl: _Crawl, shard: ShardKey) -> None:
    """Add the rest of a shard that is done, if it was divided."""
    manifest = crawl.folder(shard) / "manifest.json"
    if manifest.is_file() and json.loads(manifest.read_bytes()).get("rest"):
        rest = read_shards(crawl.rest(shard.number)).urls
        crawl.rests[shard.number] = len(rest)
        crawl.placement.divide(shard, rest)


def _fetch_all(crawl: _Crawl, interruption: Interruption) -> None:
    """Run tasks until each shard is done or given up; raise ``UsageError`` if the engine refuses the command."""
    ray = crawl.connection.ray
    shown_s = time.monotonic()
    while not crawl.placement.is_ended:
        if interruption.requested:
            raise Interrupted("interrupted; the same command continues the crawl")
        _use_nodes(crawl)
        _start_tasks(crawl)
        _stop_straggler(crawl)
        if not crawl.tasks:
            raise NothingMeasured(
                "--cluster: no node with a CPU for tasks is left; the same command continues the crawl"
            )
        ready, _ = ray.wait(list(crawl.tasks), num_returns=1, timeout=node_code.REPORT_S)
        for task in ready:
            _take_report(crawl, task)
        interval_s = _SCREEN_S if sys.stderr.isatty() else _LINE_S
        if not crawl.is_quiet and time.monotonic() - shown_s >= interval_s:
            shown_s = time.monotonic()
            show_line(crawl.progress.line(shown_s))


def _use_nodes(crawl: _Crawl) -> None:
    """Use the nodes that are alive, and name those that were lost."""
    before, nodes = crawl.placement.slots, crawl.connection.cpus()
    for node in before.keys() - nodes:
        text = f"{crawl.connection.names[node]} was lost; other nodes fetch its shards"
        show_line(text, is_kept=True)
    crawl.placement.use_nodes(nodes)


def _stop_all(crawl: _Crawl) -> None:
    """Have the running fetches write their reports and end, so that their figures are in that of the merge."""
    ray, nodes = crawl.connection.ray, crawl.connection.cpus()
    for shard, pid in crawl.pids.items():
        if (node := crawl.placement.running[shard]) in nodes:
            into = crawl.folder(shard).parent
            crawl.connection.on_node(node_code.stop, node, cpus=0).remote(pid, str(into))
    await_ends(ray, [task for task, shard in crawl.tasks.items() if shard in crawl.pids], _ANSWER_S)


def _start_tasks(crawl: _Crawl) -> None:
    """Start a task for each free slot."""
    while (chosen := crawl.placement.next()) is not None:
        shard, node = chosen
        _run_shard(crawl, shard)
        crawl.progress.begin(shard, node, time.monotonic())


def _run_shard(crawl: _Crawl, shard: ShardKey, *words: str) -> None:
    """Start a command for a shard on its node."""
    run = crawl.connection.on_node(node_code.run_shard, crawl.placement.running[shard])
    task = run.remote([*crawl.command(shard), *words], crawl.connection.folder, str(crawl.part(shard)))
    crawl.tasks[task] = shard


def _stop_straggler(crawl: _Crawl) -> None:
    """Stop the shard for which free CPUs would wait longest, if that is long; it is divided when it has ended."""
    remaining_s = crawl.progress.remaining_s(time.monotonic())
    shard = crawl.placement.straggler(remaining_s, crawl.stopped)
    if shard is None or shard not in crawl.pids:
        return
    free, node = crawl.placement.free(), crawl.placement.running[shard]
    urls = crawl.progress.remaining_urls(shard)
    parts = min(1 + sum(free.values()), urls // FEW_URLS)
    crawl.stopped[shard] = 0
    if parts < 2 or not _all_have(crawl, crawl.part(shard), free):
        return
    crawl.stopped[shard] = parts
    stop = crawl.connection.on_node(node_code.stop, node, cpus=0)
    stop.remote(crawl.pids[shard], str(crawl.into))
    if not crawl.is_quiet:
        name = crawl.connection.names[node]
        show_line(f"shard {shard} on {name}: its other {urls:,} URLs are divided into {parts} shards", is_kept=True)


def _all_have(crawl: _Crawl, part: Path, nodes: Iterable[str]) -> bool:
    """Return whether this machine and these nodes have a folder, so that they share the crawl."""
    ray = crawl.connection.ray
    asked = [crawl.connection.on_node(node_code.has_folder, node, cpus=0).remote(str(part)) for node in nodes]
    try:
        return part.is_dir() and all(ray.get(asked, timeout=_ANSWER_S))
    except ray.exceptions.RayError:
        return False


def _take_report(crawl: _Crawl, task: Any) -> None:  # noqa: ANN401
    """Take the next report of a task; at its end, note what follows."""
    ray, shard = crawl.connection.ray, crawl.tasks[task]
    exit_code, line, done = None, "", None
    try:
        report = ray.get(next(task))
        if "exit_code" not in report:
            crawl.pids[shard] = report["pid"]
            crawl.progress.update(shard, report["done"])
            return
        exit_code, line, done = report["exit_code"], report["line"], report["done"]
    except ray.exceptions.RayTaskError as error:
        line = " ".join(str(error.cause).split())
    except (ray.exceptions.RayError, StopIteration):
        line = "the node or its worker was lost"
    del crawl.tasks[task]
    crawl.pids.pop(shard, None)
    if (parts := crawl.stopped.get(shard)) and exit_code == _STOPPED:
        _run_shard(crawl, shard, "--divide", str(parts))
        return
    if parts and exit_code == 0:
        _add_rest(crawl, shard)
    node = crawl.connection.names[crawl.placement.running[shard]]
    verdict = crawl.placement.end(shard, exit_code, line)
    crawl.progress.end(shard, time.monotonic(), done, is_done=verdict is Verdict.DONE)
    if verdict is Verdict.MISTAKE:
        raise UsageError(line)
    if verdict is not Verdict.DONE:
        ended = "" if exit_code is None else f"exit code {exit_code}: "
        follows = "starts again" if verdict is Verdict.AGAIN else "is given up"
        show_line(f"shard {shard} on {node}: {ended}{line or 'no message'}; it {follows}", is_kept=True)


def _require_all(crawl: _Crawl) -> None:
    """Raise an error that names the shards that are not done, or are in another machine's folder."""
    placement = crawl.placement
    if placement.given_up:
        last = placement.failures[placement.given_up[-1]][-1]
        kind = StorageFull if last.exit_code == StorageFull.exit_code else NothingMeasured
        raise kind(
            f"{numbered(placement.given_up)} failed {len(placement.failures[placement.given_up[-1]])} times,"
            f" last on {crawl.connection.names[last.node]}: {last.line}; the same command continues the crawl"
        )
    missing = [shard for shard in placement.done if not crawl.folder(shard).is_dir()]
    if missing:
        raise NothingMeasured(
            f"{numbered(missing)}: done in {crawl.into} on other nodes, which do not share it; copy the folders here,"
            f" then: httpdyno merge {crawl.into}"
        )


def _print_summary(crawl: _Crawl) -> None:
    if not crawl.is_quiet:
        for line in crawl.progress.summary(time.monotonic()):
            show_line(line, is_kept=True)
