"""Answers of a web to lists of URLs: the engine computes them once for each list, web and timeout."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from httpdyno.errors import InvalidValue
from httpdyno.judge import Expectations, expectations_unknown, read_expectations
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.peer import peer_expectations
from httpdyno.lab.planned_time import PlannedTime, planned_time, read_planned_s, read_slow
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, UrlSeries

__all__ = ["Answers", "WebAnswers", "read_answers"]

_SERIES_KEPT: Final = 8
"""Points that differ in their link only share a series; those of other sizes and delays have another one."""

_ELSEWHERE: Final = "elsewhere"
_Question = tuple[str, int, float, str, str, str, str]
"""What the engine is asked: the web, its seed, the timeout of a client, what it checks, the version of HTTP that it
speaks alone; a series' prefix, another machine's origin."""
_PREFIX: Final = 5
"""Where in a question a series' prefix is; empty for any other list."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of the web to a list."""

    expectations: Expectations
    planned: PlannedTime
    kept_as: str | None = None
    """Name under which the run keeps the truth; None if it does not."""
    slow: tuple[int, ...] = ()
    """The places in the list, from 0, of its slowest URLs: first those that only the client's timeout ends, then those
    whose name server fails."""

    def first(self, count: int) -> "Answers":
        """Return those to the first URLs of a series."""
        whole = len(self.expectations)
        if count == whole:
            return self
        # The URLs of a series differ in their number only, which no plan looks at.
        planned = replace(self.planned, total_s=self.planned.total_s * count / whole, urls=count, late=())
        slow = tuple(one for one in self.slow if one < count)
        return Answers(self.expectations.first(count), planned, self.kept_as, slow)


@dataclass(slots=True)
class WebAnswers:
    """Asks the engine, and remembers."""

    engine: Engine
    interruption: Interruption
    keep: Callable[[Path], str | None] = lambda _: None
    """Keeps the file with the truth of a list; returns its name."""
    _known: dict[_Question, Answers] = field(default_factory=dict)

    def of(self, condition: Condition, urls: ScratchFile) -> Answers:
        """Return the answers of a condition's web to its list, computed once.

        Of a series that was asked for with more URLs the first are taken.
        """
        if condition.peer is not None:
            return read_answers(urls.path, condition)
        series = condition.workload.urls if isinstance(condition.workload.urls, UrlSeries) else None
        question = (
            condition.web,
            condition.seed,
            condition.workload.timeout_s,
            condition.workload.check,
            condition.workload.http_version,
            series.prefix if series else "",
            condition.against or "",
        )
        known = self._known.pop(question, None)
        if known is None or (series and len(known.expectations) < series.count):
            # For millions of URLs this takes a minute: an interruption ends it at once.
            with self.interruption.at_once("the answers of the web were being computed"):
                known = self._ask(condition, urls)
            for old in _oldest_series(self._known):
                del self._known[old]
        self._known[question] = known
        return known.first(series.count) if series else known

    def _ask(self, condition: Condition, urls: ScratchFile) -> Answers:
        if condition.live:
            return replace(read_answers(urls.path, condition), kept_as=self.keep(urls.path))
        timeout_s = condition.workload.timeout_s
        with ScratchFile() as file:
            self.engine.expect(
                web=condition.web,
                seed=condition.seed,
                timeout_s=timeout_s,
                check=condition.workload.check,
                http_version=condition.workload.http_version,
                urls=urls.path,
                into=file.file,
                against=condition.against,
            )
            known = replace(read_answers(file.path, condition), kept_as=self.keep(file.path))
        if condition.against is not None:
            _check_reach(known.expectations, condition.against)
        return known


def read_answers(truth: Path, condition: Condition) -> Answers:
    """Read the truth of a list: the CSV of ``engine expect``; for the real internet, the list itself.

    Of a list for a server that plays the peer, nothing is read: the contract fixes its answers.
    """
    series = condition.workload.urls if isinstance(condition.workload.urls, UrlSeries) else None
    if condition.peer is not None:
        assert series is not None, "a server that plays the peer is asked for one document only"
        return Answers(peer_expectations(series), PlannedTime(0.0, 0.0, series.count))
    if condition.live:
        return _unknown(truth)
    timeout_s = condition.workload.timeout_s
    planned_s, slow = read_planned_s(truth, timeout_s=timeout_s), read_slow(truth, timeout_s=timeout_s)
    return Answers(read_expectations(truth), planned_time(planned_s), slow=slow)


def _unknown(urls: Path) -> Answers:
    """Return all that is known of a list for the real internet: its URLs."""
    with urls.open("rb") as lines:
        text = [stripped for line in lines if (stripped := line.decode(errors="replace").strip())]
    return Answers(expectations_unknown(pl.Series(text, dtype=pl.String)), PlannedTime(0.0, 0.0, len(text)))


def _check_reach(expectations: Expectations, against: str) -> None:
    """Refuse a list that leads away from the one origin there is: what lies elsewhere is the real internet."""
    away = expectations.distinct.filter(expectations.distinct["cause"] == _ELSEWHERE)["url"]
    if len(away):
        raise InvalidValue(
            f"--against {against}: {away[0]} is elsewhere, or redirects there ({len(away)} of the list);"
            " take a web that stays, such as plain, or leave them out"
        )


def _oldest_series(known: Mapping[_Question, Answers]) -> list[_Question]:
    """Find what makes room for one more: hundreds of lists with thousands of URLs would fill memory."""
    series = [question for question in known if question[_PREFIX]]
    return series[: max(0, len(series) - _SERIES_KEPT + 1)]
