"""Reads the CSV files that the engine writes."""

from pathlib import Path
from typing import BinaryIO

import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.installation import RENEW_ENGINE

__all__ = ["read_engine_csv"]


def read_engine_csv(source: Path | BinaryIO, columns: dict[str, pl.DataType], what: str) -> pl.DataFrame:
    """Read some columns of a file; of an empty one there are no rows."""
    try:
        # In one piece: picking texts out of many pieces takes twenty times as long.
        return pl.read_csv(source, columns=list(columns), schema_overrides=columns).rechunk()
    except pl.exceptions.NoDataError:
        # Of no URL at all the engine writes nothing, not even a header.
        return pl.DataFrame(schema=columns)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise EngineFailed(f"the engine's {what} cannot be read ({reason}): {RENEW_ENGINE}") from error
