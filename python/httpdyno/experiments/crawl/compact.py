"""The table of a crawl on one screen: two lines of answer, a row a client, few and short notes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from textwrap import shorten
from typing import Final

from httpdyno.experiments.crawl.metrics import CRAWL_METRICS, RANKED_BY
from httpdyno.judge import find_metric, marked_ranks, rank
from httpdyno.judge.limit import Limit
from httpdyno.judge.notes import asked_version_notes, unverified_notes
from httpdyno.judge.rankable import disturbed, disturbing_causes
from httpdyno.judge.ranking import lower_bounds
from httpdyno.judge.validity.readings import busy_programs
from httpdyno.judge.wording import listed, some_of
from httpdyno.model import (
    INSTALL_WITH,
    OPEN_MARK,
    PROVISIONAL_MARK,
    Cell,
    Column,
    ColumnKind,
    Note,
    Outcome,
    Ranking,
    Table,
    Trial,
    Validity,
)
from httpdyno.report.sections.headline import figure_text, lead_text, placing_medians
from httpdyno.stats import FEWEST_BLOCKS

__all__ = ["COST", "LINE", "RATE", "answer", "compact_table", "rate_text"]

COST: Final = RANKED_BY
RATE: Final = "right_per_s"
_INTEGER, _DECIMAL = ColumnKind.INTEGER, ColumnKind.DECIMAL
LINE: Final = 100
"""Characters of a line of the answer, and of a note."""
_PHRASES: Final = {COST: ("Cheapest", "right answers per core-second"), RATE: ("Fastest here", "right answers/s")}
_SHORT_PHRASES: Final = {COST: "per core/s", RATE: "right/s"}
_OR_MORE: Final = "\u2265"
_AT_LEAST: Final = f"{_OR_MORE} the origin set the pace: the client may be faster"
_WHOLE_FROM: Final = 100
_LONGEST_NAME: Final = 27
"""Characters of a client's name, so that a row fits a line."""
_NAME_LENGTHS: Final = range(_LONGEST_NAME, 5, -1)
_CUT: Final = "\u2026"
_MARKED: Final = frozenset({Validity.DISTURBED.value, Validity.UNSTEADY.value, Validity.ORIGIN_LIMITED.value})
"""Verdicts that the mark behind a provisional rank stands for."""
_COLUMNS: Final = (
    # Ranks, rates and shares are written out here, but stand at the right, as numbers do.
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


@dataclass(frozen=True, slots=True)
class _Form:
    """How a line of the answer is written: in words, or shorter."""

    names: Mapping[str, str]
    phrase: str | None
    """What stands behind the figure, or behind the difference where there is no figure."""
    figure: bool = True
    bounds: bool = True
    reason: bool = True
    """Whether the line has the reason for which a difference is not certain."""


def answer(trials: Sequence[Trial], names: Mapping[str, str], ranked_by: str, *, width: int | None = None) -> list[str]:
    """Return the two lines of answer: which client needs the least CPU time, which is the fastest at these settings.

    The metric that ranks comes first; where it is neither of these, the second line has the CPU time. Each line names
    the best median first and says whether its lead is certain. Empty where no client is ranked. ``width``: characters
    of a line, kept by leaving out what the table has too, and then by cutting names.
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
    """Yield a line of the answer in words, then shorter and shorter."""
    metric = find_metric(CRAWL_METRICS, name)
    medians = placing_medians(metric, trials, [standing.subject for standing in ranking.standings])
    unit = metric.column.unit
    word, phrase = _PHRASES.get(name, (f"First by {metric.column.heading}", metric.phrase or unit))
    short = _SHORT_PHRASES.get(name, unit)
    alone = _SHORT_PHRASES.get(name)
    plain = _without_brackets(names)
    cut = ({subject: _cut(text, longest) for subject, text in plain.items()} for longest in _NAME_LENGTHS)
    forms = (
        _Form(names, phrase),
        _Form(names, short),
        _Form(plain, short),
        _Form(plain, short, bounds=False),
        *(_Form(of, alone, figure=False) for of in (names, plain)),
        _Form(plain, alone, figure=False, bounds=False),
        *(_Form(of, alone, figure=False, bounds=False, reason=False) for of in (plain, *cut)),
    )
    bounds = {subject: bound for (_, subject), bound in lower_bounds(trials, metric).items() if subject in names}
    best = medians[ranking.standings[0].subject]
    ahead = sorted((subject for subject, bound in bounds.items() if bound > best), key=lambda one: -bounds[one])
    for form in forms:
        of = form.names
        if ahead:
            held = f"{of[ahead[0]]} at {figure_text(bounds[ahead[0]])} {short}"
            others = f" and {len(ahead) - 1} more" if len(ahead) > 1 else ""
            first = f"; of those ranked {of[ranking.standings[0].subject]} is first" if form.figure else ""
            yield f"{word}: no clear winner: the origin held up {held}{others}{first}"
        else:
            lead = lead_text(
                *(ranking, metric, medians, of),
                phrase=form.phrase,
                after_name=", ",
                figure=form.figure,
                bounds=form.bounds,
                reason=form.reason,
            )
            yield f"{word}: {lead}"


def _without_brackets(names: Mapping[str, str]) -> Mapping[str, str]:
    """Leave out what stands in brackets behind names, where that keeps them apart."""
    shortened = {subject: name.partition(" (")[0] for subject, name in names.items()}
    return shortened if len(set(shortened.values())) == len(shortened) else names


def _cut(name: str, longest: int) -> str:
    """Cut the middle out of a name: two that differ do so in the beginning, or by the id at the end."""
    if len(name) <= longest:
        return name
    tail = longest // 3
    return f"{name[: longest - tail - 1]}{_CUT}{name[-tail:]}"


def compact_table(table: Table, trials: Sequence[Trial], names: Mapping[str, str]) -> Table:
    """Make it of the table of a crawl, a row for each of its rows; ``names`` are those of subjects."""
    columns = [column.name for column in table.columns]
    rows = [dict(zip(columns, row, strict=True)) for row in marked_ranks(table).rows]
    alike = len({row["subject"] for row in rows}) == len(rows)
    cells = tuple(_cells(row, names if alike else {}) for row in rows)
    return Table(
        _COLUMNS,
        cells,
        table.title,
        notes=tuple(Note(shorten(text, LINE, placeholder=" ...")) for text in _notes(rows, trials, names, cells)),
    )


def _cells(row: Mapping[str, Cell], names: Mapping[str, str]) -> tuple[Cell, ...]:
    client = _cut(names.get(str(row["subject"])) or f"{row['language']} {row['method']}".strip(), _LONGEST_NAME)
    memory, http2, verdict = row["peak_memory_bytes"], row["http2_share"], row["verdict"]
    rate = rate_text(
        *(row[f"{RATE}{end}"] for end in ("", "_low", "_high")), at_least=row["limited_by"] == Limit.ORIGIN.value
    )
    words = {Validity.VALID.value: None, Outcome.UNAVAILABLE.value: "not installed"}
    return (
        row["rank"],
        client,
        row[COST],
        row["cpu_per_right_ms"],
        rate,
        row["concurrency"] if rate or row[COST] is not None else None,
        row["in_flight_per_core"],
        round(memory / 2**20) if isinstance(memory, int | float) else None,
        f"{100 * http2:.0f} %" if isinstance(http2, int | float) else None,
        row["wrong"],
        None
        if verdict in _MARKED and str(row["rank"]).endswith(PROVISIONAL_MARK)
        else words.get(str(verdict), verdict),
    )


def rate_text(rate: Cell, low: Cell, high: Cell, *, at_least: bool = False) -> str | None:
    """Write a rate with the farther end of its interval in percent: ``234 ±1 %``; what the origin held up: ``≥``."""
    if not isinstance(rate, int | float):
        return None
    text = f"{rate:.0f}" if rate >= _WHOLE_FROM else f"{rate:.1f}"
    if at_least:
        text = f"{_OR_MORE}{text}"
    if not isinstance(low, int | float) or not isinstance(high, int | float) or not rate:
        return text
    return f"{text} ±{ceil(100 * max(high - rate, rate - low) / rate)} %"


def _notes(
    rows: Sequence[Mapping[str, Cell]],
    trials: Sequence[Trial],
    names: Mapping[str, str],
    cells: Sequence[tuple[Cell, ...]],
) -> Iterator[str]:
    """Yield what a reader needs to trust or doubt the table, the gravest first."""
    by_subject = {subject: [trial for trial in trials if trial.subject == subject] for subject in names}
    for subject, own in by_subject.items():
        grave = next((trial for trial in own if trial.validity is Validity.INCORRECT), None)
        grave = next((t for t in own if t.outcome not in {Outcome.OK, Outcome.UNAVAILABLE}), grave)
        if grave:
            yield f"{names[subject]}: {grave.reason or grave.validity_reason}"
    yield from unverified_notes(trials)
    provisional = any(str(row["rank"]).endswith(PROVISIONAL_MARK) for row in rows)
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
    if any(_OR_MORE in str(cell) for row in cells for cell in row):
        yield _AT_LEAST
    if any(str(row["rank"]).endswith(OPEN_MARK) for row in rows):
        yield f"{OPEN_MARK} the difference from the row above may be chance"
    if held_up := _held_up(rows):
        yield held_up


def _disturbances(by_subject: Mapping[str, Sequence[Trial]], names: Mapping[str, str], width: int) -> str | None:
    """Describe what disturbed how many trials of which clients, with the names of as many clients as fit ``width``."""
    spoiled = {subject: sum(map(disturbed, own)) for subject, own in by_subject.items()}
    those = [trial for own in by_subject.values() for trial in own if disturbed(trial)]
    if not those:
        return None
    counts = [
        f"{count} of {len(by_subject[subject])} trials of {names[subject]}"
        for subject, count in sorted(spoiled.items(), key=lambda item: -item[1])
        if count
    ]
    counts = [counts[0], *(text.replace(" trials of", " of") for text in counts[1:])]
    programs: dict[str, int] = {}
    for trial in those:
        for program in busy_programs(trial):
            programs[program.name] = programs.get(program.name, 0) + program.cpu_ns
    causes = [*dict.fromkeys(cause for trial in those for cause in disturbing_causes(trial))]
    busiest = (causes + sorted(programs, key=lambda name: -programs[name]))[:2]
    by_what = f"{listed(busiest) if busiest else 'other programs'} disturbed "
    texts = [
        by_what
        + (listed(counts) if shown == len(counts) else f"{', '.join(counts[:shown])} and of {len(counts) - shown} more")
        for shown in range(len(counts), 0, -1)
    ]
    return next((text for text in texts if len(text) <= width), texts[-1])


def _absences(by_subject: Mapping[str, Sequence[Trial]], names: Mapping[str, str]) -> Iterator[str]:
    absent = {
        subject: own[0].reason or "unavailable"
        for subject, own in by_subject.items()
        if own and all(trial.outcome is Outcome.UNAVAILABLE for trial in own)
    }
    if len(absent) > 1:
        yield f"not installed: {some_of([names[subject] for subject in absent])}; --install brings what can be had"
        return
    for subject, reason in absent.items():
        lacks, _, cure = reason.removeprefix(f"{subject}: ").partition(INSTALL_WITH)
        cure = cure.lstrip(": ")
        means = f"install {cure}" if cure.startswith("the ") else f"{INSTALL_WITH} {cure}"
        yield f"{names[subject]}: {means if cure else lacks}"


def _held_up(rows: Sequence[Mapping[str, Cell]]) -> str | None:
    """Say in how many rows the requests in flight made the rate, and how each client's own ceiling is measured."""
    many = sum(row["limited_by"] == Limit.CONCURRENCY.value for row in rows)
    if not many:
        return None
    rated = sum(row[RATE] is not None for row in rows)
    which = "every row" if many == rated else f"{many} of {rated} rows"
    return f"the requests in flight set right/s in {which}; at its own ceiling: httpdyno bench --saturate"
