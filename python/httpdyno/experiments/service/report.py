"""Makes the report of a service run: what each server adds to the ideal, where it breaks, what that rests on."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from httpdyno.experiments.definition import Definition
from httpdyno.experiments.published import published_beside
from httpdyno.experiments.service.axes import Variant
from httpdyno.experiments.service.charts import service_charts
from httpdyno.experiments.service.reach import Reach, reaches
from httpdyno.experiments.service.search_plan import Bounds
from httpdyno.judge import rank, rankable_trials
from httpdyno.judge.wording import listed
from httpdyno.model import Loop, Metric, Outcome, Ranking, Report, Table, Trial, Validity, counted
from httpdyno.report.sections.facts import run_facts
from httpdyno.report.sections.headline import headline
from httpdyno.report.sections.link_table import link_tables
from httpdyno.report.sections.reservation import reservations
from httpdyno.report.sections.subjects import subject_names
from httpdyno.report.sections.tables import comparison_table
from httpdyno.report.sections.trust_tables import rule_table, trial_overview
from httpdyno.stats import median
from httpdyno.store import Manifest, Run

__all__ = ["service_report"]

_OF_CLIENTS: Final = frozenset({"URLs", "Timeout", "Web"})
_UNFINISHED: Final = "; the search was not finished"
_NOTHING: Final = "Nothing was measured: the run has no finished trial"


def service_report(run: Run, definition: Definition) -> Report:
    """Return what a service run says, whole, partial or empty."""
    trials = run.records()
    metric = definition.ranking_metric
    points = {trial.condition: [one for one in trials if one.condition == trial.condition] for trial in trials}
    rankings = {point: rank(group, metric) for point, group in points.items()}
    table = definition.table(trials)
    ranked = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    names = subject_names(trials, tuple(dict.fromkeys((*ranked, *map(str, table.values("subject"))))))
    said = [f"{point}: {_sentence(points[point], one, metric, names)}" for point, one in rankings.items()]
    bounds = Bounds.restored(run.manifest.settings)
    reached = _reached(reaches(trials, bounds), names)
    first, rest = (said, reached) if bounds is None else (reached, [])
    return Report(
        title=f"{definition.name}: {counted(len(names), 'server')}, {counted(len(points), 'point')}, "
        + counted(len(trials), "trial"),
        question=definition.question,
        headline=first[0] if first else _NOTHING,
        reservations=tuple(note.text for note in reservations(run.manifest, trials)),
        facts=(
            *_asked(run.manifest),
            *(fact for fact in run_facts(run.manifest, trials) if fact[0] not in _OF_CLIENTS),
        ),
        command=shlex.join(run.manifest.command),
        subjects=tuple(names.items()),
        table=table,
        comparisons=comparison_table(
            (pair for ranking in rankings.values() for pair in ranking.comparisons), metric, names
        ),
        rules=rule_table(trials, definition.rules),
        validity=trial_overview(trials, names, run.ceiling(), rules=definition.rules),
        errors=Table((), ()),
        charts=tuple(service_charts(trials, names)),
        published=published_beside(run, definition),
        findings=(*first[1:], *rest, *_failures(trials, names)),
        figures="A row for each server at each point: medians of its trials.",
        evidence=link_tables(trials),
    )


def _sentence(trials: Sequence[Trial], ranking: Ranking, metric: Metric, names: Mapping[str, str]) -> str:
    ranked = {standing.subject for standing in ranking.standings}
    by_subject = {name: [trial for trial in trials if trial.subject == name] for name in names}
    present = {name: own for name, own in by_subject.items() if own}
    medians = {
        name: median(map(metric.figure, rankable_trials(own))) or 0.0 for name, own in present.items() if name in ranked
    }
    unranked = {name: _why(own) for name, own in present.items() if name not in ranked}
    return headline(ranking, metric, medians, names, unranked)


def _why(trials: Sequence[Trial]) -> str:
    failed = [trial.outcome.value for trial in trials if trial.outcome is not Outcome.OK]
    spoiled = [str(trial.validity) for trial in trials if trial.validity not in {None, Validity.VALID}]
    return next(iter((*failed, *spoiled)), "no percentiles")


def _reached(found: Sequence[Reach], names: Mapping[str, str]) -> list[str]:
    """Describe of each server where it breaks; those that hold all that was tried share a sentence."""
    alike: dict[tuple[Variant, int | None, bool], list[str]] = {}
    for one in found:
        if one.failed is None:
            alike.setdefault((one.variant, one.held, one.unfinished), []).append(names[one.subject])
    return [
        *(_all_held(who, *what) for what, who in alike.items()),
        *(_broken(one, names[one.subject]) for one in found if one.failed is not None),
    ]


def _all_held(who: Sequence[str], variant: Variant, held: int | None, unfinished: bool) -> str:
    servers = f"{listed(who)}{_in_variant(variant)}"
    hold = "holds" if len(who) == 1 else "hold"
    known = f"{servers} {hold} all that was tried, up to {held:,} connections" if held else f"{servers}: not known"
    return known + (_UNFINISHED if unfinished else "")


def _broken(one: Reach, name: str) -> str:
    who = f"{name}{_in_variant(one.variant)}"
    doubt = ", though the machine may have been at fault" if one.doubtful else ""
    told = f"{one.how}{doubt}{_UNFINISHED if one.unfinished else ''}"
    if one.held is None:
        return f"{who} does not hold {one.failed:,} connections: {told}"
    return f"{who} holds {one.held:,} connections and breaks at {one.failed:,}: {told}"


def _in_variant(variant: Variant) -> str:
    parts = [f" with {counted(variant.threads, 'thread')}"] if variant.threads is not None else []
    parts += [f" on {counted(variant.cpus, 'CPU')}"] if variant.cpus is not None else []
    return "".join([*parts, " in an open loop" if variant.loop is Loop.OPEN else ""])


def _failures(trials: Sequence[Trial], names: Mapping[str, str]) -> list[str]:
    """Describe what became of servers that failed, once for each server and kind."""
    failed: dict[tuple[str, Outcome], str] = {}
    for trial in trials:
        if trial.outcome not in {Outcome.OK, Outcome.INTERRUPTED}:
            failed.setdefault((trial.subject, trial.outcome), f"{trial.condition}: {trial.reason}")
    return [f"{names[subject]} {outcome}: {told}" for (subject, outcome), told in failed.items()]


def _asked(manifest: Manifest) -> Iterator[tuple[str, str]]:
    settings = manifest.settings
    if settings.get("endpoint") == "workloads":
        yield "Each request", f"waits {settings.get('workloads_ms')} ms, all at once"
    else:
        yield "Each request", f"GET /{settings.get('endpoint')}"
    yield "Generator", str(settings.get("generator"))
