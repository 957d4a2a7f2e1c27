"""Convert the rows of ``httpdyno fetch --format jsonl`` to Parquet, a batch at a time: ``python -m`` this module."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars

__all__ = ["convert", "row_types"]

BATCH_BYTES = 8 << 20
"""Rows that are read in one step."""


def row_types() -> "dict[str, polars.DataType]":
    """Return the type of each key of a row, in the order of its keys (docs/reference/fetch-row.schema.json)."""
    import polars

    text, number, count, flag = polars.String(), polars.Float64(), polars.Int64(), polars.Boolean()
    times = ("duration_ms", "lookup_ms", "connect_ms", "tls_ms", "first_byte_ms", "content_ms")
    return {
        "url": text,
        "final_url": text,
        "status": count,
        "error": text,
        "error_text": text,
        "waited_for": text,
        "start_time": text,
        **dict.fromkeys(times, number),
        "encoded_bytes": count,
        "decoded_bytes": count,
        "content_type": text,
        "coding": text,
        "not_decoded": flag,
        "partial": flag,
        "no_close_notify": flag,
        "address": text,
        "http_version": text,
        "tls_version": text,
        "reused": flag,
        "retries": count,
        "resent": count,
        "chain": polars.List(polars.Struct({"url": text, "status": count})),
    }


def convert(rows: Path, file: Path) -> None:
    """Write the rows of a file as Parquet; ``start_time`` becomes a timestamp (UTC, microseconds).

    The file appears when it is complete. Memory does not grow with the number of rows.

    Raises
    ------
    OSError
        If a file cannot be read or written.
    polars.exceptions.PolarsError
        If a line is not a row.
    """
    import polars
    from polars.io.plugins import register_io_source

    part = file.with_name(f".{file.name}.part")
    try:
        # Not scan_ndjson, which maps the whole file into memory.
        table = register_io_source(lambda *_: _batches(rows), schema=row_types())
        start = polars.col("start_time").str.to_datetime(time_unit="us", time_zone="UTC")
        table.with_columns(start).sink_parquet(part)
        part.replace(file)
    finally:
        part.unlink(missing_ok=True)


def _batches(rows: Path) -> "Iterator[polars.DataFrame]":
    import polars

    types = row_types()
    with rows.open("rb") as file:
        while lines := file.readlines(BATCH_BYTES):
            yield polars.read_ndjson(b"".join(lines), schema=types)


def _main(argv: Sequence[str]) -> int:
    from polars.exceptions import PolarsError

    rows, file = map(Path, argv)
    try:
        convert(rows, file)
    except (OSError, PolarsError) as error:
        sys.stderr.write(f"httpdyno: {file}: {str(error).partition(chr(10))[0]}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
