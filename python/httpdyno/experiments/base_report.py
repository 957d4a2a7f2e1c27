"""What the report of any experiment has: how the run was made, and what says whether it can be believed."""

import shlex
from collections.abc import Iterable, Mapping, Sequence

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.published import published_beside
from httpdyno.model import Chart, Ranking, Report, Table, Trial
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.reservation import reservations
from httpdyno.report.sections.tables import comparison_table, error_table, link_tables, rule_table, trial_overview
from httpdyno.store import Run

__all__ = ["base_report"]


def base_report(
    run: Run,
    definition: Definition,
    trials: Sequence[Trial],
    names: Mapping[str, str],
    *,
    counts: str,
    headline: str,
    table: Table,
    charts: Iterable[Chart],
    rankings: Iterable[Ranking] = (),
) -> Report:
    """Return the report of a run with what those of all experiments have; the rest its own one replaces.

    ``names`` are those of the subjects of ``trials``, the best first; ``counts`` is what the run has, for the title:
    ``3 subjects, 9 trials``.
    """
    return Report(
        title=f"{definition.name}: {counts}",
        question=definition.question,
        headline=headline,
        reservations=tuple(note.text for note in reservations(run.manifest, trials)),
        facts=run_facts(run.manifest, trials),
        command=shlex.join(run.manifest.command),
        subjects=tuple(names.items()),
        table=table,
        comparisons=comparison_table(
            (pair for ranking in rankings for pair in ranking.comparisons), definition.ranking_metric, names
        ),
        rules=rule_table(trials, definition.rules),
        validity=trial_overview(trials, names, run.ceiling(), rules=definition.rules),
        errors=error_table(trials, names, run.samples()),
        charts=tuple(charts),
        published=published_beside(run, definition),
        evidence=link_tables(trials),
    )
