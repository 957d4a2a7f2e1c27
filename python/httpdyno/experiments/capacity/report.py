"""Makes the report of a capacity run: up to where subjects hold the rate, what limits them, what that rests on."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.base_report import base_report
from httpdyno.experiments.capacity.charts import frontier_charts, grid_chart
from httpdyno.experiments.capacity.found import Found, found
from httpdyno.experiments.capacity.frontier_point import Frontier
from httpdyno.experiments.capacity.headline import capacity_headline
from httpdyno.experiments.capacity.judge.sentences import capacity_sentences
from httpdyno.experiments.capacity.published_charts import published_charts
from httpdyno.experiments.capacity.reach import reached
from httpdyno.experiments.capacity.reach_table import search_notes
from httpdyno.experiments.definition import Definition
from httpdyno.model import Chart, Report, Trial, counted
from httpdyno.report.sections.tables import subject_names
from httpdyno.store import Manifest, Run

__all__ = ["capacity_report"]

_OF_POINTS: Final = frozenset({"URLs", "Link"})


def capacity_report(run: Run, definition: Definition) -> Report:
    """Return what a capacity run says, whole, partial or empty."""
    trials = run.records()
    points = found(trials)
    frontiers = reached(trials, run.manifest.settings)
    names = subject_names(trials, ())
    where = len({one.point for one in points})
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'subject')}, {counted(where, 'point')}, {counted(len(trials), 'trial')}",
        headline=capacity_headline(points, frontiers, names),
        table=definition.table(trials),
        charts=_charts(run, trials, points, frontiers, names),
    )
    errors = replace(report.errors, title="Errors by name")
    return replace(
        report,
        facts=(*_asked(run.manifest), *_facts(report.facts)),
        errors=errors,
        figures="A row for each point: medians of its trials.",
        findings=(*capacity_sentences(trials), *search_notes(frontiers)),
        evidence=(*report.evidence, *([errors] if errors.rows else [])),
    )


def _charts(
    run: Run, trials: Sequence[Trial], points: Sequence[Found], frontiers: Sequence[Frontier], names: dict[str, str]
) -> Iterator[Chart]:
    yield from frontier_charts(frontiers, points, names)
    grid = grid_chart(points, names)
    if grid is not None:
        yield grid
    yield from published_charts(trials, run.manifest)


def _asked(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """Return what was to be held, and over which grid."""
    settings = manifest.settings
    objective = settings.get("slo")
    if objective:
        yield "Objective", str(objective)
    if settings.get("scale") not in {None, "1"}:
        yield "Scale", f"{settings['scale']} of the published rates and numbers in flight"


def _facts(facts: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Leave out what differs from point to point: the links have a table, the number of URLs follows from the rate."""
    return ((name, text) for name, text in facts if name not in _OF_POINTS)
