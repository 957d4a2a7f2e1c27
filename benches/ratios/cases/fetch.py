"""The fetcher as the client `native` among the fast clients: right answers per CPU second on top-sites, in the room."""

import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from httpdyno.errors import NothingMeasured
from ratios.case import Case, Measured
from ratios.figures import Column, Round, Target
from ratios.place import Place

__all__ = ["CASE", "rounds_of"]

_OURS: Final = "native"
_FAST: Final = ("rust-reqwest", "rust-hyper", "go-fasthttp", "go-net-http", "c-libcurl-multi")
_LIMIT: Final = 2000
_IN_FLIGHT: Final = 200
"""As many as the fetcher takes by itself: where answers are slow, who waits for fewer at once is slower for that."""
_PER_CPU_S: Final = "right_per_cpu_s"
_QUERY: Final = (
    'select block, subject, version, "right", right_per_s, cpu_user_ns, cpu_system_ns, validity_reason, reason '
    "from trials order by trial"
)


def rounds_of(trials: Iterable[Mapping[str, Any]]) -> tuple[Round, ...]:
    """Put trials into rounds, a block each; a trial that failed is in none."""
    rounds: dict[int, dict[str, Mapping[str, float]]] = {}
    for trial in trials:
        measured = rounds.setdefault(trial["block"], {})
        used = [trial["cpu_user_ns"], trial["cpu_system_ns"]]
        if trial["reason"] is not None or None in used or not trial["right_per_s"]:
            continue
        measured[trial["subject"]] = {
            _PER_CPU_S: trial["right"] / (sum(used) / 1e9),
            "right_per_s": trial["right_per_s"],
            "cpu_ms": sum(used) / 1e6,
            "right": trial["right"],
        }
    return tuple(rounds[block] for block in sorted(rounds))


def _command(arguments: Sequence[str | Path]) -> str:
    # A room schedules its subjects itself. Progress goes to standard error: a crawl takes minutes.
    argv = ["chrt", "--other", "0", Path(sys.executable).parent / "httpdyno", *arguments]
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise NothingMeasured(f"httpdyno {arguments[0]}: ended with exit status {done.returncode}")
    return done.stdout


def _measure(place: Place) -> Measured:
    runs = place.scratch / "runs"
    cpus = ":".join(",".join(str(cpu) for cpu in side) for side in (place.client_cpus, place.server_cpus))
    asked: list[str | Path] = ["bench", _OURS, *_FAST, "--web", "top-sites", "--limit", str(_LIMIT)]
    asked += ["--concurrency", str(_IN_FLIGHT)]
    asked += ["--repeat", str(place.rounds), "--cpus", cpus, "--out", runs, "--format", "json"]
    _command(asked)
    trials = json.loads(_command(["query", _QUERY, "--runs", runs, "--format", "json"]))
    doubts = [
        f"{trial['subject']}, block {trial['block']}: {trial['reason'] or trial['validity_reason']}"
        for trial in trials
        if trial["reason"] or trial["validity_reason"]
    ]
    versions = {trial["subject"]: trial["version"] or "" for trial in trials}
    return Measured(rounds_of(trials), versions, tuple(dict.fromkeys(doubts)))


CASE: Final = Case(
    name="fetch",
    title="The fetcher among the fast clients",
    setting=f"The first {_LIMIT:,} URLs of top-sites, faults included, in a room with one CPU for the client, "
    f"{_IN_FLIGHT} at a time by each.",
    columns=(
        Column(_PER_CPU_S, "right per CPU s"),
        Column("right_per_s", "right per s"),
        Column("cpu_ms", "CPU, ms"),
        Column("right", "right"),
    ),
    targets=(
        Target(_OURS, _PER_CPU_S, "rust-reqwest", at_least=1.5),
        *(Target(_OURS, _PER_CPU_S, other, at_least=1.0) for other in _FAST[1:]),
        *(Target(_OURS, "right_per_s", other, at_least=1.0) for other in _FAST),
    ),
    measure=_measure,
)
