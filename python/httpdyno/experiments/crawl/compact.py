"""The table of a crawl that answers who is first and what each client costs, in at most 100 characters."""

from dataclasses import replace
from math import ceil
from typing import Final

from httpdyno.model import DISTURBED_MARK, Cell, Column, ColumnKind, Note, Table, Validity

__all__ = ["compact_table", "rate_text"]

_INTEGER, _DECIMAL = ColumnKind.INTEGER, ColumnKind.DECIMAL
_COLUMNS: Final = (
    # Ranks, rates and requests in flight are written out here, but stand at the right, as numbers do.
    Column("rank", _INTEGER),
    Column("client"),
    Column("right/s", _DECIMAL),
    Column("CPU ms", _DECIMAL),
    Column("core/s", _INTEGER, dispensable=True),
    Column("in flight", _INTEGER, dispensable=True),
    Column("p50", ColumnKind.DURATION, dispensable=True),
    Column("p99", ColumnKind.DURATION, dispensable=True),
    Column("MiB", _INTEGER, dispensable=True),
    Column("wrong", _INTEGER),
    Column("verdict", toned=True),
)
_LEGEND: Final = (
    "CPU ms: CPU time of a right answer, start-up and warm-up left out; core/s: right answers a second that one core "
    "has CPU time for; in flight: requests open at once, of as many as that takes; p50, p99: ms a URL; "
    "MiB: peak memory; --columns all has everything"
)
_BROKEN: Final = f"{DISTURBED_MARK}: --columns all and the report say which rule each of them broke, and by how much"
_OR_MORE: Final = "\u2265"
_AT_LEAST: Final = f"{_OR_MORE}: the origin set the pace, so the client may be faster"
_RATE: Final = ("right_per_s", "right_per_s_low", "right_per_s_high")
_INTERVAL: Final = ", ".join(_RATE[1:])
_PLACE: Final = [column.name for column in _COLUMNS].index("right/s")
_WHOLE_FROM: Final = 100


def compact_table(table: Table) -> Table:
    """Make it of the table of a crawl, a row for each of its rows; what notes say of an interval, they say of its ±."""
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows]
    notes = (replace(note, text=note.text.replace(_INTERVAL, "±")) for note in table.notes if not _known(note, rows))
    broken = Note(_BROKEN) if any(_known(note, rows) for note in table.notes) else None
    cells = tuple(map(_cells, rows))
    bounds = Note(_AT_LEAST) if any(str(row[_PLACE]).startswith(_OR_MORE) for row in cells) else None
    below = [note for note in (broken, bounds, _held_up(rows), Note(_LEGEND)) if note] if rows else []
    return Table(_COLUMNS, cells, table.title, notes=(*notes, *below))


def _known(note: Note, rows: list[dict[str, Cell]]) -> bool:
    """Return whether a note says which rules a row broke that is marked as disturbed: a line below names by whom."""
    if note.row is None or not str(rows[note.row]["rank"]).startswith(DISTURBED_MARK):
        return False
    return note.text.startswith((Validity.ORIGIN_LIMITED.value, Validity.UNSTEADY.value))


def _cells(row: dict[str, Cell]) -> tuple[Cell, ...]:
    client, memory = f"{row['language']} {row['method']}".strip(), row["peak_memory_bytes"]
    cost = (row["cpu_per_right_ms"], row["right_per_core_s"], _in_flight(row))
    mebibytes = round(memory / 2**20) if isinstance(memory, int | float) else None
    at_least = row["verdict"] == Validity.ORIGIN_LIMITED.value
    rate = rate_text(*(row[name] for name in _RATE), at_least=at_least)
    return (row["rank"], client, rate, *cost, row["p50_ms"], row["p99_ms"], mebibytes, row["wrong"], row["verdict"])


def _in_flight(row: dict[str, Cell]) -> str | None:
    """Write how many requests were open at once, of how many a core has CPU time for: ``150 of 351``."""
    if row["p50_ms"] is None:
        return None
    of_a_core = row["in_flight_per_core"]
    return f"{row['concurrency']} of {of_a_core:.0f}" if isinstance(of_a_core, int | float) else f"{row['concurrency']}"


def rate_text(rate: Cell, low: Cell, high: Cell, *, at_least: bool = False) -> str | None:
    """Write a rate with the farther end of its interval in percent: ``234 ±1%``; what the origin held up: ``≥``."""
    if not isinstance(rate, int | float):
        return None
    text = f"{rate:.0f}" if rate >= _WHOLE_FROM else f"{rate:.1f}"
    if at_least:
        text = f"{_OR_MORE}{text}"
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not rate:
        return text
    return f"{text} ±{ceil(100 * max(high - rate, rate - low) / rate)}%"


def _held_up(rows: list[dict[str, Cell]]) -> Note | None:
    """Say of how many rows the requests in flight made the rate, and how clients are compared instead."""
    many = sum(row["limited_by"] == "concurrency" for row in rows)
    if not many:
        return None
    rated = sum(row[_RATE[0]] is not None for row in rows)
    which = "every row" if many == rated else f"{many} of {rated} rows"
    return Note(
        f"right/s: in {which} the requests in flight set it, not the client (limited_by); CPU ms compares clients, and "
        "--saturate measures each at its own ceiling"
    )
