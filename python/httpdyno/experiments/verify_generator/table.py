"""The table: what each generator should have reported beside what it did."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from httpdyno.experiments.verify_generator.run import Verified
from httpdyno.judge.generator import FIGURES, LEAST_BEYOND, RELATIVE, Judgement, allowed_ns
from httpdyno.model import Cell, Column, ColumnKind, Loop, Note, Outcome, Table

__all__ = ["NOT_JUDGED", "RIGHT", "verdict_of", "verified_table"]

RIGHT: Final = "right"
NOT_JUDGED: Final = "NOT_JUDGED"
_DIGITS: Final = 3
_NAMES: Final = ("mean", *FIGURES)
_HIDDEN: Final = frozenset({"p90", "p95"})
"""Judged like the others; a table for people is wide enough without them."""
_MEASURED: Final = {Loop.OPEN: "response time", Loop.CLOSED: "service time"}


def _figure_columns() -> Iterable[Column]:
    for name in _NAMES:
        said = "mean" if name == "mean" else f"{name[1:]}th percentile"
        shown = name not in _HIDDEN
        yield Column(name, ColumnKind.NUMBER, "ms", f"{said} that it reports", shown)
        yield Column(f"{name}True", ColumnKind.NUMBER, "ms", f"{said} that it should report", shown)


_COLUMNS: Final = (
    Column("case", description="server with known behaviour"),
    Column("method", description="generator"),
    Column("version", shown=False),
    Column("loop", description="open or closed"),
    Column("held_to", description="what its times are held to", shown=False),
    *_figure_columns(),
    Column(
        "p99_waited_ms", ColumnKind.NUMBER, "ms", "of a closed loop: 99th percentile of what users on a schedule wait"
    ),
    Column("verdict", description="right, or the figure that is off the most"),
)


def verdict_of(verified: Verified) -> str:
    """Describe in a word, or in one figure, what came of a run."""
    if verified.judgement is None:
        return NOT_JUDGED
    worst = verified.judgement.worst
    if worst is not None:
        return str(worst)
    return RIGHT if verified.right else NOT_JUDGED


def verified_table(
    results: Sequence[Verified], *, unavailable: Mapping[str, str], duration_s: float, overhead_ns: int
) -> Table:
    """Put results into a table, in their order.

    ``unavailable`` has, for each tool that cannot be run here, why. ``overhead_ns`` is what is added to the server's
    own times.
    """
    rows = [_row(verified) for verified in results]
    notes = [Note(_how(duration_s, overhead_ns))]
    for place, verified in enumerate(results):
        if verified.reason:
            notes.append(Note(verified.reason, place))
    for name, reason in unavailable.items():
        notes.append(Note(reason, len(rows)))
        blank: list[Cell] = [None] * len(_COLUMNS)
        blank[1], blank[-1] = name, str(Outcome.UNAVAILABLE)
        rows.append(tuple(blank))
    return Table(_COLUMNS, tuple(rows), notes=tuple(notes))


def _how(duration_s: float, overhead_ns: int) -> str:
    return (
        f"milliseconds; {duration_s:g} s for each row;"
        f" right is within {RELATIVE:.0%} and {allowed_ns('p99') / 1e6:g} ms (p99.9: {allowed_ns('p99.9') / 1e6:g} ms);"
        f" a percentile that fewer than {LEAST_BEYOND} requests exceed is not judged;"
        f" a round trip adds {overhead_ns / 1e6:.3f} ms to the server's own times"
    )


def _row(verified: Verified) -> tuple[Cell, ...]:
    step = verified.step
    return (
        step.case.name,
        step.generator.name,
        step.generator.version,
        str(step.loop),
        _MEASURED[step.loop],
        *(cell for name in _NAMES for cell in _figure(verified.judgement, name)),
        _ms(verified.waited_p99_ns),
        verdict_of(verified),
    )


def _figure(judgement: Judgement | None, name: str) -> tuple[Cell, Cell]:
    finding = judgement.of(name) if judgement else None
    return (None, None) if finding is None else (_ms(finding.reported), _ms(finding.truth))


def _ms(time_ns: float | None) -> float | None:
    """Return milliseconds with three significant digits: more nobody measures."""
    return None if time_ns is None else float(f"{time_ns / 1e6:.{_DIGITS}g}")
