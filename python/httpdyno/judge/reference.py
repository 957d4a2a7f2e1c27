"""The truth with which the claims of a client are compared: the right answer of each URL, and the arrivals."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import polars as pl

from httpdyno.judge.lines import read_engine_csv
from httpdyno.model import Verdict
from httpdyno.stats import Int64Array

WRONG_CONTENT: Final = "check_failed"
"""Cause of a correctly served answer whose content fails the client's check."""
CHECK_FAILED: Final = "CheckFailed"
"""The error that the client must then report (``subjects/CONTRACT.md``): the only error whose name is judged."""
_STATUS_DIGITS: Final = 3
_OF_TIME: Final = {
    Verdict.LATE: "past its timeout",
    Verdict.WRONG_TIME: "the origin saw no such request at that time",
}


FIRST_STATUSES: Final = {"too_many_requests": 429, "unavailable": 503}
"""Statuses of the first answer where the second has the page, by cause."""


@dataclass(frozen=True, slots=True)
class Served:
    """Answer that the web serves for a URL."""

    outcome: str | None
    """``status``, ``error`` or ``either``; None: unknown."""
    status: int | None = None
    length: int | None = None
    cause: str | None = None


def wrong_words(code: str, length: int | None, served: Served) -> str | None:
    """Describe a wrong answer and what the web served: ``200, 16383 B; served 16384``.

    None if its code and length are right; its time is not considered.
    """
    if served.outcome is None:
        return None
    if not (len(code) == _STATUS_DIGITS and code.isascii() and code.isdigit()):
        unread = served.cause == WRONG_CONTENT and code != CHECK_FAILED
        if served.outcome != "status" and not unread:
            return None
        return f"{code}; served {served.status}" if served.status else f"{code}; expected {CHECK_FAILED}"
    if served.outcome == "error":
        return f"{code}; expected an error: {served.cause}"
    if served.outcome == "either" and int(code) == FIRST_STATUSES.get(served.cause or ""):
        return None
    if int(code) != served.status:
        return f"{code}; served {served.status}"
    if served.length is None or length == served.length:
        return None
    return f"{code}, {'no length' if length is None else f'{length} B'}; served {served.length}"


def sample_words(sample: Mapping[str, Any]) -> str:
    """Describe a wrong sample, a row with the columns of ``model.Sample``."""
    verdict, code = Verdict(sample["verdict"]), str(sample["code"])
    if verdict in _OF_TIME:
        return f"{code}; {_OF_TIME[verdict]}"
    if verdict is Verdict.MISSED_ERROR:
        served = Served("error", cause=sample["cause"])
    elif sample["served_status"] is None and sample["cause"] != WRONG_CONTENT:
        return code  # in a run from before this column existed
    else:
        served = Served("status", sample["served_status"], sample["served_body_length"], sample["cause"])
    return wrong_words(code, sample["body_length"], served) or code


_HASH_BITS: Final = 64
HashArray = npt.NDArray[np.uint64]


class TextIndex:
    """Index of the rows of a text column.

    The hashes of the texts are sorted, and each has the number of its row in its lower bits. A table gives the start of
    those with the same upper bits. It has at least as many entries as there are texts, so a search looks at one or two
    places. That is ten times as fast as a join of texts. No text may be null.

    Attributes
    ----------
    distinct : bool
        True if no two texts are equal; False if two may be.
    """

    def __init__(self, texts: pl.Series) -> None:
        self._texts: Final = texts.rechunk()
        bits = max(len(texts).bit_length(), 1)
        self._row: Final = np.uint64(2**bits - 1)
        self._shift: Final = np.uint64(_HASH_BITS - bits)
        self._places: Final = np.sort(self._hashes(self._texts) | np.arange(len(texts), dtype=np.uint64))
        counts = np.bincount((self._places >> self._shift).astype(np.int64), minlength=2**bits)
        # There is no hash after the last place: all hashes are then smaller than the wanted one.
        begins = np.minimum(np.cumsum(counts) - counts, max(len(texts) - 1, 0))
        self._begins: Final = begins.astype(np.uint32)
        self.distinct: Final = self._are_distinct()

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self._texts)

    def find(self, texts: pl.Series) -> Int64Array:
        """Return the row of each text, from 0; -1 if there is none.

        No text may be null. Shape (m,), for m texts.
        """
        found = np.full(len(texts), -1, dtype=np.int64)
        if len(self) == 0:
            return found
        texts = texts.rechunk()
        sought = self._hashes(texts)
        wanted = np.arange(len(texts), dtype=np.uint32)
        begins = self._begins[sought >> self._shift]
        while len(wanted):
            places = self._places[begins]
            here = places & ~self._row
            equal = here == sought
            candidates, rows = wanted[equal], (places[equal] & self._row).astype(np.uint32)
            same = (texts.gather(candidates) == self._texts.gather(rows)).to_numpy()
            found[candidates[same]] = rows[same]
            # Hashes ascend: no equal hash follows a greater one.
            ahead = (here <= sought) & (found[wanted] < 0) & (begins + 1 < len(self))
            wanted, sought, begins = wanted[ahead], sought[ahead], begins[ahead] + 1
        return found

    def _hashes(self, texts: pl.Series) -> HashArray:
        return texts.hash().to_numpy() & ~self._row

    def _are_distinct(self) -> bool:
        hashes = self._places & ~self._row
        twice = np.flatnonzero(hashes[1:] == hashes[:-1])
        rows = (self._places & self._row).astype(np.uint32)
        same = self._texts.gather(rows[twice]) == self._texts.gather(rows[twice + 1])
        # If three texts have the same hash, the first may equal the third.
        return not same.any() and not (np.diff(twice) == 1).any()


EXPECTED: Final[dict[str, pl.DataType]] = {
    "url": pl.String(),
    "outcome": pl.Enum(["status", "error", "either"]),
    "status": pl.Int16(),
    "length": pl.Int64(),
    "cause": pl.String(),
    "arrives": pl.Int8(),
    "request_url": pl.String(),
}


@dataclass(frozen=True, slots=True)
class Expectations:
    """The right answer of each URL of a list."""

    distinct: pl.DataFrame
    """One row for each URL, in the order of the list: ``url``, ``outcome`` (status, error or either), ``status``,
    ``length``, ``cause``; all except ``url`` are null if unknown."""
    given: Int64Array
    """Number of occurrences of each in the list; shape (rows of ``distinct``,)."""
    urls: TextIndex
    """Finds the row of a URL."""
    request: Int64Array
    """For each row, the number of the request that must reach the origin, from 0; -1 if none must."""
    requests: TextIndex
    """Finds the number of a request by its URL in the origin's log."""

    @classmethod
    def of(cls, rows: pl.DataFrame) -> "Expectations":
        """Prepare the expectations of a list: one row for each URL, including duplicates, columns ``EXPECTED``."""
        urls = TextIndex(rows["url"])
        given = np.ones(len(rows), dtype=np.int64)
        distinct = rows
        if not urls.distinct:
            distinct = rows.unique("url", keep="first", maintain_order=True)
            urls = TextIndex(distinct["url"])
            given = np.bincount(urls.find(rows["url"]), minlength=len(distinct))
        must_arrive = distinct.select((pl.col("arrives") == 1).fill_null(False)).to_series()
        asked = distinct["request_url"].filter(must_arrive).fill_null("")
        # Two URLs may make the same request: https://example.org and https://example.org/.
        requests, numbers = TextIndex(asked), np.arange(len(asked), dtype=np.int64)
        if not requests.distinct:
            requests = TextIndex(asked.unique(maintain_order=True))
            numbers = requests.find(asked)
        of_row = np.full(len(distinct), -1, dtype=np.int64)
        of_row[must_arrive.to_numpy()] = numbers
        return cls(distinct.select("url", "outcome", "status", "length", "cause"), given, urls, of_row, requests)

    def first(self, count: int) -> "Expectations":
        """Return the expectations of the first URLs of the list.

        Each URL of the whole list must be unique: otherwise its first URLs are not the first rows.
        """
        if count >= len(self):
            return self
        if len(self.distinct) != len(self):
            raise ValueError("a list with duplicate URLs cannot be shortened")
        distinct = self.distinct.head(count)
        return Expectations(
            distinct, self.given[:count], TextIndex(distinct["url"]), self.request[:count], self.requests
        )

    def served(self, urls: Sequence[str]) -> list[Served | None]:
        """Return the right answer of each URL; None for one that is not in the list."""
        rows = self.urls.find(pl.Series(urls, dtype=pl.String)).tolist()
        columns = self.distinct.select("outcome", "status", "length", "cause")
        return [None if row < 0 else Served(*columns.row(row)) for row in rows]

    def __len__(self) -> int:
        """Return the length of the list."""
        return int(self.given.sum())


def read_expectations(source: Path | BinaryIO) -> Expectations:
    """Read the CSV of ``engine expect``."""
    # Clients print a URL without surrounding spaces, and lines are read without them; both must match.
    read = read_engine_csv(source, EXPECTED, "expectations").with_columns(pl.col("url").str.strip_chars())
    return Expectations.of(read.filter(pl.col("url") != ""))


def expectations_unknown(urls: pl.Series) -> Expectations:
    """Return expectations for a web that cannot be verified: the URLs, with null for everything else."""
    return Expectations.of(
        pl.DataFrame({"url": urls.cast(pl.String)}).with_columns(
            pl.lit(None, dtype=type_).alias(name) for name, type_ in EXPECTED.items() if name != "url"
        )
    )


_ARRIVED: Final[dict[str, pl.DataType]] = {"at_ns": pl.Int64(), "done_ns": pl.Int64(), "url": pl.String()}


@dataclass(frozen=True, slots=True)
class Reference:
    """The truth with which the claims of a client are compared."""

    expectations: Expectations
    """The right answer of each URL; the same for all trials of a condition."""
    arrivals: pl.DataFrame | None = None
    """Arrivals, in the form of ``read_arrivals``; None if they were not logged."""
    clock_bound_ns: int = 0
    """Error bound of the times of arrivals: those of another machine are translated to the clock of this one."""
    planned_mean_ns: float | None = None
    """Mean time that the web plans for a URL; None if it plans none."""


def read_arrivals(source: Path | BinaryIO) -> pl.DataFrame:
    """Read the log of arrivals at the origin.

    One row for each request: ``at_ns`` when its head was complete, ``done_ns`` when the call began that passed the last
    byte of the answer to the kernel (null if never), ``url``.
    """
    return read_engine_csv(source, _ARRIVED, "arrivals")


def clock_bound_ns(report: Mapping[str, Any]) -> int:
    """Return the error bound of another machine's clock on this machine's; 0 for a local origin."""
    against = report.get("against") or {}
    return int((against.get("clock") or {}).get("bound_ns", 0))
