"""What a web answers to lists of URLs: the engine is asked once for each list, web and timeout."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
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

__all__ = ["Answers", "WebAnswers"]

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
    """What the web answers to a list."""

    expectations: Expectations
    planned: PlannedTime
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
        return Answers(self.expectations.first(count), planned, tuple(one for one in self.slow if one < count))


@dataclass(slots=True)
class WebAnswers:
    """Asks the engine, and remembers."""

    engine: Engine
    interruption: Interruption
    _known: dict[_Question, Answers] = field(default_factory=dict)

    def of(self, condition: Condition, urls: ScratchFile) -> Answers:
        """Return what the web of a condition answers to its list, asked for once.

        Of a series that was asked for with more URLs the first are taken.
        """
        series = condition.workload.urls if isinstance(condition.workload.urls, UrlSeries) else None
        if condition.peer is not None:
            assert series is not None, "a server that plays the peer is asked for one document only"
            return Answers(peer_expectations(series), PlannedTime(0.0, 0.0, series.count))
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
            # Of millions of URLs that takes a minute, which nobody who wants to stop should have to wait.
            with self.interruption.at_once("the web was being asked what each URL answers"):
                known = self._ask(condition, urls)
            for old in _oldest_series(self._known):
                del self._known[old]
        self._known[question] = known
        return known.first(series.count) if series else known

    def _ask(self, condition: Condition, urls: ScratchFile) -> Answers:
        if condition.live:
            return _unknown(urls)
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
            planned_s = read_planned_s(file.path, timeout_s=timeout_s)
            slow = read_slow(file.path, timeout_s=timeout_s)
            known = Answers(read_expectations(file.path), planned_time(planned_s), slow)
        if condition.against is not None:
            _check_reach(known.expectations, condition.against)
        return known


def _unknown(urls: ScratchFile) -> Answers:
    """Return all that is known of a list for the real internet: its URLs."""
    with urls.path.open("rb") as lines:
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
