"""Fill disks, put foreign files where a verb resumes, kill between two writes; find lost, torn or changed data."""

import csv
import json
import os
import random
import shutil
import subprocess
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from endurance.kills import origin
from endurance.lane import CRASHED, PATIENCE_S, START, Lane
from httpdyno.errors import HttpdynoError
from httpdyno.lab.engine import Engine
from httpdyno.store import open_run
from httpdyno.subjects.engine_program import find_engine

Kind = Literal["full", "foreign", "cut"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FULL = 4
USAGE = 2
CONTENT = b"Hello, World!"
LEAST_BYTES, MOST_BYTES = 8 << 10, 16 << 20
"""Sizes of a disk that fills up: on the smallest nothing fits, on the largest everything does."""
ENOUGH_BYTES = 256 << 20
MOST_WRITES = 4_000
"""Calls of a whole crawl that write, open, rename or sync, about."""
CUTS = "write,writev,openat,rename,renameat,renameat2,linkat,fsync,fdatasync,syncfs,ftruncate"
FOREIGN = (b"a line without an end", b"a line\n", b'{"json": true}\n', b"\x00\xff" * 50, b"1\thttp://a/\n" * 50_000)

FETCH = ("fetch", "--concurrency", "20", "--save", "small/pages", "--resume", "small/journal")
BENCH = (
    "bench",
    "asks",
    "native",
    "--subjects",
    "{subjects}",
    "--web",
    "plain",
    "--limit",
    "50",
    "--concurrency",
    "8",
    "--repeat",
    "2",
)
LOAD = ("load", "{origin}/plain", "-n", "20000", "-c", "4", "--samples", "small/samples", "--hdr-log", "small/times")
REPORT = ("report", "{run}", "--html", "small/page.html")


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt, with its own random numbers."""

    kind: Kind
    verb: str
    chance: random.Random


@dataclass(frozen=True, slots=True)
class Tried:
    """A kind of attempt at a verb."""

    kind: Kind
    verb: str
    do: "Callable[[Attempt, Place], Iterator[str]]"


class Place:
    """A lane with a small disk."""

    def __init__(self, lane: Lane) -> None:
        self.lane = lane
        self.small = lane.folder / "small"
        self.rows: list[list[str]] = []

    def status_of(self, *argv: str, stdin: str | None = None, before: Sequence[str] = ()) -> int:
        """Run a command, keep the rows that it prints, and return its status."""
        # The tracer starts the engine itself.
        words = [*before, str(self.lane.engine.path), *argv] if before else [*START, *argv]
        with (
            (self.lane.folder / (stdin or "/dev/null")).open() as given,
            (self.lane.folder / "out").open("w") as out,
            (self.lane.folder / "err").open("w") as err,
        ):
            done = subprocess.run(
                [word.format(**self.lane.words) for word in words],
                cwd=self.lane.folder, env=self.lane.environment, stdin=given, stdout=out, stderr=err,
                check=False, timeout=PATIENCE_S,
            )  # fmt: skip
        printed = (self.lane.folder / "out").read_text(encoding="utf-8", errors="replace")
        whole = printed[: printed.rfind("\n") + 1]
        self.rows += csv.reader(whole.splitlines())
        return done.returncode

    def said(self) -> str:
        """Return the last line that the last command wrote to standard error."""
        return (self.lane.said().strip().splitlines() or [""])[-1]

    @contextmanager
    def disk(self, size_bytes: int) -> Iterator[None]:
        """Mount a tmpfs of this size."""
        self.small.mkdir()
        _mount("-t", "tmpfs", "-o", f"size={size_bytes}", "small", str(self.small))
        self.rows.clear()
        try:
            yield
        finally:
            subprocess.run(["umount", "--lazy", str(self.small)], check=True)
            self.small.rmdir()

    def enlarge(self) -> None:
        """Remount the disk with space for everything."""
        _mount("-o", f"remount,size={ENOUGH_BYTES}", str(self.small))


def _mount(*options: str) -> None:
    subprocess.run(["mount", *options], check=True)


def crawled(place: Place) -> Iterator[str]:
    """Check that every URL has a row and a complete content."""
    asked = set((place.lane.folder / "urls").read_text().split())
    fetched = {row[0] for row in place.rows if len(row) > 1 and row[1] == "200"}
    if missing := asked - fetched:
        yield f"{len(missing)} of {len(asked)} URLs have no row, the first {min(missing)}"
    kept = set()
    for line in (place.small / "pages" / "index.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if (place.small / "pages" / entry["file"]).read_bytes() != CONTENT:
            yield f"{entry['file']} is torn"
        kept.add(entry["url"])
    if missing := asked - kept:
        yield f"{len(missing)} of {len(asked)} URLs have no content, the first {min(missing)}"


def fills(attempt: Attempt, place: Place) -> Iterator[str]:
    """Run a verb on a disk that fills up, then again with free space."""
    argv, stdin = {"fetch": (FETCH, "urls"), "load": (LOAD, None), "report": (REPORT, None), "bench": (BENCH, None)}[
        attempt.verb
    ]
    argv = (*argv, *(("--out", "small/runs") if attempt.verb in ("load", "bench") else ()))
    size_bytes = round(LEAST_BYTES * (MOST_BYTES / LEAST_BYTES) ** attempt.chance.random())
    with place.disk(size_bytes):
        status = place.status_of(*argv, stdin=stdin)
        at = f"with {size_bytes:,} bytes"
        if status not in (0, FULL):
            yield f"{at}: status {status}: {place.said()}"
        if status == FULL and "No space left on device" not in place.lane.said():
            yield f"{at}: the disk is not named: {place.said()}"
        if CRASHED.search(place.lane.said()):
            yield f"{at}: crashed: {place.said()}"
        place.enlarge()
        runs = sorted((place.small / "runs").glob("[!.]*")) if (place.small / "runs").exists() else []
        for run in runs:
            try:
                opened = open_run(run)
                opened.records()
                opened.samples().collect()
            except HttpdynoError as error:
                yield f"{at}: run does not open: {error}"
        if attempt.verb == "bench" and runs and status:
            argv = ("bench", "--resume", str(runs[-1]))
        # On a busy machine there may be no result (3), but the run is complete.
        if (status := place.status_of(*argv, stdin=stdin)) not in (0, 3):
            yield f"{at}, then with room: status {status}: {place.said()}"
        if attempt.verb == "fetch":
            yield from (f"{at}, then with room: {found}" for found in crawled(place))


def meets_foreign(attempt: Attempt, place: Place) -> Iterator[str]:
    """Resume with a file that the verb did not write."""
    content = attempt.chance.choice(FOREIGN)
    with place.disk(ENOUGH_BYTES):
        for folder in ("pages", "run"):
            (place.small / folder).mkdir()
        where, argv = {
            "fetch": ("journal", FETCH),
            "fetch --save": ("pages/index.jsonl", FETCH),
            "bench": ("run/manifest.json", ("bench", "--resume", "small/run")),
            "report": ("run/manifest.json", ("report", "small/run")),
        }[attempt.verb]
        foreign = place.small / where
        foreign.write_bytes(content)
        status = place.status_of(*argv, stdin="urls" if argv is FETCH else None)
        if status != USAGE or len(place.lane.said().splitlines()) != 1:
            yield f"{where} of {content[:20]!r}: status {status}: {place.said()}"
        if foreign.read_bytes() != content:
            yield f"{where} of {content[:20]!r} was changed"


def is_cut(attempt: Attempt, place: Place) -> Iterator[str]:
    """Kill a crawl at the start of a system call that writes, up to three times; then let it finish."""
    with place.disk(ENOUGH_BYTES):
        for _ in range(attempt.chance.randint(1, 3)):
            when = attempt.chance.randint(1, MOST_WRITES)
            inject = f"inject={CUTS}:signal=SIGKILL:when={when}"
            tracing = ("strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={CUTS}", "-e", inject)
            place.status_of(*FETCH, stdin="urls", before=tracing)
        if status := place.status_of(*FETCH, stdin="urls"):
            yield f"status {status}: {place.said()}"
        yield from crawled(place)


TRIED = (
    *(Tried("full", verb, fills) for verb in ("fetch", "load", "bench", "report")),
    *(Tried("foreign", verb, meets_foreign) for verb in ("fetch", "fetch --save", "bench", "report")),
    Tried("cut", "fetch", is_cut),
)


def run(count: int, seed: int, kinds: Sequence[str]) -> int:
    """Make `count` attempts, an equal share of each kind; print a line for each. Return 1 if one found a defect."""
    chosen = [kind for kind in KINDS if not kinds or kind in kinds]
    if os.geteuid() != 0:
        raise SystemExit("endure: disks: mounting a tmpfs requires root")
    if "cut" in chosen and shutil.which("strace") is None:
        raise SystemExit("endure: --kind cut requires strace; install it with: apt-get install strace")
    of_kind = {kind: [tried for tried in TRIED if tried.kind == kind] for kind in chosen}
    engine, counts, failed = Engine(find_engine()), Counter[str](), 0
    with origin(engine) as address, tempfile.TemporaryDirectory(prefix="endure-disks-") as name:
        place = Place(Lane(Path(name, "lane"), engine, address, ()))
        if {"full", "foreign"}.intersection(chosen):
            place.lane.made(*(word.format(**place.lane.words) for word in BENCH), "--out", "kept")
            (kept,) = (place.lane.folder / "kept").iterdir()
            place.lane.words["run"] = str(kept)
        for index in range(count):
            kind = chosen[index % len(chosen)]
            tried = of_kind[kind][index // len(chosen) % len(of_kind[kind])]
            attempt = Attempt(kind, tried.verb, random.Random(f"{seed}-{index}"))
            found = list(tried.do(attempt, place))
            counts[kind] += 1
            failed += bool(found)
            print(
                f"{index:4} {kind:8} {tried.verb:13} {'; '.join(found) or 'nothing lost, torn or changed'}", flush=True
            )
    print(", ".join(f"{counts[kind]} {kind}" for kind in chosen) + f"; {failed} with something found")
    return int(failed > 0)
