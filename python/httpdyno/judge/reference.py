"""What the claims of a client are held against: what each URL must answer, and when requests arrived at the origin."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

import polars as pl

from httpdyno.errors import EngineFailed

__all__ = ["Reference", "expectations_unknown", "read_arrivals", "read_expectations"]

_EXPECTED: Final[dict[str, pl.DataType]] = {
    "url": pl.String(),
    "outcome": pl.Enum(["status", "error", "either"]),
    "status": pl.Int16(),
    "length": pl.Int64(),
    "cause": pl.Categorical(),
    "arrives": pl.Int8(),
    "request_url": pl.String(),
}
_ARRIVED: Final[dict[str, pl.DataType]] = {"at_ns": pl.Int64(), "done_ns": pl.Int64(), "url": pl.String()}


@dataclass(frozen=True, slots=True)
class Reference:
    """What the claims of a client are held against.

    Attributes
    ----------
    expectations : pl.DataFrame
        As ``read_expectations`` or ``expectations_unknown`` give them.
    arrivals : pl.DataFrame | None
        As ``read_arrivals`` gives them; None where nothing was logged.
    """

    expectations: pl.DataFrame
    arrivals: pl.DataFrame | None = None


def read_expectations(source: Path | BinaryIO) -> pl.DataFrame:
    """Read the CSV of ``engine expect``.

    Returns
    -------
    pl.DataFrame
        One row for each URL given, duplicates kept: ``url``, ``outcome`` (status, error or either), ``status``,
        ``length``, ``cause``, ``arrives``, ``request_url``.

    Raises
    ------
    EngineFailed
        If it is no such CSV.
    """
    # Clients print a URL without the spaces around it, and lines are read so; the two must meet.
    read = _read(source, _EXPECTED, "expectations").with_columns(pl.col("url").str.strip_chars())
    return read.filter(pl.col("url") != "")


def expectations_unknown(urls: pl.Series) -> pl.DataFrame:
    """Make expectations for a web that nobody can verify: the URLs alone, everything else null."""
    return pl.DataFrame({"url": urls.cast(pl.String)}).with_columns(
        pl.lit(None, dtype=type_).alias(name) for name, type_ in _EXPECTED.items() if name != "url"
    )


def read_arrivals(source: Path | BinaryIO) -> pl.DataFrame:
    """Read the log of arrivals at the origin.

    Returns
    -------
    pl.DataFrame
        One row for each request: ``at_ns`` when its head was complete, ``done_ns`` when the last byte of the answer was
        handed to the kernel (null if never), ``url``.

    Raises
    ------
    EngineFailed
        If it is no such CSV.
    """
    return _read(source, _ARRIVED, "arrivals")


def _read(source: Path | BinaryIO, columns: dict[str, pl.DataType], what: str) -> pl.DataFrame:
    try:
        # In one piece: picking texts out of many pieces takes twenty times as long.
        return pl.read_csv(source, columns=list(columns), schema_overrides=columns).rechunk()
    except pl.exceptions.NoDataError:
        # Of no URL at all the engine writes nothing, not even a header.
        return pl.DataFrame(schema=columns)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EngineFailed(f"the engine's {what} cannot be read ({reason}): build the engine again") from error
