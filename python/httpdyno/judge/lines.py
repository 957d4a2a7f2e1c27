"""The lines that a client printed, read as samples: lenient, by whole columns, safe with any bytes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final

import numpy as np
import polars as pl

from httpdyno.judge.fields import FIELDS, LONGEST_LINE, Block
from httpdyno.judge.start_time import read_start_times

__all__ = ["LINE_COLUMNS", "Lines", "read_lines"]

LINE_COLUMNS: Final[dict[str, pl.DataType]] = {
    "line": pl.Int32(),
    "url": pl.String(),
    "code": pl.String(),
    "status": pl.Int16(),
    "start_ns": pl.Int64(),
    "precision_ns": pl.Int64(),
    "duration_ns": pl.Int64(),
    "body_length": pl.Int64(),
}

_BLOCK_BYTES: Final = 8 * 1024 * 1024
_GARBAGE_KEPT: Final = 3
_GARBAGE_LENGTH: Final = 120
_STATUS_DIGITS: Final = 3
_FIRST_STATUS, _LAST_STATUS = 100, 599
_BLANKS: Final = (b" ", b"\t", b"\r", b"\v", b"\f")
_LONGEST_DURATION_MS: Final = 1e12
"""31 years: further than that, sums with a start time would leave 63 bits."""


@dataclass(frozen=True, slots=True)
class Lines:
    """What a client printed.

    Attributes
    ----------
    frame : pl.DataFrame
        One row for each line that is a result, with the columns of ``LINE_COLUMNS``, in the order printed.
    garbage : int
        Lines that are no result; empty lines are not counted.
    garbage_examples : tuple[str, ...]
        The first of them, cut to a readable length.
    """

    frame: pl.DataFrame
    garbage: int
    garbage_examples: tuple[str, ...]


def read_lines(output: BinaryIO, *, cut_short: bool = False) -> Lines:
    """Read the output of a client.

    A line is split at its last four commas, since a URL may contain commas. ``code`` is a status when it is three
    digits from 100 to 599, else an error name, which may contain spaces. ``duration`` is in milliseconds, with or
    without decimals. ``body_length`` is a whole number; empty or negative means not known, as does anything else beside
    an error. Spaces around fields and a carriage return at the end do not matter, nor do bytes that are not UTF-8.

    Parameters
    ----------
    output : BinaryIO
        The bytes that the client wrote to its standard output.
    cut_short : bool
        True when the client was killed: a last line without its line feed may then have lost digits, and is left out.
    """
    frames: list[pl.DataFrame] = []
    examples: list[str] = []
    garbage = before = 0
    for block in _blocks(output):
        whole = block[: block.rfind(b"\n") + 1] if cut_short else block
        results, rejected = _read_block(Block.of(whole), first_line=before + 1)
        before += block.count(b"\n")
        frames.append(results)
        garbage += len(rejected)
        examples += rejected.head(_GARBAGE_KEPT - len(examples)).str.slice(0, _GARBAGE_LENGTH).to_list()
    return Lines(pl.concat(frames).rechunk() if frames else pl.DataFrame(schema=LINE_COLUMNS), garbage, tuple(examples))


def _blocks(output: BinaryIO) -> Iterator[bytes]:
    """Cut a stream into blocks that end with a whole line, but for the last one."""
    carry = b""
    while block := output.read(_BLOCK_BYTES):
        end = block.rfind(b"\n") + 1
        if end:
            yield b"".join((carry, memoryview(block)[:end]))
            carry = block[end:]
        else:
            # One byte more than the longest line keeps it recognisable as too long, whatever follows.
            carry = (carry + block)[: LONGEST_LINE + 1]
    if carry:
        yield carry


def _read_block(block: Block, *, first_line: int) -> tuple[pl.DataFrame, pl.Series]:
    """Results of a block, and the lines that are none."""
    results = _read_fields(_without_blanks(block))
    rejected = np.ones(len(block.ends), dtype=np.bool_)
    rejected[results["line"].to_numpy()] = False
    garbage = np.flatnonzero(rejected & (block.ends > block.begins))
    return results.with_columns(pl.col("line") + first_line), block.texts(garbage)


def _without_blanks(block: Block) -> pl.DataFrame:
    """Fields without the spaces around them, of whatever kind; mostly there are none."""
    fields = block.fields()
    if block.text.isascii() and not any(blank in block.text for blank in _BLANKS):
        return fields
    return fields.with_columns(pl.col(FIELDS).str.strip_chars())


def _read_fields(fields: pl.DataFrame) -> pl.DataFrame:
    """Types for the five fields, with the columns of ``LINE_COLUMNS``; lines that are no results are left out."""
    number = pl.col("code").cast(pl.Int16, strict=False)
    is_status = (pl.col("code").str.len_bytes() == _STATUS_DIGITS) & number.is_between(_FIRST_STATUS, _LAST_STATUS)
    read = fields.with_columns(
        read_start_times(fields["start"]),
        status=pl.when(is_status).then(number),
        duration_ms=pl.col("duration").cast(pl.Float64, strict=False),
        body_length=pl.col("length").cast(pl.Int64, strict=False),
    )
    is_result = (
        (pl.col("url") != "")
        & (pl.col("code") != "")
        & pl.col("start_ns").is_not_null()
        & pl.col("duration_ms").is_between(0, _LONGEST_DURATION_MS)
        & (pl.col("body_length").is_not_null() | (pl.col("length") == "") | pl.col("status").is_null())
    )
    results = read.filter(is_result).with_columns(
        duration_ns=(pl.col("duration_ms") * 1e6).round(),
        body_length=pl.when(pl.col("body_length") >= 0).then("body_length"),
    )
    return results.select(pl.col(name).cast(type_) for name, type_ in LINE_COLUMNS.items())
