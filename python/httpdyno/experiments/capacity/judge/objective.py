"""What has to hold at a point: ``p99 < rtt + delay + 500ms, errors < 0.1%``; how it is read, and whether it holds."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.experiments.capacity.figures import CapacityPoint
from httpdyno.model import format_time, parse_duration_ns

__all__ = ["DEFAULT_OBJECTIVE", "FIGURES", "Clause", "Objective", "parse_objective"]

DEFAULT_OBJECTIVE: Final = "p99 < rtt + delay + 500ms, errors < 0.1%"
FIGURES: Final = ("p50", "p90", "p99", "p99.9", "mean", "max", "errors")
"""What can be asked of: percentiles, mean and longest of the response times, and the share of errors."""
_ERRORS: Final = "errors"
_EXAMPLE: Final = f"write it like {DEFAULT_OBJECTIVE!r}"
_CLAUSE: Final = re.compile(r"(?P<figure>[^\s<>=]+)\s*<\s*(?P<bound>[^<>=]*\S)", re.ASCII)
_TERM: Final = re.compile(r"(?P<sign>[+-])\s*(?P<term>[^+-]+)")
_OWN: Final = re.compile(r"(?:(?P<times>[0-9]{1,6}(?:\.[0-9]{1,6})?)\s*\*?\s*)?(?P<what>rtt|delay)", re.ASCII)
_PERCENT: Final = re.compile(r"(?P<percent>[0-9]{1,3}(?:\.[0-9]{1,9})?)\s*%", re.ASCII)


@dataclass(frozen=True, slots=True)
class Clause:
    """One figure, and what it has to be below."""

    figure: str
    text: str
    """Of the bound, as it was given."""
    constant: float
    """Nanoseconds; of ``errors`` a share, 0 to 1."""
    round_trips: float = 0.0
    delays: float = 0.0

    def bound(self, point: CapacityPoint) -> float:
        """Return what the figure has to be below at a point: nanoseconds; of ``errors`` a share."""
        return self.constant + self.round_trips * point.round_trip_ns + self.delays * point.delay_ns

    def why_not(self, point: CapacityPoint, found: float) -> str:
        """Describe in a few words what was found, and what it is beyond."""
        bound = self.bound(point)
        if self.figure == _ERRORS:
            return f"{100 * found:.3g} % errors, not below {self.text}"
        own = f" ({self.text})" if self.round_trips or self.delays else ""
        return f"{self.figure} was {format_time(found)}, not below {format_time(bound)}{own}"


@dataclass(frozen=True, slots=True)
class Objective:
    """Clauses that all have to hold."""

    clauses: tuple[Clause, ...] = ()

    def judge(self, point: CapacityPoint, figures: Mapping[str, float | None]) -> tuple[bool | None, str | None]:
        """Hold what was found against every clause.

        ``figures`` go by the names of ``FIGURES``: nanoseconds, ``errors`` as a share; None, or absent, where not
        known. What comes back is whether all hold (None where none is broken, but one cannot be judged), and the first
        that does not hold, or what is not known.
        """
        unknown = None
        for clause in self.clauses:
            found = figures.get(clause.figure)
            if found is None:
                unknown = unknown or f"{clause.figure} is not known"
            elif not found < clause.bound(point):
                return False, clause.why_not(point, found)
        return (None, unknown) if unknown else (True, None)


def parse_objective(text: str, *, name: str = "--slo") -> Objective:
    """Read clauses with commas between them; an empty text asks for nothing.

    A clause is ``FIGURE < BOUND``. The bound of a time adds and subtracts durations, ``rtt`` (the link's round-trip
    time at the point) and ``delay`` (how long the server waits there), as in ``2*rtt + delay + 500ms``; that of
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
        raise InvalidValue(f"{name}: there is no {figure[:40]!r}; known are: {', '.join(FIGURES)}")
    if figure == _ERRORS:
        return Clause(figure, bound, _share(bound, name))
    clause = Clause(figure, bound, *_time(bound, name))
    if clause.constant <= 0 and clause.round_trips <= 0 and clause.delays <= 0:
        raise InvalidValue(f"{name}: nothing is faster than {bound[:40]!r}; {_EXAMPLE}")
    return clause


def _share(text: str, name: str) -> float:
    match = _PERCENT.fullmatch(text)
    if match is None or not 0 < float(match["percent"]) <= 100:  # percent
        raise InvalidValue(
            f"{name}: errors are bounded by a share above 0 % and up to 100 %, not by {text[:40]!r};"
            " write it like 'errors < 0.1%'"
        )
    return float(match["percent"]) / 100


def _time(text: str, name: str) -> tuple[float, float, float]:
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
        else:
            sums[""] += sign * _duration(what, name)
    return sums[""], sums["rtt"], sums["delay"]


def _duration(text: str, name: str) -> int:
    if re.fullmatch(r"[0-9]{1,18}(\.[0-9]{1,9})?", text):
        raise InvalidValue(f"{name}: {text} needs a unit, like {text}ms")
    return parse_duration_ns(text, bare_unit="none", name=name)
