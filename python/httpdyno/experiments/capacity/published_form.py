"""A run of a published grid in the form of the publication, on its own and beside it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.presets import PRINTED, UNITS, CapacityPreset, Place
from httpdyno.experiments.preset_run import PresetRun
from httpdyno.model import Cell, Column, ColumnKind, Note, Table, Trial, records_of
from httpdyno.published import Circumstances, PublishedTable, parse_scale
from httpdyno.published.comparison import Pair, figures_ratio, join
from httpdyno.published.table import SUBJECT, Role, Row
from httpdyno.stats import median
from httpdyno.store import Manifest

__all__ = ["beside_published", "grid_beside", "grid_rows", "grid_views", "in_form", "measured_rows", "scale_of"]

_ROWS: Final = 40
"""More of them beside each other push what was measured out of the terminal."""
_DIGITS: Final = 4
"""As many as the publication prints."""
_RATIOS: Final = ("latency ratio", "rate ratio")
_CSV: Final = "csv"


def scale_of(manifest: Manifest) -> Fraction:
    """Return which share of a published grid a run is of."""
    return parse_scale(str(manifest.settings.get("scale") or "1"))


def measured_rows(trials: Iterable[Trial], preset: CapacityPreset) -> list[Row]:
    """Put trials of one subject at one point together: the median of each figure, in the order of the publication."""
    groups: dict[tuple[str, Place], list[Trial]] = {}
    for trial in trials:
        if trial.get(CapacityPoint) is not None:
            groups.setdefault((trial.subject, preset.place(trial[CapacityPoint])), []).append(trial)
    return [_row(subject, place, group, preset.table) for (subject, place), group in sorted(groups.items())]


def in_form(trials: Iterable[Trial], preset: CapacityPreset) -> Table:
    """Return a run in the columns of the publication; with several subjects, who it was comes before them."""
    rows = measured_rows(trials, preset)
    several = len({row["subject"] for row in rows}) > 1
    columns: tuple[Column, ...] = (*((replace(SUBJECT, shown=True),) if several else ()), *preset.table.columns)
    cells = tuple(tuple(_rounded(row, preset.table)[column.name] for column in columns) for row in rows)
    return Table(columns, cells)


def beside_published(trials: Sequence[Trial], preset: CapacityPreset, scale: Fraction) -> Table:
    """Put a run beside the publication, a row for each point that was measured; ratios are of figures at the scale."""
    rows = measured_rows(trials, preset)
    subjects = dict.fromkeys(str(row["subject"]) for row in rows)
    # At a small scale two rows may come to lie at one place: the first of them is as good as the second.
    joined = {
        (one.subject, one.condition): one for one in reversed(join(rows, preset.at_scale(scale, subjects or [""])))
    }
    pairs = [joined[place] for place in sorted(joined) if joined[place].measured]
    own = preset.table.columns
    # Where a published row lies is said only as far as that is another place.
    moved = [one.role is Role.FIGURE if scale == 1 else one.scaled for one in own].index(True)
    columns = (
        replace(SUBJECT, shown=len(subjects) > 1, description="name of the subject's folder"),
        *own,
        *(replace(one, name=PRINTED + one.name, description=f"{one.name} as published") for one in own[moved:]),
        Column(_RATIOS[0], ColumnKind.DECIMAL, "", "measured over published"),
        Column(_RATIOS[1], ColumnKind.DECIMAL, "", "measured over published, times the scale"),
        Column("limit", description="what limits the point, by the model"),
        Column("held", description="whether the rate and the objective were held"),
    )
    cells = [_cells(pair, preset.table) for pair in pairs]
    return Table(
        columns,
        tuple(tuple(row.get(column.name) for column in columns) for row in cells),
        title=f"measured and published: {preset.table.title}",
        notes=tuple(map(Note, _story(cells, joined.values(), preset, scale))),
    )


def grid_beside(manifest: Manifest, trials: Sequence[Trial], published: PublishedTable, here: Circumstances) -> Table:
    """Put a grid beside a published one: its rows are points, whoever was measured there."""
    table = beside_published(trials, CapacityPreset(published), scale_of(manifest))
    lines = [f"machine: published: {published.circumstances.machine}; measured: {here.machine}"]
    if here.versions:
        versions = ", ".join(f"{subject} {version}" for subject, version in here.versions.items())
        lines.append(f"versions: measured: {versions}; published: unknown")
    return replace(table, notes=(*table.notes, *map(Note, lines)))


def grid_views(of: PresetRun) -> tuple[Table, ...]:
    """Put a grid beside its publication; of many points only what they come to, and where they are."""
    count = len(of.beside.rows)
    if count <= _ROWS:
        return (*of.views, of.beside)
    where = f"all {count} points beside it: httpdyno published {of.published.name} --beside {of.run.folder}"
    *others, last = of.views
    return (*others, replace(last, notes=(*last.notes, Note(of.beside.title), Note(where), *of.beside.notes)))


def grid_rows(of: PresetRun, format_name: str) -> tuple[Table, ...]:
    """Return a grid for programs; as CSV in the published columns, so that one can stand for the other."""
    return (in_form(of.trials, CapacityPreset(of.published)) if format_name == _CSV else of.table,)


def _cells(pair: Pair, published: PublishedTable) -> Row:
    """Return all that is said of a point: what was measured, what was printed, and the ratios of both."""
    ratios = (figures_ratio(pair, column) for column in published.of_role(Role.FIGURE))
    told = zip(_RATIOS, (round(ratio, 3) if ratio else None for ratio in ratios), strict=True)
    return {**pair.published, **_rounded(pair.measured, published), **dict(told)}


def _story(cells: Sequence[Row], joined: Collection[Pair], preset: CapacityPreset, scale: Fraction) -> Iterator[str]:
    yield f"published: {preset.table.source}"
    if scale != 1:
        yield f"scale {scale}: so much of the published rates and of what is in flight; sizes and times are the same"
    for name in _RATIOS:
        ratios = sorted(ratio for row in cells if isinstance(ratio := row[name], float))
        if ratios:
            yield (
                f"{name.removesuffix(' ratio')}: measured over published {median(ratios):.2f} in the median of "
                f"{len(ratios)} points ({ratios[0]:.2f} to {ratios[-1]:.2f})"
            )
    places = {pair.condition for pair in joined if pair.published}
    missing = len(places - {pair.condition for pair in joined if pair.measured})
    if missing:
        yield f"{missing} of {len(places)} published points were not measured"
    yield from (f"published figures: {remark}" for remark in preset.table.remarks)


def _row(subject: str, place: Place, trials: Sequence[Trial], published: PublishedTable) -> Row:
    summaries = records_of(CapacitySummary, trials)
    limits = [one.limit for one in summaries if one.limit]
    cells: dict[str, Cell] = {"subject": subject, "limit": max(limits, key=limits.count) if limits else None}
    cells |= zip((column.name for column in published.of_role(Role.CONDITION)), place, strict=True)
    for column in published.of_role(Role.FIGURE):
        figure = median([getattr(one, column.ours[0]) for one in summaries])
        cells[column.name] = None if figure is None else figure / UNITS[column.unit]
    return {**cells, "held": _verdict(trials)}


def _verdict(trials: Sequence[Trial]) -> str:
    """Return whether the rate was held, ``yes`` or ``no``; else what the trials are."""
    held = [one.held for one in records_of(CapacitySummary, trials)]
    known = [one for one in held if one is not None]
    invalid = [trial for trial in trials if not known or (trial.validity or "VALID") != "VALID"]
    if known:
        word = "yes" if 2 * sum(known) > len(known) else "no"
        return f"{word}, {invalid[0].validity}" if invalid else word
    return (trials[0].validity or trials[0].outcome).value


def _rounded(row: Row, published: PublishedTable) -> Row:
    figures = ((column.name, row[column.name]) for column in published.of_role(Role.FIGURE))
    return {**row, **{name: round(cell, _DIGITS) for name, cell in figures if isinstance(cell, float)}}
