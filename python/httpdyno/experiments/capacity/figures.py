"""Points, objectives and figures of the capacity experiment."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Final

from httpdyno.errors import InvalidValue
from httpdyno.model import format_time, parse_duration_ns
from httpdyno.model.record import FigureRecord, Recorded, measured
from httpdyno.model.subject import Loop


@dataclass(frozen=True, slots=True)
class CapacityPoint(FigureRecord):
    """One point of the grid: answers, link and load."""

    prefix: ClassVar[str] = "point_"

    size_bytes: Annotated[int, Recorded("content of each answer")]
    delay_ns: Annotated[int, Recorded("wait of the origin server before it answers")]
    round_trip_ns: Annotated[int, Recorded("round-trip time of the link")]
    rate_bits_per_s: Annotated[int | None, Recorded("rate of the link towards the subject; null: not limited")]
    queue_ns: Annotated[int | None, Recorded("longest time that a packet may wait for the rate")]
    concurrency: Annotated[int, Recorded("requests that may be in flight at once", type="int32")]
    loop: Annotated[Loop, Recorded("open: sent on a schedule; closed: sent after an answer arrived")]
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
    measured_ns: Annotated[int, Recorded("length of the steady stretch")]
    per_s: float | None = measured(
        "right answers per second of the steady stretch; closed loop: the slope of their count over time", unit="1/s"
    )
    service_mean_ns: float | None = measured("mean time from the actual send")
    response_p50_ns: float | None = measured("median time from the intended send; closed loop: from the actual send")
    response_p99_ns: float | None = measured("99th percentile of the same time")
    response_max_ns: float | None = measured("longest such time")
    errors_share: float | None = measured("errors among all requests of the stretch, 0 to 1")
    held: bool | None = measured("whether the rate and every clause of the objective were kept")
    why_not: str | None = measured("first clause that was not kept, with its figure")
    limit: str | None = measured("what limits the point: bandwidth, window, cpu, concurrency, origin, link or unknown")
    limit_per_s: float | None = measured("the most that this limit allows", unit="1/s")
    limit_text: str | None = measured("the limit in one sentence")
    claimed_answers: int | None = measured("answers reported by a tool for its whole run; null for a client")
    claimed_per_s: float | None = measured("rate reported by a tool for its whole run; null for a client", unit="1/s")

    @property
    def figures(self) -> Mapping[str, float | None]:
        """The recorded figures that an objective can bound, by their names there."""
        return {name: getattr(self, field) for name, field in RECORDED_FIGURES.items()}


DEFAULT_OBJECTIVE: Final = "p99 < rtt + delay + 500ms, errors < 0.1%"
FIGURES: Final = ("p50", "p90", "p99", "p99.9", "mean", "max", "errors")
"""Figures of an objective: percentiles, mean and maximum of the response times, and the share of errors."""
ERRORS: Final = "errors"
RECORDED_FIGURES: Final = {
    **{"p50": "response_p50_ns", "p99": "response_p99_ns", "mean": "service_mean_ns", "max": "response_max_ns"},
    ERRORS: "errors_share",
}
"""Fields of ``CapacitySummary``, by the names of figures in an objective."""
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
        for clause in self.clauses:
            found = figures.get(clause.figure)
            if found is not None and not found < clause.bound(point):
                return clause
        return None


def parse_objective(text: str) -> Objective:
    """Parse comma-separated clauses; an empty text has none.

    A clause is ``FIGURE < BOUND``. The bound of a time adds and subtracts durations, ``rtt`` (the link's round-trip
    time at the point) and ``delay`` (the server's wait), as in ``2*rtt + delay + 500ms``; that of
    ``errors`` is in per cent.
    """
    if not text.strip():
        return Objective()
    clauses = tuple(_clause(part.strip()) for part in text.split(","))
    figures = [clause.figure for clause in clauses]
    if twice := next((figure for figure in figures if figures.count(figure) > 1), None):
        raise InvalidValue(f"{twice} is bounded twice; keep one of the two", option="--slo")
    return Objective(clauses)


def _clause(text: str) -> Clause:
    match = _CLAUSE.fullmatch(text)
    if match is None:
        raise InvalidValue(f"{text[:60]!r} is not understood; {_EXAMPLE}", option="--slo")
    figure, bound = match["figure"].replace("_", "."), match["bound"]
    if figure not in FIGURES:
        raise InvalidValue(f"unknown figure {figure[:40]!r}; supported: {', '.join(FIGURES)}", option="--slo")
    if figure == ERRORS:
        percent = _PERCENT.fullmatch(bound)
        if percent is None or not 0 < float(percent["percent"]) <= 100:  # percent
            raise InvalidValue(
                f"errors are bounded by a share above 0 % and up to 100 %, not by {bound[:40]!r};"
                " write it like 'errors < 0.1%'",
                option="--slo",
            )
        return Clause(figure, bound, float(percent["percent"]) / 100)
    sums = _time(bound)
    if max(sums.values()) <= 0:
        raise InvalidValue(f"no answer can be faster than {bound[:40]!r}; {_EXAMPLE}", option="--slo")
    return Clause(figure, bound, sums[""], sums["rtt"], sums["delay"])


def _time(text: str) -> dict[str, float]:
    """Add the terms up: nanoseconds, round-trip times, delays."""
    signed = text if text.startswith(("+", "-")) else f"+ {text}"
    terms = list(_TERM.finditer(signed))
    if "".join(term[0] for term in terms).replace(" ", "") != signed.replace(" ", ""):
        raise InvalidValue(f"{text[:60]!r} is not understood; {_EXAMPLE}", option="--slo")
    sums = {"": 0.0, "rtt": 0.0, "delay": 0.0}
    for term in terms:
        sign, what = (-1.0 if term["sign"] == "-" else 1.0), term["term"].strip()
        if own := _OWN.fullmatch(what):
            sums[own["what"]] += sign * float(own["times"] or 1)
        elif re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", what):
            raise InvalidValue(f"{what} needs a unit, like {what}ms", option="--slo")
        else:
            sums[""] += sign * parse_duration_ns(what, bare_unit="none", name="--slo")
    return sums
