"""The headline of a crawl and its table for people."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil
from textwrap import shorten
from typing import Any, Final, Self

from httpdyno.experiments.crawl.metrics import CRAWL_METRICS, RANKED_BY
from httpdyno.experiments.definition import Presentation
from httpdyno.experiments.experiment import Setting
from httpdyno.experiments.report import usual_charts, usual_headline, usual_report
from httpdyno.judge import find_metric, marked_ranks, rank
from httpdyno.judge.comparison import find_rankable
from httpdyno.judge.limit import Limit, limited_by
from httpdyno.judge.notes import asked_version_notes, unverified_notes
from httpdyno.judge.rankable import disturbed, disturbing_causes
from httpdyno.judge.ranking import lower_bounds
from httpdyno.judge.table import MAY_BE_CHANCE, PROVISIONAL, RANK_NOTE
from httpdyno.judge.validity.readings import busy_programs
from httpdyno.judge.wording import listed, some_of
from httpdyno.model import (
    OPEN_MARK,
    PROVISIONAL_MARK,
    Cell,
    Chart,
    Column,
    ColumnKind,
    Note,
    Outcome,
    Ranking,
    Table,
    Trial,
    Validity,
)
from httpdyno.published import in_published_form
from httpdyno.report.cell import figure_text
from httpdyno.report.sections.charts import ConditionTrials, cost_chart, ranking_chart
from httpdyno.report.sections.headline import lead_text, placing_medians
from httpdyno.report.sections.tables import subject_names
from httpdyno.stats import FEWEST_BLOCKS

COST: Final = RANKED_BY
RATE: Final = "right_per_s"
_INTEGER, _DECIMAL = ColumnKind.INTEGER, ColumnKind.DECIMAL
LINE: Final = 100
"""Maximum width of a headline, and of a note."""
_PHRASES: Final = {COST: ("Cheapest", "right answers per core-second"), RATE: ("Fastest here", "right answers/s")}
_SHORT_PHRASES: Final = {COST: "per core/s", RATE: "right/s"}
_OR_MORE: Final = "\u2265"
_WHOLE_FROM: Final = 100
_LONGEST_NAME: Final = 27
"""Maximum length of a client's name, so that a row fits a line."""
_NAME_LENGTHS: Final = range(_LONGEST_NAME, 5, -1)
_CUT: Final = "\u2026"
_MARKED: Final = frozenset({Validity.DISTURBED.value, Validity.UNSTEADY.value, Validity.ORIGIN_LIMITED.value})
"""Verdicts that the mark of a provisional rank replaces."""
_COLUMNS: Final = (
    # Ranks, rates and shares are text here, but are right-aligned like numbers.
    Column("rank", _INTEGER),
    Column("client"),
    Column(COST, _INTEGER, label="per core/s"),
    Column("cpu_per_right_ms", _DECIMAL, label="CPU ms"),
    Column(RATE, _DECIMAL, label="right/s"),
    Column("concurrency", _INTEGER, label="in flight"),
    Column("in_flight_per_core", _INTEGER, label="needed", dispensable=True),
    Column("peak_memory_bytes", _INTEGER, label="MiB", dispensable=True),
    Column("http2_share", _INTEGER, label="HTTP/2", dispensable=True),
    Column("wrong", _INTEGER),
    Column("verdict", toned=True, spanning=True),
)


def answer(trials: Sequence[Trial], names: Mapping[str, str], ranked_by: str, *, width: int | None = None) -> list[str]:
    """Return the two lines of the headline: the client with the least CPU time, and the fastest with these settings.

    The ranking metric comes first; if it is neither of these, the second line has the CPU time. Each line names the
    best median first, and says whether its lead is certain. Empty if no client is ranked. ``width`` is the length of a
    line: to keep it, parts that the table also has are left out, then names are shortened.
    """
    metrics = [*dict.fromkeys((ranked_by, COST, RATE))][:2]
    rankings = {name: rank(trials, find_metric(CRAWL_METRICS, name), disturbed=True) for name in metrics}
    lines = []
    for name, ranking in rankings.items():
        if ranking.standings:
            forms = tuple(_answer_forms(trials, ranking, name, names))
            lines.append(next((form for form in forms if width is None or len(form) <= width), forms[-1]))
    return lines


def _answer_forms(trials: Sequence[Trial], ranking: Ranking, name: str, names: Mapping[str, str]) -> Iterator[str]:
    """Yield a headline in its full form, then in shorter and shorter ones."""
    metric = find_metric(CRAWL_METRICS, name)
    medians = placing_medians(metric, trials, [standing.subject for standing in ranking.standings])
    unit = metric.column.unit
    word, phrase = _PHRASES.get(name, (f"First by {metric.column.heading}", metric.phrase or unit))
    alone = _SHORT_PHRASES.get(name)
    short = alone or unit
    # Brackets at the end of names are left out if the names remain distinct.
    plain = {subject: text.partition(" (")[0] for subject, text in names.items()}
    plain = plain if len(set(plain.values())) == len(plain) else dict(names)
    cut = ({subject: _cut(text, longest) for subject, text in plain.items()} for longest in _NAME_LENGTHS)
    forms: tuple[tuple[Mapping[str, str], dict[str, Any]], ...] = (
        (names, {"phrase": phrase}),
        (names, {"phrase": short}),
        (plain, {"phrase": short}),
        (plain, {"phrase": short, "bounds": False}),
        *((of, {"phrase": alone, "figure": False}) for of in (names, plain)),
        (plain, {"phrase": alone, "figure": False, "bounds": False}),
        *((of, {"phrase": alone, "figure": False, "bounds": False, "reason": False}) for of in (plain, *cut)),
    )
    bounds = {subject: bound for (_, subject), bound in lower_bounds(trials, metric).items() if subject in names}
    leader = ranking.standings[0].subject
    ahead = {subject: bound for subject, bound in bounds.items() if bound > medians[leader]}
    for of, style in forms:
        if ahead:
            highest = max(ahead, key=lambda subject: ahead[subject])
            held = f"{of[highest]} at {figure_text(ahead[highest])} {short}"
            others = f" and {len(ahead) - 1} more" if len(ahead) > 1 else ""
            first = f"; of those ranked {of[leader]} is first" if "figure" not in style else ""
            yield f"{word}: no clear winner: the origin limited {held}{others}{first}"
        else:
            yield f"{word}: {lead_text(ranking, metric, medians, of, after_name=', ', **style)}"


def _cut(name: str, longest: int) -> str:
    """Shorten a name in the middle: similar names differ at the beginning, or by the id at the end."""
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - tail - 1]}{_CUT}{name[-tail:]}"


def _cells(row: Mapping[str, Cell], names: Mapping[str, str]) -> dict[str, Cell]:
    memory, http2, verdict = row["peak_memory_bytes"], row["http2_share"], row["verdict"]
    rate = rate_text(
        *(row[f"{RATE}{end}"] for end in ("", "_low", "_high")), at_least=row["limited_by"] == Limit.ORIGIN.value
    )
    words: dict[Cell, str | None] = {Validity.VALID.value: None, Outcome.UNAVAILABLE.value: "not installed"}
    if _is_provisional(row):
        words |= dict.fromkeys(_MARKED)
    return {
        **row,
        "client": _cut(names.get(str(row["subject"])) or f"{row['language']} {row['method']}".strip(), _LONGEST_NAME),
        RATE: rate,
        "concurrency": row["concurrency"] if rate or row[COST] is not None else None,
        "peak_memory_bytes": round(memory / 2**20) if isinstance(memory, int | float) else None,
        "http2_share": f"{100 * http2:.0f} %" if isinstance(http2, int | float) else None,
        "verdict": words.get(verdict, verdict),
    }


def _is_provisional(row: Mapping[str, Cell]) -> bool:
    return row["rank"] is not None and row[RANK_NOTE] == PROVISIONAL


def rate_text(rate: Cell, low: Cell, high: Cell, *, at_least: bool = False) -> str | None:
    """Write a rate with the wider side of its interval in per cent: ``234 ±1 %``; ``≥`` if the origin limited it."""
    if not isinstance(rate, int | float):
        return None
    text = f"{rate:.0f}" if rate >= _WHOLE_FROM else f"{rate:.1f}"
    if at_least:
        text = f"{_OR_MORE}{text}"
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not rate:
        return text
    return f"{text} ±{ceil(100 * max(high - rate, rate - low) / rate)} %"


def _notes(rows: Sequence[Mapping[str, Cell]], trials: Sequence[Trial], names: Mapping[str, str]) -> Iterator[str]:
    """Yield the notes on the reliability of the table, the most serious first."""
    by_subject = {subject: [trial for trial in trials if trial.subject == subject] for subject in names}
    for subject, own in by_subject.items():
        grave = next((trial for trial in own if trial.validity is Validity.INCORRECT), None)
        grave = next((t for t in own if t.outcome not in {Outcome.OK, Outcome.UNAVAILABLE}), grave)
        if grave:
            yield f"{names[subject]}: {grave.reason or grave.validity_reason}"
    yield from unverified_notes(trials)
    provisional = any(map(_is_provisional, rows))
    mark = f"{PROVISIONAL_MARK} provisional: " if provisional else ""
    if spoiled := _disturbances(by_subject, names, LINE - len(mark)):
        yield f"{mark}{spoiled}"
    elif provisional:
        yield f"{PROVISIONAL_MARK} provisional: fewer than {FEWEST_BLOCKS} blocks in common with other clients"
    yield from _absences(by_subject, names)
    yield from asked_version_notes(trials)
    explained = [
        f"{names[subject]} {max(counts)}"
        for subject, own in by_subject.items()
        if any(counts := [trial.tally.explained for trial in own if trial.tally and trial.tally.explained])
    ]
    if explained:
        yield f"wrong answers explained by known failures: {some_of(explained)}"
    yield from _limits(rows)


def _limits(rows: Sequence[Mapping[str, Cell]]) -> Iterator[str]:
    rated = [row["limited_by"] for row in rows if row[RATE] is not None]
    if Limit.ORIGIN.value in rated:
        yield f"{_OR_MORE} limited by the origin: the client may be faster"
    if any(row["rank"] is not None and row[RANK_NOTE] == MAY_BE_CHANCE for row in rows):
        yield f"{OPEN_MARK} the difference from the row above may be chance"
    if many := sum(row["limited_by"] == Limit.CONCURRENCY.value for row in rows):
        which = "every row" if many == len(rated) else f"{many} of {len(rated)} rows"
        yield f"right/s is limited by concurrency in {which}; to measure ceilings: httpdyno bench --saturate"


def _disturbances(by_subject: Mapping[str, Sequence[Trial]], names: Mapping[str, str], width: int) -> str | None:
    """Describe the programs that disturbed trials, and how many; names as many clients as fit ``width``."""
    those = [trial for own in by_subject.values() for trial in own if disturbed(trial)]
    if not those:
        return None
    counts = [
        f"{count} of {len(by_subject[subject])} {'of' if place else 'trials of'} {names[subject]}"
        for place, (subject, count) in enumerate(Counter(trial.subject for trial in those).most_common())
    ]
    used: Counter[str] = Counter()
    for trial in those:
        used.update({program.name: program.cpu_ns for program in busy_programs(trial)})
    causes = dict.fromkeys(cause for trial in those for cause in disturbing_causes(trial))
    busiest = [*causes, *(name for name, _ in used.most_common())][:2] or ["other programs"]
    shortened = (
        f"{', '.join(counts[:shown])} and of {len(counts) - shown} more" for shown in range(len(counts) - 1, 0, -1)
    )
    texts = [f"{listed(busiest)} disturbed {clients}" for clients in (listed(counts), *shortened)]
    return next((text for text in texts if len(text) <= width), texts[-1])


def _absences(by_subject: Mapping[str, Sequence[Trial]], names: Mapping[str, str]) -> Iterator[str]:
    absent = {
        subject: own[0]
        for subject, own in by_subject.items()
        if own and all(trial.outcome is Outcome.UNAVAILABLE for trial in own)
    }
    if len(absent) > 1:
        yield f"not installed: {some_of([names[subject] for subject in absent])}; --install installs what is available"
        return
    for subject, trial in absent.items():
        by_hand, command = trial.install_by_hand, trial.install_command
        means = [f"install {by_hand}" if by_hand else "", f"install it with {command}" if command else ""]
        yield f"{names[subject]}: {'; '.join(filter(None, means)) or trial.reason or 'unavailable'}"


def _views(trials: Sequence[Trial], settings: Mapping[str, Setting]) -> tuple[Table, ...]:
    presentation = PRESENTATION.for_run(settings)
    table = presentation.table(trials)
    names = subject_names(trials, map(str, table.values("subject")))
    lines = answer(trials, names, presentation.ranking_metric.name, width=LINE)
    title = "\n".join(lines or [usual_headline(presentation, trials, table)])
    rows = marked_ranks(table).records()
    distinct = len({row["subject"] for row in rows}) == len(rows)
    notes = (Note(shorten(text, LINE, placeholder=" ...")) for text in _notes(rows, trials, names))
    return (Table.of_records(_COLUMNS, (_cells(row, names if distinct else {}) for row in rows), title, notes),)


def _charts(of: ConditionTrials) -> Iterator[Chart]:
    """Draw the usual charts, the ranking by the other of rate and cost, and both metrics against each other."""
    rate, per_core, cost = (find_metric(CRAWL_METRICS, name) for name in (RATE, COST, "cpu_per_right_ms"))
    other = per_core if of.metric == rate else rate
    first, *others = usual_charts(of)
    second = ranking_chart(of, rank(of.trials, other, disturbed=True), other)
    yield first
    yield replace(second, name="ranking-other") if first.series else second
    yield from others
    yield cost_chart(of, rate, cost)


class CrawlPresentation(Presentation):
    """Presentation of a crawl; its settings choose the ranking metric."""

    __slots__ = ()
    ranks_disturbed = True
    brief = True
    intervals = (COST, RATE, "cpu_per_right_ms")
    words = (
        (Column("limited_by", description="limit of the rate: concurrency, CPU, origin, link or web"), limited_by),
    )
    published_columns = (
        *("language", "method", "concurrency", "totalUrls", "time", "avg", "max", "okReqsSec", "okReqsPct"),
        *("avgBodyLen", "2xx", "3xx", "4xx", "5xx", "Exception"),
    )

    def for_run(self, settings: Mapping[str, Setting]) -> Self:
        """Rank by the chosen metric; by default by CPU cost, or by rate for runs at the ceiling and for presets."""
        chosen = settings.get("rank_by")
        if isinstance(chosen, str):
            return replace(self, ranked_by=find_rankable(CRAWL_METRICS, chosen).name)
        return replace(self, ranked_by=RATE if settings.get("saturate") or settings.get("preset") else COST)

    def answer(self, trials: Sequence[Trial], names: Mapping[str, str]) -> list[str]:
        """Return the two lines of the headline."""
        return answer(trials, names, self.ranking_metric.name)


PRESENTATION: Final = CrawlPresentation(
    metrics=CRAWL_METRICS,
    ranked_by=COST,
    compared_by=(COST, RATE),
    identity=(
        Column("subject", description="name of the subject's folder", shown=False),
        Column("language"),
        Column("method"),
        Column("concurrency", ColumnKind.INTEGER, description="requests in flight at most"),
        Column("http_version", description="requested HTTP version; empty: each client's default", shown=False),
    ),
    views=_views,
    report=lambda run, definition: usual_report(run, definition, _charts),
    preset_views=lambda of: (in_published_form(of.table, of.published, of.absent), of.comparison),
)
