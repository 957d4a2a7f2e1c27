"""Points, objectives and figures of the capacity experiment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final

from httpdyno.errors import InvalidValue
from httpdyno.model import format_time, parse_duration_ns
from httpdyno.model.record import FigureRecord, Recorded
from httpdyno.model.subject import Loop


@dataclass(frozen=True, slots=True)
class CapacityPoint(FigureRecord):
    """One point of the grid: answers, link and load."""

    prefix: ClassVar[str] = "point_"

    size_bytes: Annotated[int, Recorded("content of each answer", unit="bytes")]
    delay_ns: Annotated[int, Recorded("wait of the origin server before it answers", unit="ns")]
    round_trip_ns: Annotated[int, Recorded("round-trip time of the link", unit="ns")]
    rate_bits_per_s: Annotated[int | None, Recorded("rate of the link towards the subject; null: not limited")]
    queue_ns: Annotated[int | None, Recorded("longest time that a packet may wait for the rate", unit="ns")]
    concurrency: Annotated[int, Recorded("requests that may be in flight at once", type="int32")]
    loop: Annotated[Loop, Recorded("open: sent on a schedule; closed: sent after an answer")]
    target_per_s: Annotated[float | None, Recorded("right answers a second to hold", unit="1/s")]
    objective: Annotated[str | None, Recorded("further requirements of the point")] = field(default=None, compare=False)
    """Fields that are constant within a run."""

    def __post_init__(self) -> None:
        """Raise if no trial can have this rate."""
        if self.target_per_s is not None and not self.target_per_s > 0:
            raise InvalidValue(f"capacity: the rate must be more than 0 requests a second, not {self.target_per_s:g}")
        if self.loop is Loop.OPEN and self.target_per_s is None:
            raise InvalidValue("capacity: an open loop needs a rate")


@dataclass(frozen=True, slots=True)
class CapacitySummary(FigureRecord):
    """Figures of a subject at a point, over the steady stretch of the trial. A figure without data is None."""

    prefix: ClassVar[str] = "capacity_"

    answers: Annotated[int, Recorded("right answers that ended in the steady stretch")]
    errors: Annotated[int, Recorded("requests of the steady stretch that got no right answer")]
    measured_ns: Annotated[int, Recorded("length of the steady stretch", unit="ns")]
    per_s: Annotated[
        float | None,
        Recorded("right answers for each second of it; closed loop: the slope of their count over time", unit="1/s"),
    ] = None
    service_mean_ns: Annotated[float | None, Recorded("mean time from the actual send", unit="ns")] = None
    response_p50_ns: Annotated[
        float | None, Recorded("median time from the intended send; closed loop: from the actual send", unit="ns")
    ] = None
    response_p99_ns: Annotated[float | None, Recorded("99th percentile of the same time", unit="ns")] = None
    response_max_ns: Annotated[float | None, Recorded("longest such time", unit="ns")] = None
    errors_share: Annotated[float | None, Recorded("errors among all requests of the stretch, 0 to 1")] = None
    held: Annotated[bool | None, Recorded("whether the rate and every clause of the objective were kept")] = None
    why_not: Annotated[str | None, Recorded("first clause that was not kept, with its figure")] = None
    limit: Annotated[
        str | None,
        Recorded("what limits the point: bandwidth, window, cpu, concurrency, origin, link or unknown"),
    ] = None
    limit_per_s: Annotated[float | None, Recorded("the most that this limit allows", unit="1/s")] = None
    limit_text: Annotated[str | None, Recorded("the limit in one sentence")] = None
    claimed_answers: Annotated[
        int | None, Recorded("answers reported by a tool for its whole run; null for a client")
    ] = None
    claimed_per_s: Annotated[
        float | None, Recorded("rate reported by a tool for its whole run; null for a client", unit="1/s")
    ] = None

    @property
    def figures(self) -> Mapping[str, float | None]:
        """The figures that an objective can bound, as far as they are recorded, by their names there."""
        return {
            "p50": self.response_p50_ns,
            "p99": self.response_p99_ns,
            "mean": self.service_mean_ns,
            "max": self.response_max_ns,
            ERRORS: self.errors_share,
        }


DEFAULT_OBJECTIVE: Final = "p99 < rtt + delay + 500ms, errors < 0.1%"
FIGURES: Final = ("p50", "p90", "p99", "p99.9", "mean", "max", "errors")
"""Figures of an objective: percentiles, mean and maximum of the response times, and the share of errors."""
ERRORS: Final = "errors"
_EXAMPLE: Final = f"write it like {DEFAULT_OBJECTIVE!r}"
_CLAUSE: Final = re.compile(r"(?P<figure>[^\s<>=]+)\s*<\s*(?P<bound>[^<>=]*\S)", re.ASCII)
_TERM: Final = re.compile(r"(?P<sign>[+-])\s*(?P<term>[^+-]+)")
_OWN: Final = re.compile(r"(?:(?P<times>[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*\*?\s*)?(?P<what>rtt|delay)", re.ASCII)
_PERCENT: Final = re.compile(r"(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%", re.ASCII)


@dataclass(frozen=True, slots=True)
class Clause:
    """Upper bound of one figure."""

    figure: str
    text: str
    """The bound as it was typed."""
    constant: float
    """Nanoseconds; of ``errors`` a share, 0 to 1."""
    round_trips: float = 0.0
    delays: float = 0.0

    def bound(self, point: CapacityPoint) -> float:
        """Return the bound at a point in nanoseconds; for ``errors`` as a share."""
        return self.constant + self.round_trips * point.round_trip_ns + self.delays * point.delay_ns

    def why_not(self, point: CapacityPoint, found: float) -> str:
        """Describe the figure and the bound that it exceeds."""
        bound = self.bound(point)
        if self.figure == ERRORS:
            return f"{100 * found:.3g} % errors, not below {self.text}"
        own = f" ({self.text})" if self.round_trips or self.delays else ""
        return f"{self.figure} was {format_time(found)}, not below {format_time(bound)}{own}"


@dataclass(frozen=True, slots=True)
class Objective:
    """Clauses that all have to hold."""

    clauses: tuple[Clause, ...] = ()

    def judge(self, point: CapacityPoint, figures: Mapping[str, float | None]) -> tuple[bool | None, str | None]:
        """Check the figures against every clause.

        ``figures`` have the names of ``FIGURES``: nanoseconds, ``errors`` as a share; None or missing if unknown.
        Return whether all clauses hold (None if no clause is broken but one cannot be judged), and a description of the
        first broken clause or the unknown figure.
        """
        broken = self.broken(point, figures)
        if broken is not None:
            return False, broken.why_not(point, figures[broken.figure] or 0.0)
        unknown = next((clause.figure for clause in self.clauses if figures.get(clause.figure) is None), None)
        return (None, f"{unknown} is not known") if unknown else (True, None)

    def broken(self, point: CapacityPoint, figures: Mapping[str, float | None]) -> Clause | None:
        """Return the first clause that a known figure breaks; None if there is none."""
        return next(
            (
                clause
                for clause in self.clauses
                if (found := figures.get(clause.figure)) is not None and not found < clause.bound(point)
            ),
            None,
        )


def parse_objective(text: str, *, name: str = "--slo") -> Objective:
    """Parse comma-separated clauses; an empty text has none.

    A clause is ``FIGURE < BOUND``. The bound of a time adds and subtracts durations, ``rtt`` (the link's round-trip
    time at the point) and ``delay`` (the server's wait), as in ``2*rtt + delay + 500ms``; that of
    ``errors`` is in per cent.
    """
    if not text.strip():
        return Objective()
    clauses = tuple(_clause(part.strip(), name) for part in text.split(","))
    figures = [clause.figure for clause in clauses]
    if twice := next((figure for figure in figures if figures.count(figure) > 1), None):
        raise InvalidValue(f"{name}: {twice} is bounded twice; keep one of the two")
    return Objective(clauses)


def _clause(text: str, name: str) -> Clause:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise InvalidValue(f"{name}: {text[:60]!r} is not understood; {_EXAMPLE}")
    figure, bound = match["figure"].replace("_", "."), match["bound"]
    if figure not in FIGURES:
        raise InvalidValue(f"{name}: unknown figure {figure[:40]!r}; supported: {', '.join(FIGURES)}")
    if figure == ERRORS:
        percent = _PERCENT.fullmatch(bound)
        if percent is None or not 0 < float(percent["percent"]) <= 100:  # percent
            raise InvalidValue(
                f"{name}: errors are bounded by a share above 0 % and up to 100 %, not by {bound[:40]!r};"
                " write it like 'errors < 0.1%'"
            )
        return Clause(figure, bound, float(percent["percent"]) / 100)
    sums = _time(bound, name)
    if max(sums.values()) <= 0:
        raise InvalidValue(f"{name}: nothing is faster than {bound[:40]!r}; {_EXAMPLE}")
    return Clause(figure, bound, sums[""], sums["rtt"], sums["delay"])


def _time(text: str, name: str) -> dict[str, float]:
    """Add the terms up: nanoseconds, round-trip times, delays."""
    signed = text if text.startswith(("+", "-")) else f"+ {text}"
    terms = list(_TERM.finditer(signed))
    if "".join(term[0] for term in terms).replace(" ", "") != signed.replace(" ", ""):
        raise InvalidValue(f"{name}: {text[:60]!r} is not understood; {_EXAMPLE}")
    sums = {"": 0.0, "rtt": 0.0, "delay": 0.0}
    for term in terms:
        sign, what = (-1.0 if term["sign"] == "-" else 1.0), term["term"].strip()
        if own := _OWN.fullmatch(what):
            sums[own["what"]] += sign * float(own["times"] or 1)
        elif re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", what):
            raise InvalidValue(f"{name}: {what} needs a unit, like {what}ms")
        else:
            sums[""] += sign * parse_duration_ns(what, bare_unit="none", name=name)
    return sums
