"""Searches for the highest rate (``load --find``) of servers with a known capacity, and the table of their results."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any, Final

from httpdyno.errors import UnreadableReport
from httpdyno.judge.generator import ServerRecord
from httpdyno.judge.known_capacity import degrading_capacity, limiter_capacity, md1_capacity, mmk_capacity
from httpdyno.model import Column, ColumnKind, Note, Table

__all__ = ["CASES", "Case", "Found", "found_table", "read_found", "why_disturbed"]

_MOST_WAITING: Final = 0.02
_MOST_FOREIGN: Final = 0.05


@dataclass(frozen=True, slots=True)
class Case:
    """A calibrator, and an objective whose highest rate is known."""

    name: str
    behaviour: Callable[[int], tuple[str, ...]]
    """Return the calibrator's arguments for a seed."""
    objective: str
    truth: Callable[[], float]
    """Return the highest rate, per second."""

    @property
    def calibrator(self) -> str:
        """The calibrator's arguments without the seed, for the table."""
        return " ".join(self.behaviour(0)).removesuffix(" --seed 0")


def _queue(*law: str) -> Callable[[int], tuple[str, ...]]:
    return lambda seed: ("queue", *law, "--seed", str(seed))


CASES: Final = (
    Case("queue", _queue("--exponential", "200us"), "p99 < 50ms", lambda: mmk_capacity(200e-6, 1, 0.05, 0.01)),
    Case("median", _queue("--exponential", "200us"), "p50 < 2ms", lambda: mmk_capacity(200e-6, 1, 0.002, 0.5)),
    Case("constant", _queue("--constant", "200us"), "p99 < 5ms", lambda: md1_capacity(200e-6, 0.005, 0.01)),
    Case(
        "workers",
        _queue("--exponential", "1600us", "--workers", "8"),
        "p99 < 20ms",
        lambda: mmk_capacity(1600e-6, 8, 0.02, 0.01),
    ),
    Case(
        "limiter",
        lambda _: ("limiter", "--per-second", "5000", "--burst", "50"),
        "errors < 0.1%",
        lambda: limiter_capacity(5_000, 50, 0.001),
    ),
    Case(
        "degrade",
        lambda seed: (
            *("degrade", "--exponential", "200us", "--above", "20", "--factor", "1.2"),
            *("--seed", str(seed)),
        ),
        "p99 < 8ms",
        lambda: degrading_capacity(200e-6, 20, 1.2, 0.008, 0.01),
    ),
)


@dataclass(frozen=True, slots=True)
class Found:
    """Result of one search."""

    case: str
    seed: int
    engine: str
    """Digest of the engine's program."""
    find_for: str
    per_s: float | None
    """The rate that it found; None if it found none."""
    low_per_s: float | None
    high_per_s: float | None
    verdict: str | None
    """How the search ended, in the report's words."""
    took_s: float
    disturbed: str | None
    """Why the search does not count; None if it does."""

    def covers(self, rate_per_s: float) -> bool:
        """Whether the interval has this rate."""
        return (
            self.low_per_s is not None
            and self.high_per_s is not None
            and self.low_per_s <= rate_per_s <= self.high_per_s
        )

    @property
    def half_width(self) -> float | None:
        """Half of the interval's width, as a share of the rate; None without an interval."""
        if self.per_s is None or self.low_per_s is None or self.high_per_s is None:
            return None
        return (self.high_per_s - self.low_per_s) / 2 / self.per_s

    def line(self) -> str:
        """Return the result as a line of JSON, which ``Found(**json.loads(line))`` reads."""
        return json.dumps(asdict(self))


def read_found(text: str) -> Mapping[str, Any]:
    """Read the report of ``load --find --format json``: rate, interval and verdict, as fields of ``Found``."""
    try:
        report = json.loads(text)
        row = report[0] if isinstance(report, list) else report
        rates = {name.removeprefix("found_"): row[name] for name in _RATES}
        verdict = row["find"]["verdict"] if "find" in row else row.get("found")
        return {**rates, "verdict": verdict}
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UnreadableReport(f"load --find: its report cannot be read: {error!r}") from error


_RATES: Final = ("found_per_s", "found_low_per_s", "found_high_per_s")


def why_disturbed(record: ServerRecord, took_s: float, foreign_share: float) -> str | None:
    """Describe why a search does not count: other programs had a CPU; None if it counts."""
    waiting = record.waiting_ns / 1e9 / took_s
    if waiting > _MOST_WAITING:
        return f"the calibrator lacked its CPU for {waiting:.1%} of the time"
    if foreign_share > _MOST_FOREIGN:
        return f"other programs used the generator's CPU for {foreign_share:.1%} of the time"
    return None


def found_table(results: Sequence[Found], find_for: str) -> Table:
    """Return a row for each case that has results, in the order of ``CASES``.

    Disturbed searches are only counted in a note.
    """
    counting = [found for found in results if found.disturbed is None]
    rows, notes = [], []
    for case in CASES:
        own = [found for found in counting if found.case == case.name]
        if not own:
            continue
        truth = case.truth()
        rates = [found.per_s for found in own if found.per_s is not None]
        widths = [found.half_width for found in own if found.half_width is not None]
        covered = sum(found.covers(truth) for found in own)
        rows.append(
            (
                case.calibrator,
                case.objective,
                float(round(truth)),
                float(round(median(rates))) if rates else None,
                round(100 * (median(rates) / truth - 1), 2) if rates else None,
                round(100 * median(widths), 2) if widths else None,
                f"{covered} of {len(own)}",
                float(round(median(found.took_s for found in own))),
            )
        )
        if missing := len(own) - len(rates):
            notes.append(Note(f"searches without a rate: {missing}", len(rows) - 1))
    notes.insert(0, Note(f"--find-for {find_for}; rates per second; time in seconds; medians"))
    if disturbed := len(results) - len(counting):
        notes.append(Note(f"searches left out because other programs had a CPU: {disturbed}"))
    return Table(_COLUMNS, tuple(rows), notes=tuple(notes))


_COLUMNS: Final = (
    Column("calibrator"),
    Column("objective"),
    Column("truth", ColumnKind.NUMBER),
    Column("found", ColumnKind.NUMBER),
    Column("error_percent", ColumnKind.NUMBER, label="error %"),
    Column("half_width_percent", ColumnKind.NUMBER, label="half width %"),
    Column("covered"),
    Column("time_s", ColumnKind.NUMBER, label="time"),
)
