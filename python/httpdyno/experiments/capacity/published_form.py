"""A run of a published grid in the form of the publication, on its own and beside it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from httpdyno.experiments.capacity.figures import CapacityPoint, CapacitySummary
from httpdyno.experiments.capacity.presets import CapacityPreset, Place, find_capacity_preset
from httpdyno.experiments.preset_run import PresetRun
from httpdyno.model import Cell, Column, ColumnKind, Note, Table, Trial
from httpdyno.published import Circumstances, PublishedTable, parse_scale
from httpdyno.published.table import Role
from httpdyno.stats import median
from httpdyno.store import Manifest

__all__ = ["Measurement", "beside_published", "grid_beside", "grid_rows", "grid_views", "in_form", "measurements"]

_SUBJECT: Final = Column("subject", description="name of the subject's folder")
_CSV: Final = "csv"
_ROWS: Final = 40
"""More of them beside each other push what was measured out of the terminal."""
_DIGITS: Final = 4
"""As many as the publication prints."""


@dataclass(frozen=True, slots=True)
class Measurement:
    """What one subject did at one point, over all of its trials there."""

    subject: str
    place: Place
    """In the columns and units of the publication, as it was measured."""
    round_trip_ns: int
    target_per_s: float | None
    latency_s: float | None
    per_s: float | None
    verdict: str
    """``yes`` or ``no``: whether the rate was held; else what the trials are."""
    limit: str | None


def measurements(trials: Iterable[Trial], preset: CapacityPreset) -> tuple[Measurement, ...]:
    """Put trials of one subject at one point together: the median of each figure, in the order of the publication."""
    groups: dict[tuple[str, Place], list[Trial]] = {}
    for trial in trials:
        if trial.get(CapacityPoint) is not None:
            groups.setdefault((trial.subject, preset.place(trial[CapacityPoint])), []).append(trial)
    return tuple(_measurement(*key, group) for key, group in sorted(groups.items()))


def in_form(trials: Iterable[Trial], preset: CapacityPreset) -> Table:
    """Return a run in the columns of the publication; with several subjects, who it was comes before them."""
    found = measurements(trials, preset)
    several = len({one.subject for one in found}) > 1
    rows = tuple((*((one.subject,) if several else ()), *_cells(one)) for one in found)
    return Table((*((_SUBJECT,) if several else ()), *_columns(preset.table)), rows)


def beside_published(trials: Sequence[Trial], preset: CapacityPreset, scale: Fraction) -> Table:
    """Put a run beside the publication, a row for each point that was measured: the form for people.

    Parameters
    ----------
    trials : sequence of Trial
        Of a run with that preset.
    preset : CapacityPreset
        The publication.
    scale : Fraction
        Share of its rates and of what was in flight; ratios are of the published rate times this.
    """
    published = _published(preset, scale)
    found = measurements(trials, preset)
    own = _columns(preset.table)
    # Where a published row lies is said only as far as that is another place.
    first = 3 if scale == 1 else 1 if preset.has_rates else 2
    rows = tuple((one.subject, *_cells(one), *_theirs(one, published)[first:], one.limit, one.verdict) for one in found)
    columns = (
        replace(_SUBJECT, shown=len({one.subject for one in found}) > 1),
        *own,
        *(_theirs_column(column) for column in own[first:]),
        Column("latency ratio", ColumnKind.DECIMAL, "", "measured over published"),
        Column("rate ratio", ColumnKind.DECIMAL, "", "measured over published, times the scale"),
        Column("limit", description="what limits the point, by the model"),
        Column("held", description="whether the rate and the objective were held"),
    )
    notes = tuple(Note(line) for line in _story(found, published, preset, scale))
    return Table(columns, rows, title=f"measured and published: {preset.table.title}", notes=notes)


def grid_beside(manifest: Manifest, trials: Sequence[Trial], published: PublishedTable, here: Circumstances) -> Table:
    """Put a grid beside a published one: its rows are points, whoever was measured there."""
    scale = parse_scale(str(manifest.settings.get("scale") or "1"))
    table = beside_published(trials, find_capacity_preset(published.preset), scale)
    machines = f"machine: published: {published.circumstances.machine}; measured: {here.machine}"
    versions = ", ".join(f"{subject} {version}" for subject, version in here.versions.items())
    lines = (machines, *((f"versions: measured: {versions}; published: unknown",) if versions else ()))
    return replace(table, notes=(*table.notes, *map(Note, lines)))


def grid_views(of: PresetRun) -> tuple[Table, ...]:
    """Put a grid beside its publication; of many points only what they come to, and where they are."""
    if len(of.beside.rows) <= _ROWS:
        return (*of.views, of.beside)
    where = f"all {len(of.beside.rows)} points beside it: httpdyno published {of.published.name} --beside {of.folder}"
    *others, last = of.views
    return (*others, replace(last, notes=(*last.notes, Note(of.beside.title), Note(where), *of.beside.notes)))


def grid_rows(of: PresetRun, format_name: str) -> tuple[Table, ...]:
    """Return a grid for programs; as CSV in the published columns, so that one can stand for the other."""
    return (in_form(of.trials, find_capacity_preset(of.published.preset)),) if format_name == _CSV else (of.table,)


_Published = Mapping[Place, tuple[tuple[Cell, ...], float | None, float | None]]
"""By the place at the scale of the run: the published row, its latency, and its rate at that scale."""


def _published(preset: CapacityPreset, scale: Fraction) -> _Published:
    found: dict[Place, tuple[tuple[Cell, ...], float | None, float | None]] = {}
    for row in preset.table.rows:
        first, second, concurrency, latency_s, per_s = row.cells
        assert isinstance(first, int)
        assert isinstance(second, int)
        assert isinstance(concurrency, int)
        per_s = _figure(per_s)
        place = (first, second, concurrency)
        rate = None if per_s is None else per_s * preset.share(place, scale)
        # At a small scale two rows may come to lie at one place: the first of them is as good as the second.
        found.setdefault(preset.scaled(place, scale), (row.cells, _figure(latency_s), rate))
    return found


def _theirs(one: Measurement, published: _Published) -> tuple[Cell, ...]:
    """Return the published row, and what was measured over what was published: latency, rate."""
    row, latency_s, per_s = published.get(one.place, ((None,) * 5, None, None))
    latency = one.latency_s / latency_s if one.latency_s and latency_s else None
    rate = one.per_s / per_s if one.per_s and per_s else None
    return (*row, *(None if ratio is None else round(ratio, 3) for ratio in (latency, rate)))


def _story(
    found: Sequence[Measurement], published: _Published, preset: CapacityPreset, scale: Fraction
) -> Iterator[str]:
    yield f"published: {preset.table.source}"
    if scale != 1:
        yield f"scale {scale}: so much of the published rates and of what is in flight; sizes and times are the same"
    for what, place in (("latency", -2), ("rate", -1)):
        ratios = sorted(ratio for one in found if isinstance(ratio := _theirs(one, published)[place], float))
        if ratios:
            low, high = ratios[0], ratios[-1]
            yield (
                f"{what}: measured over published {median(ratios):.2f} in the median of {len(ratios)} points "
                f"({low:.2f} to {high:.2f})"
            )
    missing = len(set(published) - {one.place for one in found})
    if missing:
        yield f"{missing} of {len(published)} published points were not measured"
    yield from (f"published figures: {remark}" for remark in preset.table.remarks)


def _measurement(subject: str, place: Place, trials: Sequence[Trial]) -> Measurement:
    summaries = [trial[CapacitySummary] for trial in trials if trial.get(CapacitySummary)]
    mean_ns = median([one.service_mean_ns for one in summaries if one.service_mean_ns is not None])
    held = [one.held for one in summaries if one.held is not None]
    limits = [one.limit for one in summaries if one.limit]
    point = trials[0].get(CapacityPoint)
    assert point is not None, "trials without one are in no group"
    return Measurement(
        subject,
        place,
        point.round_trip_ns,
        point.target_per_s,
        None if mean_ns is None else mean_ns / 1e9,
        median([one.per_s for one in summaries if one.per_s is not None]),
        _verdict(held, trials),
        max(limits, key=limits.count) if limits else None,
    )


def _verdict(held: Sequence[bool], trials: Sequence[Trial]) -> str:
    invalid = [trial for trial in trials if not held or (trial.validity or "VALID") != "VALID"]
    if held:
        word = "yes" if 2 * sum(held) > len(held) else "no"
        return f"{word}, {invalid[0].validity}" if invalid else word
    return (trials[0].validity or trials[0].outcome).value


def _cells(one: Measurement) -> tuple[Cell, ...]:
    first, second, concurrency = one.place
    figures = (None if value is None else round(value, _DIGITS) for value in (one.latency_s, one.per_s))
    return first, second, concurrency, *figures


def _columns(table: PublishedTable) -> tuple[Column, ...]:
    """Return its columns; those that a scale may make fractions of, as numbers of any kind."""
    return tuple(
        replace(column.column, kind=ColumnKind.NUMBER)
        if column.role is Role.CONDITION and column.name != "Concurrency"
        else column.column
        for column in table.columns
    )


def _theirs_column(column: Column) -> Column:
    return replace(column, name=f"published {column.name}", description=f"{column.name} as published")


def _figure(cell: Cell) -> float | None:
    return float(cell) if isinstance(cell, int | float) else None
