"""Runs `load` and `origin` at half of their ceiling for long, and reports whether memory and percentiles stay flat."""

import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from scipy.stats import theilslopes

from endurance.interval_log import intervals
from httpdyno.lab.engine import Engine
from httpdyno.subjects.engine_program import find_engine

CEILING_S = 5
SHARE = 0.5
CONNECTIONS = 64
LEVEL = 0.95
SAMPLED_EVERY_S = 1.0
PERCENTILES = {"p50": 0.5, "p99": 0.99, "p99.9": 0.999}
MOST_DRIFT = 0.05
"""Share of the median, over the whole time: a smaller drift is flat."""
MOST_MEMORY_DRIFT_BYTES = 4 << 20
"""Some megabytes are not a leak."""
MOST_PERCENTILE_DRIFT_NS = 50_000
"""Nor is the delay of a busy kernel."""


@dataclass(frozen=True, slots=True)
class Trend:
    """A straight line through the values of the minutes, as its change over the whole time."""

    middle: float
    """The median of the minutes."""
    drift: float
    """From the first minute to the last."""
    low: float
    high: float
    """The ends of the interval of 95 % of the drift."""

    def verdict(self, tolerated: float) -> str:
        """Return whether it is flat: by the interval, not by the line alone."""
        bound = max(tolerated, MOST_DRIFT * self.middle)
        if -bound <= self.low and self.high <= bound:
            return "flat"
        if self.low > bound or self.high < -bound:
            return "NOT FLAT"
        return "undecided"


def trend(values: Sequence[float]) -> Trend:
    """Take the median of the slopes between all pairs of values at equal distances; three at least.

    Unlike a line of least squares, it hardly changes with a few disturbed minutes.

    References
    ----------
    Sen, Estimates of the regression coefficient based on Kendall's tau (1968), Journal of the American Statistical
    Association 63: the slope and its interval.
    """
    slope, _, low, high = theilslopes(values, range(len(values)), LEVEL)
    span = len(values) - 1
    return Trend(median(values), float(slope) * span, float(low) * span, float(high) * span)


def run(minutes: float) -> int:
    """Soak, print a line for each minute, then a verdict for each series. The status is 1 unless all are flat."""
    if minutes < 3:
        raise SystemExit("endure: a slope takes three minutes at least")
    engine = Engine(find_engine())
    cpus = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="endure-soak-") as name, origin(engine, cpus[0]) as (server, address):
        folder = Path(name)
        ceiling = closed_loop(engine, address, cpus[-1], folder)
        rate = max(1, round(ceiling * SHARE))
        print(f"ceiling {ceiling:.0f} requests a second; {minutes:g} minutes at {rate}", flush=True)
        report, memory = soaked(engine, address, cpus[-1], folder, rate, minutes, server)
        series = {**memory, **percentiles(folder / "log", len(next(iter(memory.values()))))}
    print(f"sent {report['sent']}, errors {report['errors_total']}, unsent {report['unsent']}")
    return verdicts(series, report)


def verdicts(series: dict[str, list[float]], report: dict[str, int]) -> int:
    """Print the result of each series."""
    worst = 0
    for name, values in series.items():
        is_memory = name.endswith("memory")
        unit, divisor = ("MiB", 1 << 20) if is_memory else ("us", 1e3)
        # The first minute warms up: caches fill, connections open.
        found = trend(values[1:] if len(values) > 4 else values)
        verdict = found.verdict(MOST_MEMORY_DRIFT_BYTES if is_memory else MOST_PERCENTILE_DRIFT_NS)
        worst = worst or int(verdict != "flat")
        print(
            f"{name:14} median {found.middle / divisor:9.1f} {unit:3}, drift {found.drift / divisor:+8.2f} "
            f"[{found.low / divisor:+.2f} - {found.high / divisor:+.2f}] {unit:3}: {verdict}"
        )
    return worst or int(report["errors_total"] > 0)


@contextmanager
def origin(engine: Engine, cpu: int) -> Iterator[tuple[int, str]]:
    """Serve a web on one CPU; return the process id and its address."""
    argv = [str(engine.path), "origin", "--web", "plain", "--listen", "127.0.0.1:0", "--cpus", str(cpu)]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            yield process.pid, process.stderr.readline().split()[-1]
        finally:
            process.terminate()


def load(engine: Engine, address: str, cpu: int, folder: Path, *more: str) -> "subprocess.Popen[str]":
    """Start a load on one CPU; its report goes to a file."""
    argv = [str(engine.path), "load", f"{address}/plain", "--cpus", str(cpu), "--connections", str(CONNECTIONS)]
    argv += ["--report", "-"]
    with (folder / "report").open("w") as out:
        return subprocess.Popen([*argv, *more], stdin=subprocess.DEVNULL, stdout=out, text=True)


def closed_loop(engine: Engine, address: str, cpu: int, folder: Path) -> float:
    """Return the answers a second that the two reach together: the lower ceiling of both."""
    if load(engine, address, cpu, folder, "--duration", f"{CEILING_S}s").wait():
        raise SystemExit("endure: the load failed")
    return float(json.loads((folder / "report").read_text(encoding="utf-8"))["requests"]) / CEILING_S


def soaked(
    engine: Engine, address: str, cpu: int, folder: Path, rate: int, minutes: float, server: int
) -> tuple[dict[str, int], dict[str, list[float]]]:
    """Load for a time; return the report, and the mean memory of both programs in each minute, in bytes.

    Each minute prints a line on stderr at its end, long before the verdict.
    """
    seconds = f"{round(minutes * 60)}s"
    process = load(
        engine, address, cpu, folder, "--rate", str(rate), "--duration", seconds, "--hdr-log", str(folder / "log")
    )
    samples: dict[str, list[list[int]]] = {"load memory": [], "origin memory": []}
    began = time.monotonic()
    while process.poll() is None:
        minute = int((time.monotonic() - began) // 60)
        if len(samples["load memory"]) == minute > 0:
            means = (f"{name} {_mean(taken[-1]) / (1 << 20):.1f} MiB" for name, taken in samples.items())
            print(f"minute {minute - 1:3}  " + "  ".join(means), file=sys.stderr, flush=True)
        for name, number in (("load memory", process.pid), ("origin memory", server)):
            while len(samples[name]) <= minute:
                samples[name].append([])
            samples[name][-1].append(resident(number))
        time.sleep(SAMPLED_EVERY_S)
    if process.returncode:
        raise SystemExit(f"endure: the load ended with status {process.returncode}")
    whole = max(3, int(minutes))
    report = json.loads((folder / "report").read_text(encoding="utf-8"))
    return report, {name: [_mean(taken) for taken in each[:whole]] for name, each in samples.items()}


def _mean(taken: Sequence[int]) -> float:
    """Return the mean; None without values."""
    return sum(taken) / len(taken) if taken else math.nan


def resident(process: int) -> int:
    """Return the memory of a process, in bytes; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{process}/statm").read_text(encoding="utf-8").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError):
        return 0


def percentiles(log: Path, minutes: int) -> dict[str, list[float]]:
    """Return the percentiles of the response times of each minute, in nanoseconds."""
    counts = [Counter[int]() for _ in range(minutes)]
    for interval in intervals(log):
        if (minute := int(interval.start_s // 60)) < minutes:
            counts[minute].update(interval.counts)
    found = {name: [_at(minute, share) for minute in counts] for name, share in PERCENTILES.items()}
    for number, row in enumerate(zip(*found.values(), strict=True)):
        print(
            f"minute {number:3}  "
            + "  ".join(f"{name} {value / 1e3:.0f} us" for name, value in zip(found, row, strict=True))
        )
    return found


def _at(counts: Counter[int], share: float) -> float:
    """Return the nearest rank."""
    left = math.ceil(share * counts.total())
    for value in sorted(counts):
        left -= counts[value]
        if left <= 0:
            return float(value)
    return math.nan
