"""Answers of a web to lists of URLs: the engine computes them once for each list, web and timeout."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

import polars as pl

from httpdyno.errors import InvalidValue
from httpdyno.judge import Expectations, expectations_unknown, read_expectations
from httpdyno.judge.reference import EXPECTED
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.planned_time import PlannedTime, read_planned_time
from httpdyno.lab.room import PEER_PORT
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, UrlSeries

PEER_URL: Final = f"http://peer.example:{PEER_PORT}"
"""URL of a peer server."""
_LENGTHS: Final = {"/plain": 13, "/json": 16_384}
"""Length of the answer to each path of such a server in bytes (``subjects/CONTRACT.md``)."""
_SERIES_KEPT: Final = 8
"""Number of series of URLs to cache: hundreds of lists with thousands of URLs would fill memory.

Conditions that differ only in their link share a series; other sizes and delays have another series.
"""
_ELSEWHERE: Final = "elsewhere"
_Key = tuple[str, int, float, str, str, str | None, str]
"""Web, seed, timeout, check, HTTP version, origin on another machine; prefix of a series, empty for any other list."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Answers of the web to a list."""

    expectations: Expectations
    planned: PlannedTime
    kept_as: str | None = None
    """Name under which the run stores the truth; None if it does not."""

    def first(self, count: int) -> "Answers":
        """Return the answers to the first URLs of a series."""
        whole = len(self.expectations)
        if count == whole:
            return self
        # The URLs of a series differ only in their number, on which no time depends.
        slow = tuple(place for place in self.planned.slow if place < count)
        total_s = self.planned.total_s * count / whole
        planned = replace(self.planned, total_s=total_s, urls=count, late=(), slow=slow)
        return Answers(self.expectations.first(count), planned, self.kept_as)


@dataclass(slots=True)
class WebAnswers:
    """Cache of the answers of webs to the lists of a run, which it queries from the engine."""

    engine: Engine
    interruption: Interruption
    keep: Callable[[Path], str | None] = lambda _: None
    """Stores the file with the truth of a list; returns its name."""
    _known: dict[_Key, Answers] = field(default_factory=dict)

    def of(self, condition: Condition, urls: ScratchFile) -> Answers:
        """Return the answers of a condition's web to its list, computed once.

        A shorter series reuses the answers of a longer one.

        Raises ``InvalidValue`` if the list leads away from another machine's origin.
        """
        if condition.peer is not None:
            return read_answers(urls.path, condition)
        workload = condition.workload
        series = workload.urls if isinstance(workload.urls, UrlSeries) else None
        settings = workload.timeout_s, workload.check, workload.http_version
        key = (condition.web, condition.seed, *settings, condition.against, series.prefix if series else "")
        known = self._known.pop(key, None)
        if known is None or (series and len(known.expectations) < series.count):
            # For millions of URLs this takes a minute: an interruption ends it at once.
            with self.interruption.at_once("the answers of the web were being computed"):
                known = self._compute(condition, urls)
            for old in [key for key in self._known if key[-1]][: -_SERIES_KEPT + 1]:
                del self._known[old]
        self._known[key] = known
        return known.first(series.count) if series else known

    def _compute(self, condition: Condition, urls: ScratchFile) -> Answers:
        if condition.live:
            return replace(read_answers(urls.path, condition), kept_as=self.keep(urls.path))
        with ScratchFile() as file:
            self.engine.expect(condition, urls.path, file.file)
            known = replace(read_answers(file.path, condition), kept_as=self.keep(file.path))
        distinct = known.expectations.distinct
        away = distinct.filter(distinct["cause"] == _ELSEWHERE)["url"]
        if condition.against is not None and len(away):
            raise InvalidValue(
                f"--against {condition.against}: {away[0]} is elsewhere, or redirects there ({len(away)} of the list);"
                " use a web without such URLs, such as plain, or leave them out"
            )
        return known


def read_answers(truth: Path, condition: Condition) -> Answers:
    """Read the truth of a list: the CSV of ``engine expect``; for the real internet, the list itself.

    For a list of a peer server, nothing is read: the contract fixes its answers.
    """
    if condition.peer is not None:
        series = condition.workload.urls
        assert isinstance(series, UrlSeries), "a peer server gets requests for one document only"
        return Answers(peer_expectations(series), PlannedTime(0.0, 0.0, series.count))
    if condition.live:
        return unknown_answers(truth)
    planned = read_planned_time(truth, timeout_s=condition.workload.timeout_s)
    return Answers(read_expectations(truth), planned)


def unknown_answers(lines: Path) -> Answers:
    """Return the answers to a list when no web serves it: none of them is known."""
    with lines.open("rb") as file:
        urls = [stripped for line in file if (stripped := line.decode(errors="replace").strip())]
    return Answers(expectations_unknown(pl.Series(urls, dtype=pl.String)), PlannedTime(0.0, 0.0, len(urls)))


def peer_expectations(series: UrlSeries) -> Expectations:
    """Return the answers of a server to a series of URLs: the content that its contract fixes, without arrivals.

    Raises ``InvalidValue`` unless the series is of the peer's ``/plain`` or ``/json``.
    """
    path = series.prefix.removeprefix(PEER_URL).partition("?")[0]
    if path not in _LENGTHS or not series.prefix.startswith(PEER_URL):
        raise InvalidValue(f"{series.prefix}: a server's answer there is unknown; use /plain or /json")
    same = {"outcome": "status", "status": 200, "length": _LENGTHS[path], "cause": None, "arrives": 0}
    constants = (pl.lit(same.get(name), type_).alias(name) for name, type_ in EXPECTED.items() if name != "url")
    return Expectations.of(pl.DataFrame({"url": pl.Series(list(series))}).with_columns(*constants))
