"""Makes the report of a capacity run: up to where subjects hold the rate, what limits them, what that rests on."""

import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.capacity.charts import frontier_charts, grid_chart
from httpdyno.experiments.capacity.found import Found, found
from httpdyno.experiments.capacity.frontier_point import Frontier
from httpdyno.experiments.capacity.headline import capacity_headline
from httpdyno.experiments.capacity.judge.sentences import capacity_sentences
from httpdyno.experiments.capacity.published_charts import published_charts
from httpdyno.experiments.capacity.reach import reached
from httpdyno.experiments.capacity.reach_table import search_notes
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.published import published_beside
from httpdyno.model import Chart, Report, Trial, counted
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.link_table import link_table
from httpdyno.report.sections.outcome_charts import error_table
from httpdyno.report.sections.reservation import reservations
from httpdyno.report.sections.subjects import subject_names
from httpdyno.report.sections.tables import comparison_table
from httpdyno.report.sections.trust_tables import rule_table, trial_overview
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
    errors = replace(error_table(trials, names, run.samples()), title="Errors by name")
    return Report(
        title=f"{definition.name}: {counted(len(names), 'subject')}, {counted(where, 'point')}, "
        + counted(len(trials), "trial"),
        question=definition.question,
        headline=capacity_headline(points, frontiers, names),
        reservations=tuple(note.text for note in reservations(run.manifest, trials)),
        facts=(*_asked(run.manifest), *_facts(run_facts(run.manifest, trials))),
        command=shlex.join(run.manifest.command),
        subjects=tuple(names.items()),
        table=definition.table(trials),
        comparisons=comparison_table((), definition.ranking_metric, names),
        rules=rule_table(trials, definition.rules),
        validity=trial_overview(trials, names, run.ceiling(), rules=definition.rules),
        errors=errors,
        charts=tuple(_charts(run, trials, points, frontiers, names)),
        published=published_beside(run, definition),
        findings=(*capacity_sentences(trials), *search_notes(frontiers)),
        figures="A row for each point: medians of its trials.",
        evidence=tuple(table for table in (link_table(trials), errors) if table.rows),
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
