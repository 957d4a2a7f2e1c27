"""Makes the report of a service run: what each server adds to the ideal, where it breaks, what that rests on."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from httpdyno.experiments.base_report import base_report
from httpdyno.experiments.definition import Definition
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.service.axes import Variant
from httpdyno.experiments.service.charts import service_charts
from httpdyno.experiments.service.reach import Reach, reaches
from httpdyno.experiments.service.search_plan import Bounds
from httpdyno.judge import rank, worst_validity
from httpdyno.judge.wording import listed
from httpdyno.model import Loop, Metric, Outcome, Report, Table, Trial, Validity, counted
from httpdyno.report.sections.headline import after_colon, ranked_headline
from httpdyno.report.sections.tables import subject_names
from httpdyno.store import Manifest, Run

__all__ = ["service_answer", "service_report"]

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
    said = [
        f"{point}: {after_colon(ranked_headline(points[point], one, metric, names))}" for point, one in rankings.items()
    ]
    bounds = Bounds.restored(run.manifest.settings)
    reached = _reached(reaches(trials, bounds), names)
    first, rest = (said, reached) if bounds is None else (reached, [])
    report = base_report(
        run,
        definition,
        trials,
        names,
        counts=f"{counted(len(names), 'server')}, {counted(len(points), 'point')}, {counted(len(trials), 'trial')}",
        # In a grid each point says who is not ranked, and why.
        headline=(_doubt(trials) if bounds else "") + first[0] if first else _NOTHING,
        table=table,
        charts=service_charts(trials, names),
        rankings=rankings.values(),
    )
    return replace(
        report,
        facts=(*_asked(run.manifest), *(fact for fact in report.facts if fact[0] not in _OF_CLIENTS)),
        figures="A row for each server at each point: medians of its trials.",
        findings=(*first[1:], *rest, *_failures(trials, names)),
    )


def service_answer(trials: Sequence[Trial], settings: Mapping[str, Setting], metric: Metric, table: Table) -> str:
    """Return the answer of a run in one or two sentences: where servers break, else what they add at the first point.

    ``table`` is that of the trials.
    """
    points = {trial.condition: [one for one in trials if one.condition == trial.condition] for trial in trials}
    rankings = {point: rank(group, metric) for point, group in points.items()}
    ranked = [standing.subject for ranking in rankings.values() for standing in ranking.standings]
    names = subject_names(trials, tuple(dict.fromkeys((*ranked, *map(str, table.values("subject"))))))
    bounds = Bounds.restored(settings)
    if bounds is not None:
        found = _reached(reaches(trials, bounds), names)
        return _doubt(trials) + "; ".join(found) if found else _NOTHING
    if not rankings:
        return _NOTHING
    point, ranking = next(iter(rankings.items()))
    more = f". The table has {counted(len(points) - 1, 'more point')}" if len(points) > 1 else ""
    return f"{point}: {after_colon(ranked_headline(points[point], ranking, metric, names))}{more}"


def _doubt(trials: Sequence[Trial]) -> str:
    """Say before the answer of a search that none of its trials is valid, and what is worst of them."""
    worst = worst_validity(trials)
    if worst is None or any(trial.validity in {Validity.VALID, None} for trial in trials):
        return ""
    return f"No trial is VALID ({worst}): "


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
