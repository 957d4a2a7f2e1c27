"""The engine's own load generator, started for a case, and what is read from its report."""

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from httpdyno.errors import NothingMeasured
from ratios.place import Place
from ratios.processes import Ended, run_pinned

__all__ = ["LoadReport", "read_load_report", "run_load", "run_load_command"]


@dataclass(frozen=True, slots=True)
class LoadReport:
    """The figures of one run of the engine's ``load`` that cases use."""

    requests: int
    elapsed_s: float
    errors: int
    other_than_2xx: int
    unsent: int
    open_at_end: int
    peak_memory_bytes: int
    response_p50_ns: int | None
    response_p99_ns: int | None
    send_lag_p99_ns: int | None
    """None in the closed loop."""
    send_lag_max_ns: int | None
    each_second: tuple[int, ...]
    """Answers of each second; the last one may not be whole."""

    @property
    def per_s(self) -> float:
        """Answers for each second."""
        return self.requests / self.elapsed_s

    @property
    def steady_per_s(self) -> float | None:
        """Answers for each whole second after the first, in which connections are opened; None of a shorter run."""
        whole = self.each_second[1 : int(self.elapsed_s)]
        return sum(whole) / len(whole) if whole else None


def read_load_report(text: str) -> LoadReport:
    """Read the JSON that ``load --report`` writes.

    Raises
    ------
    NothingMeasured
        If it is not that.
    """
    try:
        found: dict[str, Any] = json.loads(text)
        lag = found["send_lag"] or {}
        response = found["response_time"] or {}
        return LoadReport(
            requests=int(found["requests"]),
            elapsed_s=float(found["elapsed_s"]),
            errors=int(found["errors_total"]),
            other_than_2xx=sum(count for status, count in found["statuses"].items() if not status.startswith("2")),
            unsent=int(found["unsent"]),
            open_at_end=int(found["censored"]["count"]),
            peak_memory_bytes=int(found["peak_memory_bytes"]),
            response_p50_ns=response.get("p50_ns"),
            response_p99_ns=response.get("p99_ns"),
            send_lag_p99_ns=lag.get("p99_ns"),
            send_lag_max_ns=lag.get("max_ns"),
            each_second=tuple(int(second["requests"]) for second in found["series"]),
        )
    except (ValueError, KeyError, TypeError) as error:
        raise NothingMeasured(f"load: its report cannot be read: {type(error).__name__}: {error}") from error


def run_load(
    place: Place, url: str, *, connections: int, seconds: int, options: Sequence[str] = ()
) -> tuple[LoadReport, Ended]:
    """Let ``load`` ask, on the client's CPUs, with all its histograms, as it is shipped.

    Raises
    ------
    NothingMeasured
        If it fails, or one of its requests did.
    """
    folder = place.scratch / "load"
    folder.mkdir(exist_ok=True)
    report = folder / "report.json"
    cpus = ",".join(str(cpu) for cpu in place.client_cpus)
    argv: list[str | Path] = [place.engine, "load", url, "--connections", str(connections)]
    argv += ["--duration", f"{seconds}s", "--cpus", cpus, "--report", report, *options]
    ended = run_pinned(argv, cpus=place.client_cpus, scratch=folder, longest_s=seconds * 3 + 60)
    read = read_load_report(report.read_text(encoding="utf-8"))
    if read.errors or read.other_than_2xx or not read.requests:
        raise NothingMeasured(
            f"load: {read.requests} answers, {read.errors} errors, {read.other_than_2xx} other than 2xx"
        )
    return read, ended


def run_load_command(place: Place, url: str, *, connections: int, seconds: int) -> tuple[LoadReport, Ended]:
    """Run ``httpdyno load`` as people type it, its start, its table and its run included.

    Raises
    ------
    NothingMeasured
        If it fails.
    """
    folder = place.scratch / "command"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    command = Path(sys.executable).parent / "httpdyno"
    cpus = ",".join(str(cpu) for cpu in place.client_cpus)
    argv: list[str | Path] = [command, "load", url, "--connections", str(connections), "--duration", f"{seconds}s"]
    ended = run_pinned(
        [*argv, "--cpus", cpus, "--out", folder / "runs"],
        cpus=place.client_cpus,
        scratch=folder,
        environment={"HTTPDYNO_ENGINE": str(place.engine)},
        longest_s=seconds * 3 + 60,
    )
    (report,) = (folder / "runs").glob("*-load/load-000000.json")
    return read_load_report(report.read_text(encoding="utf-8")), ended
