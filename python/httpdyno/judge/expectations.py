"""What each URL of a list must answer, looked up by every trial of a condition."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import numpy as np
import polars as pl

from httpdyno.judge.engine_csv import read_engine_csv
from httpdyno.judge.served import Served
from httpdyno.judge.text_index import TextIndex
from httpdyno.stats import Int64Array

__all__ = ["EXPECTED", "Expectations", "expectations_unknown", "read_expectations"]

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
    """What each URL of a list must answer: the same each time that it is given.

    Attributes
    ----------
    distinct : pl.DataFrame
        One row for each URL, in the order of the list: ``url``, ``outcome`` (status, error or either), ``status``,
        ``length``, ``cause``; all but ``url`` null where nobody knows.
    given : Int64Array
        How often each is in the list; shape (rows of ``distinct``,).
    urls : TextIndex
        Finds the row of a URL.
    request : Int64Array
        For each row the number of the request that must reach the origin, from 0; -1 where none must.
    requests : TextIndex
        Finds the number of a request by its URL as the origin logs it.
    """

    distinct: pl.DataFrame
    given: Int64Array
    urls: TextIndex
    request: Int64Array
    requests: TextIndex

    @classmethod
    def of(cls, rows: pl.DataFrame) -> "Expectations":
        """Prepare the expectations of a list: one row for each of its URLs, duplicates kept, columns ``EXPECTED``."""
        urls = TextIndex(rows["url"])
        given = np.ones(len(rows), dtype=np.int64)
        distinct = rows
        if not urls.distinct:
            distinct = rows.unique("url", keep="first", maintain_order=True)
            urls = TextIndex(distinct["url"])
            given = np.bincount(urls.find(rows["url"]), minlength=len(distinct))
        must_arrive = distinct.select((pl.col("arrives") == 1).fill_null(False)).to_series()
        request, requests = _requests(distinct["request_url"].filter(must_arrive).fill_null(""))
        of_row = np.full(len(distinct), -1, dtype=np.int64)
        of_row[must_arrive.to_numpy()] = request
        return cls(distinct.select("url", "outcome", "status", "length", "cause"), given, urls, of_row, requests)

    def first(self, count: int) -> "Expectations":
        """Return those of the first URLs of the list alone; a list that is no longer than that stays as it is.

        A longer one must have each URL once: its first URLs are otherwise not the first rows.
        """
        if count >= len(self):
            return self
        if len(self.distinct) != len(self):
            raise ValueError("a list with a URL in it more than once cannot be cut")
        distinct = self.distinct.head(count)
        return Expectations(
            distinct, self.given[:count], TextIndex(distinct["url"]), self.request[:count], self.requests
        )

    def served(self, urls: Sequence[str]) -> list[Served | None]:
        """Return what the web answers to each of some URLs; None for one that is not in the list."""
        rows = self.urls.find(pl.Series(urls, dtype=pl.String)).tolist()
        columns = self.distinct.select("outcome", "status", "length", "cause")
        return [None if row < 0 else Served(*columns.row(row)) for row in rows]

    def __len__(self) -> int:
        """Return the length of the list."""
        return int(self.given.sum())


def _requests(urls: pl.Series) -> tuple[Int64Array, TextIndex]:
    """Return a number for each request; two URLs may make the same: https://example.org and https://example.org/."""
    index = TextIndex(urls)
    if index.distinct:
        return np.arange(len(urls), dtype=np.int64), index
    index = TextIndex(urls.unique(maintain_order=True))
    return index.find(urls), index


def read_expectations(source: Path | BinaryIO) -> Expectations:
    """Read the CSV of ``engine expect``."""
    # Clients print a URL without the spaces around it, and lines are read so; the two must meet.
    read = read_engine_csv(source, EXPECTED, "expectations").with_columns(pl.col("url").str.strip_chars())
    return Expectations.of(read.filter(pl.col("url") != ""))


def expectations_unknown(urls: pl.Series) -> Expectations:
    """Make expectations for a web that nobody can verify: the URLs alone, everything else null."""
    return Expectations.of(
        pl.DataFrame({"url": urls.cast(pl.String)}).with_columns(
            pl.lit(None, dtype=type_).alias(name) for name, type_ in EXPECTED.items() if name != "url"
        )
    )
