"""Start times as clients print them: ISO 8601 in the forms that the standard libraries of languages write."""

from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl

from httpdyno.judge.times_alike import read_times_alike

__all__ = ["read_start_times"]

_LENGTHS: Final = 16
"""Client print times of one length, or of a few where they leave out zeros at the end."""
_SECONDS_LENGTH: Final = len("2024-10-21T12:34:56")
_DIGITS: Final = "0123456789"
_OFFSET: Final = r"^\s?([+-])([01][0-9]|2[0-3])(?::?([0-5][0-9]))?$"
_ZONE_NAME: Final = r"\s?\[[A-Za-z0-9_+/:.-]*\]$"
_NANOSECOND_DIGITS: Final = 9
_PRECISIONS_NS: Final = np.array([10 ** (_NANOSECOND_DIGITS - digits) for digits in range(_NANOSECOND_DIGITS + 1)])
"""What the last of so many digits after the point stands for."""


def read_start_times(texts: pl.Series) -> pl.DataFrame:
    """Read start times, whole columns at a time.

    Understood are ``2024-10-21T12:34:56`` with a ``T``, ``t`` or space in the middle; seconds or a fraction that are
    left out (some libraries drop them when they are zero); ``Z``, ``z``, ``+02:00``, ``+0200``, ``+02`` or no offset,
    which means UTC; a zone name in brackets after the offset, which is ignored.

    Parameters
    ----------
    texts : pl.Series
        Strings, shape (n,).

    Returns
    -------
    pl.DataFrame
        ``start_ns`` (int64, since the Unix epoch) and ``precision_ns`` (int64, what the last digit stands for: 1e9 when
        there is no fraction), shape (n,). Both are null where the text is no such time or is not within 1970 to 2199.
    """
    lengths = texts.str.len_bytes().fill_null(0).to_numpy()
    distinct = np.unique(lengths)
    if len(distinct) == 1:
        return _read_one_length(texts)
    if len(distinct) == 0 or len(distinct) > _LENGTHS:
        return _read_any(texts)
    rows = [np.flatnonzero(lengths == length) for length in distinct]
    read = pl.concat(_read_one_length(texts.gather(part)) for part in rows)
    return read[np.argsort(np.concatenate(rows))]


def _read_one_length(texts: pl.Series) -> pl.DataFrame:
    """Read texts of one length, which nearly always are of one form too: five times as fast."""
    first = _read_any(texts.head(1))
    first_ns, precision_ns = first.row(0)
    starts = read_times_alike(texts, first_ns) if first_ns is not None else None
    if starts is None:
        return _read_any(texts)
    return pl.DataFrame({"start_ns": starts}).with_columns(precision_ns=pl.lit(precision_ns, dtype=pl.Int64))


def _read_any(texts: pl.Series) -> pl.DataFrame:
    """Read texts each for itself."""
    text = pl.col("text")
    rest = pl.col("rest")
    split = (
        pl.DataFrame({"text": texts})
        .with_columns(_with_seconds(texts))
        .select(seconds=text.str.slice(0, _SECONDS_LENGTH), rest=text.str.slice(_SECONDS_LENGTH))
        .with_columns(
            zone=pl.when(rest.str.starts_with(".")).then(rest.str.strip_chars_start("." + _DIGITS)).otherwise(rest)
        )
        .with_columns(digits=rest.str.slice(1, rest.str.len_bytes() - pl.col("zone").str.len_bytes() - 1))
    )
    whole = _map_distinct(split["seconds"], _whole_seconds_ns)
    offset = _map_distinct(split["zone"], _offset_ns)
    fraction = _fractions(split)
    return pl.DataFrame({"whole": whole, "offset": offset, "fraction": fraction["fraction_ns"]}).select(
        start_ns=pl.col("whole") + pl.col("fraction") - pl.col("offset"),
        precision_ns=pl.when(pl.sum_horizontal("whole", "offset", "fraction", ignore_nulls=False).is_not_null()).then(
            fraction["precision_ns"]
        ),
    )


def _with_seconds(texts: pl.Series) -> pl.Series:
    """Add the seconds that some libraries leave out when they are zero; nearly always there is nothing to do."""
    without = texts.str.slice(_SECONDS_LENGTH - 3, 1) != ":"
    if not without.fill_null(False).any():
        return texts.alias("text")
    padded = texts.str.replace(r"^([0-9-]{10}[Tt ][0-9]{2}:[0-9]{2})([Zz+\[ -]|$)", "$1:00$2")
    return padded.zip_with(without.fill_null(False), texts).alias("text")


def _map_distinct(texts: pl.Series, read: Callable[[pl.Series], pl.Series]) -> pl.Series:
    """Read each distinct text once: a crawl has few distinct seconds, and mostly one offset."""
    first = texts.head(1)
    if (texts == first.item() if len(first) and first.item() is not None else texts.is_null()).all():
        value = read(first)
        return value.new_from_index(0, len(texts)) if len(first) else value
    distinct = texts.unique()
    known = pl.DataFrame({"text": distinct, "value": read(distinct)})
    joined = pl.DataFrame({"text": texts}).join(known, on="text", how="left", maintain_order="left", nulls_equal=True)
    return joined["value"]


def _whole_seconds_ns(texts: pl.Series) -> pl.Series:
    # The shape is checked first: the datetime parser by itself takes a year of any length and a signed number.
    shaped = texts.str.contains(
        r"^(?:19[7-9][0-9]|20[0-9]{2}|21[0-9]{2})-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}$"
    )
    normal = texts.str.replace("[Tt]", " ").set(~shaped.fill_null(False), None)
    return normal.str.to_datetime("%Y-%m-%d %H:%M:%S", time_unit="ns", strict=False).cast(pl.Int64)


def _offset_ns(texts: pl.Series) -> pl.Series:
    text = pl.col("text")
    bare = text.str.replace(_ZONE_NAME, "")
    parts = bare.str.extract_groups(_OFFSET).struct
    minutes = parts.field("2").cast(pl.Int64) * 60 + parts.field("3").cast(pl.Int64).fill_null(0)
    signed = pl.when(parts.field("1") == "-").then(-minutes).otherwise(minutes)
    utc = bare.str.strip_chars_start(" ").str.to_lowercase().is_in(["z", "utc", ""])
    return pl.DataFrame({"text": texts}).select(value=pl.when(utc).then(0).otherwise(signed * 60_000_000_000))["value"]


def _fractions(split: pl.DataFrame) -> pl.DataFrame:
    """Nanoseconds of the digits after the point, and what the last of them stands for."""
    fields = split.select(
        absent=~pl.col("rest").str.starts_with("."),
        # A second point among the digits makes the cast fail, as does the lack of any.
        number=pl.col("digits").str.slice(0, _NANOSECOND_DIGITS).cast(pl.Int64, strict=False),
        length=pl.col("digits").str.len_bytes().clip(0, _NANOSECOND_DIGITS).fill_null(0),
        plain=pl.col("digits").str.slice(_NANOSECOND_DIGITS).str.contains(".", literal=True).not_(),
    )
    precision = pl.Series(_PRECISIONS_NS[fields["length"].to_numpy()])
    number = pl.when("plain").then(pl.col("number") * precision)
    return fields.select(
        fraction_ns=pl.when("absent").then(0).otherwise(number),
        precision_ns=pl.when("absent").then(10**9).otherwise(precision),
    )
