"""What each link of a run was asked to be, what it was measured to be before the trials, and what became of packets."""

from collections.abc import Callable, Sequence
from typing import Final

from httpdyno.model import (
    Cell,
    Column,
    ColumnKind,
    Link,
    LinkCounters,
    Note,
    Outcome,
    PathCounters,
    Table,
    Trial,
    format_size,
)
from httpdyno.stats import median

__all__ = ["link_table", "link_tables"]

_TIME: Final = ColumnKind.TIME
_DECIMAL: Final = ColumnKind.DECIMAL
_COUNT: Final = ColumnKind.INTEGER
_RATE: Final = "Mbit/s"
_COLUMNS: Final = (
    Column("link", description="as it was asked for"),
    Column("trials", _COUNT),
    Column("refused", _COUNT, description="trials that were not begun, since the link was not what was asked", limit=0),
    Column("rtt asked", _TIME, "ms", "round-trip time, both ways together"),
    Column("rtt measured", _TIME, "ms", "median of the round trips before each trial; the median trial's"),
    Column("furthest off", _TIME, "ms", "of the trial that missed the round-trip time by most"),
    Column("content fits", _DECIMAL, _RATE, "what the rate towards the subject leaves for content"),
    Column("content measured", _DECIMAL, _RATE, "content that passed towards the subject before the median trial"),
    Column("least", _DECIMAL, _RATE, "the same of the worst trial"),
    Column("late p99", _TIME, "ms", "how late the emulator let packets go towards the subject, in the worst trial"),
    Column("packets", _COUNT, description="towards the subject, of all trials; those of super-packets each"),
    Column("dropped", _DECIMAL, "%", "of these: the queue had no room"),
    Column("lost", _DECIMAL, "%", "of these: by chance, as asked"),
    Column("super-packets", description="whether several packets may come in one piece, and the longest that may"),
)
_SUPER_PACKETS: Final = "super-packets: several packets that a kernel hands over in one piece (segmentation offload)"
_MS: Final = 1e-6
_MBIT: Final = 1e-6
_Figure = Callable[[LinkCounters], float | None]


def link_table(trials: Sequence[Trial]) -> Table:
    """Put the links of trials into a row each, in the order of the first trial over each.

    Trials over the room's own veth pair have no figures, and no row.
    """
    over: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.counters.link is not None:
            over.setdefault(trial.link, []).append(trial)
    rows = tuple(_row(link, of) for link, of in over.items())
    notes = _notes([one for of in over.values() for one in _counters(of)])
    table = Table(_COLUMNS, rows, title="What the link was", notes=notes)
    return table.select(table.filled()) if rows else table


def link_tables(trials: Sequence[Trial]) -> tuple[Table, ...]:
    """Return the table of the links alone; none where every link was a direct one."""
    table = link_table(trials)
    return (table,) if table.rows else ()


def _row(link: str, trials: Sequence[Trial]) -> tuple[Cell, ...]:
    counters = _counters(trials)
    asked = Link.parse(link)
    asked_ns = asked.round_trip_ns
    measured = _known(counters, lambda one: one.rtt_p50_ns)
    packets = _sum(counters, lambda path: path.packets)
    goodput = _known(counters, lambda one: one.down.goodput_bits_per_s)
    return (
        link,
        len(trials),
        sum(trial.outcome is Outcome.REFUSED for trial in trials),
        _scaled(asked_ns, _MS),
        _scaled(median(measured), _MS),
        _scaled(max((abs(one - asked_ns) for one in measured), default=None), _MS),
        _scaled(median(_known(counters, lambda one: one.down.goodput_expected_bits_per_s)), _MBIT),
        _scaled(median(goodput), _MBIT),
        _scaled(min(goodput, default=None), _MBIT),
        _scaled(max(_known(counters, lambda one: one.down.lateness_p99_ns), default=None), _MS),
        packets,
        _share(_sum(counters, lambda path: path.dropped), packets),
        _share(_sum(counters, lambda path: path.lost), packets),
        next((told for one in counters if (told := _super_packets(one, asked)) is not None), None),
    )


def _counters(trials: Sequence[Trial]) -> list[LinkCounters]:
    return [trial.counters.link for trial in trials if trial.counters.link is not None]


def _super_packets(counters: LinkCounters, link: Link) -> str | None:
    """Describe what a link did with super-packets: ``off``, ``bounded, 12.2 KiB``, ``on, 64.0 KiB, split``."""
    if counters.offload_reason is None:
        return None
    # The engine's own word, which a note explains.
    word = counters.offload_reason.partition(":")[0]
    if counters.offload_bytes is None:
        return word
    split = ", split" if link.up.loss or link.down.loss else ""
    return f"{word}, {format_size(counters.offload_bytes)}{split}"


def _notes(counters: Sequence[LinkCounters]) -> tuple[Note, ...]:
    """Describe what super-packets are, and of each kind of link why they are so."""
    reasons = dict.fromkeys(one.offload_reason for one in counters if one.offload_reason is not None)
    lines = [_SUPER_PACKETS, *(f"super-packets {reason}" for reason in reasons)] if reasons else []
    return tuple(map(Note, lines))


def _known(counters: Sequence[LinkCounters], figure: _Figure) -> list[float]:
    return [value for one in counters if (value := figure(one)) is not None]


def _sum(counters: Sequence[LinkCounters], figure: Callable[[PathCounters], int | None]) -> int | None:
    known = [count for one in counters if (count := figure(one.down)) is not None]
    return sum(known) if known else None


def _scaled(value: float | None, factor: float) -> float | None:
    return None if value is None else float(f"{value * factor:.4g}")


def _share(count: int | None, of: int | None) -> float | None:
    return None if count is None or not of else round(100 * count / of, 3)
