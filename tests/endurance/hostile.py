"""Makes every built client crawl servers that misbehave: each trial ends, is judged, and leaves nothing."""

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from doubles.traces import describe, processes_of
from endurance.hostile_server import BEHAVIOURS, MEBIBYTE, Server
from endurance.lane import CRASHED, START
from httpdyno.errors import HttpdynoError
from httpdyno.model import SubjectKind
from httpdyno.store import open_run
from httpdyno.subjects.catalogue import read_catalogue

TIMEOUT_S = 2
DEADLINE_S = 20
HANGS_AFTER_S = DEADLINE_S + 280
"""On a busy machine a client may start slowly; a hang lasts for ever."""
BYTES_PER_S = 8e6
"""Size of a flood: a client without a bound grows by that each second, and the machine must have room for it."""


def run(clients: Sequence[str]) -> int:
    """Try each; print a line for each. The status is 1 if httpdyno itself failed."""
    named = list(clients) or [subject.id for subject in read_catalogue().of_kind(SubjectKind.CLIENT)]
    broken = 0
    with Server(BYTES_PER_S) as server, tempfile.TemporaryDirectory(prefix="endure-hostile-") as name:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        Path(name, "urls").write_text("\n".join(server.urls()), encoding="utf-8")
        Path(name, "tmp").mkdir()
        print(
            f"{'client':26} {'outcome':12} {'s':>5} {'MiB':>6} {'answers':>8} {'failures':>8} {'no row':>7}", flush=True
        )
        for client in named:
            words, is_broken = attempt(client, Path(name))
            broken += is_broken
            print(f"{client:26} {words}", flush=True)
        server.shutdown()
    print(f"{len(named)} clients, {broken} with something of ours broken")
    return int(broken > 0)


def attempt(client: str, folder: Path) -> tuple[str, bool]:
    """Run one client over all behaviours; return the result, and whether httpdyno itself failed."""
    asked = [
        *("bench", client, "--urls", str(folder / "urls"), "--web", "live", "--yes", "--repeat", "1"),
        *("--timeout", str(TIMEOUT_S), "--duration", str(DEADLINE_S), "--concurrency", str(len(BEHAVIOURS))),
        *("--out", str(folder / client)),
    ]
    began = time.monotonic()
    try:
        ended = subprocess.run(
            [*START, *asked], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANGS_AFTER_S,
            check=False, cwd=folder, env={**os.environ, "TMPDIR": str(folder / "tmp")},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"HANGS: did not end within {HANGS_AFTER_S} s", True
    took_s = time.monotonic() - began
    if CRASHED.search(ended.stderr):
        return f"CRASHES: {ended.stderr.strip().splitlines()[-1]}", True
    if left := [*map(describe, processes_of(folder)), *map(str, (folder / "tmp").iterdir())]:
        return f"LEFT: {left}", True
    runs = list((folder / client).iterdir()) if (folder / client).exists() else []
    if not runs:
        return f"not tried: {ended.stderr.strip().splitlines()[-1:]}", False
    try:
        run = open_run(runs[0])
        (trial,) = run.records()
        samples = run.samples().collect()
    except (HttpdynoError, ValueError) as error:
        return f"NO RECORD: {error}", True
    answers, failures = (len(samples) - samples[column].null_count() for column in ("status", "error"))
    missing = samples["line"].null_count()
    peak = f"{(trial.counters.peak_memory_bytes or 0) / MEBIBYTE:6.0f}"
    return f"{trial.outcome:12} {took_s:5.1f} {peak} {answers:8} {failures:8} {missing:7}", False
