"""A limit of a load, ``p99 > 50ms``: how it is read, and what it says of what was measured."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final, Literal

from httpdyno.errors import InvalidValue, UnknownName
from httpdyno.experiments.load.figures import LoadSummary
from httpdyno.experiments.load.metrics import LOAD_METRICS
from httpdyno.model import ColumnKind, Metric, Trial, Validity, format_exact, format_time, parse_duration_ns
from httpdyno.stats import median

__all__ = ["LoadLimit", "limit_names", "parse_load_limit"]

_FORM: Final = re.compile(r"(?P<name>[A-Za-z0-9_.]+)\s*(?P<operator>[<>])\s*(?P<value>\S.*)", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,9})?", re.ASCII)
_EXAMPLES: Final = "write it like 'p99 > 50ms', 'errors > 0.1%' or 'rps < 1000'"
_KNOWN: Final[Mapping[str, Metric]] = {metric.name: metric for metric in LOAD_METRICS}
_SHARED: Final = ("errors", "checks", "not_2xx", "resent")
"""Counts that can be limited in per cent, too."""
_ALL: Final = 100
"""Per cent."""
_NEEDS_A_SCHEDULE: Final = ("send_lag_", "unsent")


@dataclass(frozen=True, slots=True)
class LoadLimit:
    """What a figure of a load must not be."""

    text: str
    """As it was given."""
    metric: Metric
    operator: Literal["<", ">"]
    value: float
    """In the unit of the metric; in per cent of the requests for a share."""
    share: bool = False
    """Whether a count is limited as a share of the requests."""

    def check_schedule(self, *, open_loop: bool) -> None:
        """Refuse a limit of what only an open loop has."""
        if not open_loop and self.metric.name.startswith(_NEEDS_A_SCHEDULE):
            raise InvalidValue(f"--fail-if {self.text!r}: only an open loop has it; give a --rate")

    def found(self, trials: Sequence[Trial]) -> float | None:
        """Return what was measured: the median of the trials that have the figure; None when none has.

        Where the generator was at its end, rates and times are its own, and none of the server's.
        """
        counted = self.metric.name in _SHARED
        own = (trial for trial in trials if counted or trial.validity is not Validity.GENERATOR_LIMITED)
        return median(self._figure(trial) for trial in own)

    def holds(self, found: float) -> bool:
        """Return whether what was measured is beyond the limit, which fails the command."""
        return found < self.value if self.operator == "<" else found > self.value

    def words(self, found: float) -> str:
        """Describe what was measured, and by how much it is beyond the limit."""
        percent = 100 * abs(found - self.value) / self.value if self.value else None
        apart = "" if percent is None else f"{percent:,.0f} % " if percent >= 10 else f"{percent:.2g} % "
        side = "below" if self.operator == "<" else "above"
        return f"{self.metric.name} is {self._shown(found)}, {apart}{side} {self._shown(self.value)}"

    def _figure(self, trial: Trial) -> float | None:
        value = self.metric.figure(trial)
        load = trial.get(LoadSummary)
        if not self.share or value is None or load is None:
            return value
        ended = load.requests + (load.errors if self.metric.name == "errors" else 0)
        return 100 * value / ended if ended else None

    def _shown(self, value: float) -> str:
        if self.share:
            return f"{value:.3g} %"
        if self.metric.column.kind is ColumnKind.TIME:
            return format_time(value * 1e6)
        return format_exact(round(value, 3))


def limit_names() -> tuple[str, ...]:
    """List what can be limited: what the guide names is held against it."""
    return tuple(_KNOWN)


def parse_load_limit(text: str) -> LoadLimit:
    """Read ``NAME > VALUE`` or ``NAME < VALUE``.

    Times need their unit (``50ms``); counts of errors, of wrong checks and of other answers than 2xx may be given as a
    share of the requests (``0.1%``). ``p99.9`` is ``p99_9``.
    """
    match = _FORM.fullmatch(text.strip())
    if match is None:
        raise InvalidValue(f"--fail-if {text[:60]!r} is not understood; {_EXAMPLES}")
    metric = _metric(match["name"], text)
    operator: Literal["<", ">"] = "<" if match["operator"] == "<" else ">"
    value, share = _value(match["value"].strip(), metric, text)
    if share and (value > _ALL or (value == _ALL and operator == ">")):
        raise InvalidValue(
            f"--fail-if {text[:60]!r}: no share of the requests is ever more than 100 %; write it like 'errors > 0.1%'"
        )
    return LoadLimit(text.strip(), metric, operator, value, share)


def _metric(name: str, text: str) -> Metric:
    known = name.replace(".", "_")
    if known in _KNOWN:
        return _KNOWN[known]
    close = get_close_matches(known, _KNOWN, n=1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    some = "rps, errors, checks, p50, p90, p99, p99.9, max, service_p99, send_lag_p99, first_byte_p99 and the like"
    raise UnknownName(f"--fail-if {text[:60]!r}: there is no {name[:40]!r}; {meant}known are: {some}")


def _value(value: str, metric: Metric, text: str) -> tuple[float, bool]:
    where = f"--fail-if {text[:60]!r}"
    if metric.column.kind is ColumnKind.TIME:
        if _NUMBER.fullmatch(value):
            raise InvalidValue(f"{where}: {metric.name} is a time and needs its unit; write it like {value}ms")
        return parse_duration_ns(value, name=where) / 1e6, False
    number, percent = value.removesuffix("%").rstrip(), value.endswith("%")
    if not _NUMBER.fullmatch(number):
        raise InvalidValue(f"{where}: {value[:40]!r} is no number; {_EXAMPLES}")
    if percent and metric.name not in _SHARED:
        shares = ", ".join(_SHARED)
        raise InvalidValue(f"{where}: {metric.name} is no share of the requests; in per cent there are: {shares}")
    return float(number), percent
