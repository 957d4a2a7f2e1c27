"""Tables of a report that several experiments share: rankings, rules, trials, links, wrong answers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import Final

import polars as pl

from httpdyno.judge import ceiling_notes
from httpdyno.judge.reference import sample_words
from httpdyno.judge.validity import Finding, Rule, findings
from httpdyno.judge.wording import difference_text
from httpdyno.model import (
    Cell,
    Column,
    ColumnKind,
    Comparison,
    Link,
    LinkCounters,
    Metric,
    Note,
    Outcome,
    Table,
    Trial,
    Verdict,
    counted,
    format_size,
)
from httpdyno.stats import median


def subject_names(trials: Sequence[Trial], order: Iterable[str]) -> dict[str, str]:
    """Name each subject by its language and method, with its id if two would have the same name.

    The names are by id, in the given order; ids that are not in it come last.
    """
    named = {trial.subject: f"{trial.language} {trial.method}".strip() or trial.subject for trial in trials}
    times = Counter(named.values())
    return {
        subject: named[subject] if times[named[subject]] == 1 else f"{named[subject]} ({subject})"
        for subject in dict.fromkeys((*order, *named))
        if subject in named
    }


def rows_apart(table: Table) -> Table:
    """Append the subject's id to the method in rows with the language and method of another subject."""
    columns = {column.name: column for column in table.columns}
    if not {"subject", "language", "method"} <= set(columns) or columns["subject"].shown:
        return table
    records = table.records()
    alike = Counter(name for name, _ in {((row["language"], row["method"]), row["subject"]) for row in records})
    for row in records:
        if alike[row["language"], row["method"]] > 1:
            row["method"] = f"{row['method']} ({row['subject']})"
    return Table.of_records(table.columns, records, table.title, table.notes)


_NAMES: Final = 3
"""A row is named by its id, its language and its method."""
_DECIMAL: Final = ColumnKind.DECIMAL
_PAIRS: Final = (
    Column("condition"),
    Column("subject"),
    Column("against"),
    Column("ratio", _DECIMAL, description="the subject's figure as a multiple of the other's"),
    Column("low", _DECIMAL, description="lower end of the interval of the ratio"),
    Column("high", _DECIMAL, description="upper end"),
    Column("level", _DECIMAL, "%", "confidence of the interval"),
    Column("p", description="chance of such a difference between equals, adjusted for the number of pairs"),
    Column("blocks", ColumnKind.INTEGER, description="number of paired trials"),
    Column("result"),
)


def ranking_table(table: Table, ranked_by: str | None) -> Table:
    """Return the ranking table: names, the ranking metric, the verdict, then other figures.

    The table is one of ``judge.trial_table``; ``ranked_by`` names the metric that ranks. In one of
    ``judge.pass_table``, which has none, the names are followed by whether subjects passed.
    """
    first = ("passed", "rank", "rank_note", ranked_by, f"{ranked_by}_low", f"{ranked_by}_high", "wrong", "verdict")
    columns = [column.name for column in table.columns]
    before = takewhile(lambda column: column.name not in first, table.columns)
    named = [column.name for column in before if column.kind is ColumnKind.TEXT][:_NAMES]
    return table.select(dict.fromkeys((*named, *(name for name in first if name in columns), *columns)))


def comparison_table(comparisons: Iterable[Comparison], metric: Metric | None, names: Mapping[str, str]) -> Table:
    """List every pair with its ratio, its interval and the result; without a ranking metric there are no pairs."""
    rows = []
    for pair in comparisons:
        if metric is None:
            continue
        ratio: tuple[Cell, ...] = (None,) * 4
        if pair.ratio is not None:
            ends = (round(value, 3) for value in (pair.ratio.estimate, pair.ratio.low, pair.ratio.high))
            ratio = (*ends, round(100 * pair.ratio.level, 2))
        chance = None
        if pair.p_adjusted is not None:
            # Smaller values depend on assumptions that cannot be checked.
            chance = "< 0.001" if pair.p_adjusted < 0.001 else f"{pair.p_adjusted:.2g}"
        result = "too few trials to tell" if pair.p is None else difference_text(pair, metric)
        named = names[pair.subject], names[pair.baseline]
        rows.append((pair.condition, *named, *ratio, chance, pair.blocks, result))
    return without_empty(Table(_PAIRS, tuple(rows)), "condition")


def without_empty(table: Table, name: str) -> Table:
    """Remove a column without values: the condition of an experiment that has only one."""
    if any(table.values(name)):
        return table
    return table.select(column.name for column in table.columns if column.name != name)


_RULES: Final = (
    Column("rule"),
    Column("number", description="what the rule measures"),
    Column("at most", _DECIMAL, "%", "largest allowed number"),
    Column("worst", _DECIMAL, "%", "largest number in any trial"),
    Column("trial", ColumnKind.INTEGER, description="the trial with the worst number"),
    Column("failed", ColumnKind.INTEGER, description="trials that do not meet the rule", limit=0),
    Column("validity", description="validity of a trial that breaks the rule"),
    Column("finding", description="the worst finding in words"),
)
_TRIALS: Final = (
    Column("trial", ColumnKind.INTEGER, description="number of the trial in the order of execution, from 0"),
    Column("block", ColumnKind.INTEGER, description="trials of one block ran under similar conditions"),
    Column("condition"),
    Column("subject"),
    Column("outcome", description="how the trial ended"),
    Column("validity", description="whether the trial's figures represent the subject"),
    Column("reason", description="why the trial failed, or is not valid"),
)


def rule_table(trials: Sequence[Trial], rules: Sequence[Rule]) -> Table:
    """List every rule that applied to the trials, with the worst finding.

    All trials are of one experiment; no rule applies to failed trials.
    """
    found: dict[str, list[tuple[Finding, int]]] = {}
    for trial in trials:
        for finding in findings(trial, rules):
            found.setdefault(finding.rule.name, []).append((finding, trial.trial))
    rows: list[tuple[Cell, ...]] = []
    for of_rule in found.values():
        rule = of_rule[0][0].rule
        known = [one for one in of_rule if one[0].number is not None]
        worst, number = max(known, key=lambda one: one[0].number or 0.0, default=(of_rule[0][0], None))
        failed = sum(finding.passed is False for finding, _ in of_rule)
        limits = (f"{rule.meaning}, {rule.unit}", rule.threshold, _rounded(worst.number))
        rows.append((rule.name, *limits, number, failed, rule.verdict.value, worst.text))
    return Table(_RULES, tuple(rows))


def trial_overview(
    trials: Sequence[Trial], names: Mapping[str, str], ceiling: Trial | None = None, *, rules: Sequence[Rule]
) -> Table:
    """List every trial: outcome, validity, its reason, and the number of each rule.

    Rules for which no trial has a number have no column. The trial that measured the web's ceiling is
    first, since it came first.
    """
    rows = [(trial, names[trial.subject], trial.reason or trial.validity_reason) for trial in trials]
    if ceiling is not None:
        rows.insert(0, (ceiling, f"{ceiling.subject}, for the web's ceiling", _ceiling_text(ceiling, trials)))
    measured: dict[str, Column] = {}
    records: list[dict[str, Cell]] = []
    for trial, name, reason in rows:
        record: dict[str, Cell] = {column.name: getattr(trial, column.name, None) for column in _TRIALS}
        record |= {"subject": name, "reason": reason}
        for finding in findings(trial, rules):
            if finding.number is not None:
                rule = finding.rule
                record[rule.name] = _rounded(finding.number)
                meaning = f"{rule.meaning}; at most {rule.threshold:g} {rule.unit}"
                limit = f"\u2264 {rule.threshold:g} %"
                measured[rule.name] = Column(rule.name, _DECIMAL, limit, meaning, limit=rule.threshold)
        records.append(record)
    return without_empty(Table.of_records((*_TRIALS, *measured.values()), records), "condition")


def _ceiling_text(ceiling: Trial, trials: Sequence[Trial]) -> str:
    notes = ceiling_notes(trials)
    if not notes:
        reason = ceiling.reason or ceiling.validity_reason or "it was too short to find what limited the fetcher"
        return f"the web's ceiling is not known: {reason}"
    p50_ns = ceiling.summary.p50_ns if ceiling.summary else None
    median = f", p50 {p50_ns / 1e6:.0f} ms" if p50_ns else ""
    return f"{notes[0]} ({ceiling.concurrency} in flight{median})"


def _rounded(number: float | None) -> float | None:
    return None if number is None else round(number, 2)


_TIME: Final = ColumnKind.TIME
_COUNT: Final = ColumnKind.INTEGER
_RATE: Final = "Mbit/s"
_LINK_COLUMNS: Final = (
    Column("link", description="as requested"),
    Column("trials", _COUNT),
    Column("refused", _COUNT, description="trials that did not begin, because the link was not as requested", limit=0),
    Column("rtt requested", _TIME, "ms", "round-trip time, both ways together"),
    Column("rtt measured", _TIME, "ms", "median of the round trips before each trial; the median trial's"),
    Column("largest error", _TIME, "ms", "largest difference of a trial from the requested round-trip time"),
    Column("content possible", _DECIMAL, _RATE, "rate towards the subject without the headers of packets"),
    Column(
        "content measured",
        _DECIMAL,
        _RATE,
        "rate of content towards the subject, measured before the trials; the median",
    ),
    Column("least", _DECIMAL, _RATE, "the same in the worst trial"),
    Column("late p99", _TIME, "ms", "how late the emulator let packets go towards the subject, in the worst trial"),
    Column("packets", _COUNT, description="towards the subject, of all trials; those of super-packets each"),
    Column("dropped", _DECIMAL, "%", "of these: the queue had no room"),
    Column("lost", _DECIMAL, "%", "of these: by chance, as requested"),
    Column("super-packets", description="whether several packets may come in one piece, and the longest that may"),
)
_SUPER_PACKETS: Final = "super-packets: several packets that a kernel passes on in one piece (segmentation offload)"
_MILLION: Final = 1e6


def link_table(trials: Sequence[Trial]) -> Table:
    """Put the links of trials into a row each, in the order of the first trial over each.

    Trials over the room's own veth pair have no figures, and no row.
    """
    over: dict[str, list[Trial]] = {}
    for trial in trials:
        if trial.counters.link is not None:
            over.setdefault(trial.link, []).append(trial)
    counters = [trial.counters.link for of in over.values() for trial in of if trial.counters.link is not None]
    reasons = dict.fromkeys(one.offload_reason for one in counters if one.offload_reason is not None)
    notes = [_SUPER_PACKETS, *(f"super-packets {reason}" for reason in reasons)] if reasons else []
    rows = tuple(_link_row(Link.parse(link), link, of) for link, of in over.items())
    table = Table(_LINK_COLUMNS, rows, title="What the link was", notes=tuple(map(Note, notes)))
    return table.select(table.filled()) if rows else table


def _link_row(asked: Link, name: str, trials: Sequence[Trial]) -> tuple[Cell, ...]:
    counters = [trial.counters.link for trial in trials if trial.counters.link is not None]
    paths = [one.down for one in counters]
    measured = _known(one.rtt_p50_ns for one in counters)
    off = [abs(one - asked.round_trip_ns) for one in measured]
    goodput = _known(path.goodput_bits_per_s for path in paths)
    packets, dropped, lost = (
        sum(known) if (known := _known(getattr(path, field) for path in paths)) else None
        for field in ("packets", "dropped", "lost")
    )
    # Times in ms, rates in Mbit/s.
    figures = (
        asked.round_trip_ns,
        median(measured),
        max(off, default=None),
        median(_known(path.goodput_expected_bits_per_s for path in paths)),
        median(goodput),
        min(goodput, default=None),
        max(_known(path.lateness_p99_ns for path in paths), default=None),
    )
    return (
        name,
        len(trials),
        sum(trial.outcome is Outcome.REFUSED for trial in trials),
        *(None if figure is None else float(f"{figure / _MILLION:.4g}") for figure in figures),
        packets,
        *(None if count is None or not packets else round(100 * count / packets, 3) for count in (dropped, lost)),
        next((text for one in counters if (text := _super_packets(one, asked)) is not None), None),
    )


def _known(values: Iterable[float | None]) -> list[float]:
    return [value for value in values if value is not None]


_LONGEST_SUPER_PACKET: Final = 65_536
"""Bytes of the longest super-packet of the kernel."""


def _super_packets(counters: LinkCounters, link: Link) -> str | None:
    """Describe what a link did with super-packets: ``off``, ``bounded, 12.2 KiB``, ``on, 64.0 KiB, split``."""
    if counters.offload_reason is None:
        return None
    # A note explains the words.
    if counters.offload_bytes is None:
        return "off"
    word = "bounded" if counters.offload_bytes < _LONGEST_SUPER_PACKET else "on"
    split = ", split" if link.up.loss or link.down.loss else ""
    return f"{word}, {format_size(counters.offload_bytes)}{split}"


_MOST: Final = 10
_WRONG: Final = [verdict.value for verdict in Verdict if verdict.wrong]
_ANSWER: Final = ("url", "code", "body_length", "verdict", "served_status", "served_body_length", "cause")
_WRONG_COLUMNS: Final = (
    Column("subject"),
    Column("url"),
    Column("answer", description="the reported answer; the answer that the web served"),
    Column("verdict"),
    Column("times", ColumnKind.INTEGER, description="number of samples with this answer, over all trials"),
)


def wrong_answers(trials: Sequence[Trial], names: Mapping[str, str], samples: pl.LazyFrame) -> Table | None:
    """List the first unexplained wrong answers, equally many of each subject; None without any.

    The samples have the columns of ``model.Sample``, and are searched without being read into memory.
    """
    wrong = [trial for trial in trials if trial.tally and trial.tally.wrong]
    if not wrong:
        return None
    found = (
        _unexplained(samples)
        .join(_subjects(wrong, names), on="trial")
        .group_by("subject", *_ANSWER)
        .agg(pl.col("trial").min(), pl.col("line").min(), times=pl.len())
        .collect(engine="streaming")
        .sort("trial", "line", *_ANSWER)
        .with_columns(nth=pl.int_range(pl.len()).over("subject"))
    )
    if found.is_empty():
        return None
    first = found.sort("nth", maintain_order=True).head(_MOST)
    order = {name: place for place, name in enumerate(names.values())}
    rows = sorted(first.iter_rows(named=True), key=lambda row: (order[row["subject"]], row["nth"]))
    rest = sum(found["times"].to_list()) - sum(first["times"].to_list())
    notes = (Note(f"{counted(rest, 'more wrong answer')}, not shown"),) if rest else ()
    cells = tuple((row["subject"], row["url"], sample_words(row), row["verdict"], row["times"]) for row in rows)
    return Table(_WRONG_COLUMNS, cells, title="Wrong answers", notes=notes)


def _subjects(trials: Iterable[Trial], names: Mapping[str, str]) -> pl.LazyFrame:
    rows = [(trial.trial, names[trial.subject]) for trial in trials]
    return pl.LazyFrame(rows, schema={"trial": pl.Int32(), "subject": pl.String()}, orient="row")


def _unexplained(samples: pl.LazyFrame) -> pl.LazyFrame:
    verdicts = samples.with_columns(pl.col("verdict").cast(pl.String))
    return verdicts.filter(pl.col("verdict").is_in(_WRONG) & ~pl.col("explained"))


CASES_OF_CAUSES: Final = {
    "nxdomain": "dns/no-such-name",
    "servfail": "dns/server-failure",
    "blackhole": "deadlines/silent-address",
    "stall_after_accept": "deadlines/silent-after-accept-tls",
    "reset_after_accept": "tls/reset-in-place-of-handshake",
    "stall_tls": "deadlines/stalled-handshake",
    "expired_certificate": "tls/expired",
    "wrong_host": "tls/wrong-name",
    "self_signed": "tls/self-signed",
    "tls_alert": "tls/alert-in-place-of-handshake",
    "stall_headers": "deadlines/silent-after-request",
    "empty_reply": "framing/silent-close",
    "reset_before_headers": "connections/reset-in-place-of-answer",
    "garbage_head": "framing/garbage",
    "redirect_loop": "redirects/loop",
    "goaway": "http2/goaway-always framing/silent-close",
    "stall_body": "deadlines/stalled-content",
    "drip_body": "deadlines/dripping-content",
    "reset_mid_body": "connections/reset-after-answer",
    "stream_reset": "http2/reset-in-content connections/reset-after-answer",
    "short_body": "framing/content-short",
    "short_chunked": "framing/last-chunk-missing",
    "interim_response": "framing/interim-kinds",
    "goaway_after_answer": "http2/goaway-graceful",
    "dripping_head": "deadlines/dripping-head",
    "slow_redirects": "deadlines/slow-redirects",
}
"""Case of ``conform`` for each cause of wrong answers that has one, with nearly the same stimulus; two where HTTP/1.1
has another one."""


def case_notes(trials: Sequence[Trial], names: Mapping[str, str], samples: pl.LazyFrame) -> tuple[Note, ...]:
    """Name a case of ``conform`` for each cause of unexplained wrong answers; empty without any.

    The most frequent cause of each subject comes first, in the order of ``names``, then the second one of each.
    """
    wrong = [trial for trial in trials if trial.tally and trial.tally.wrong]
    if not wrong:
        return ()
    found = (
        _unexplained(samples)
        .filter(pl.col("cause").is_in(list(CASES_OF_CAUSES)))
        .join(_subjects(wrong, {name: name for name in names}), on="trial")
        .group_by("subject", "cause")
        .agg(times=pl.len())
        .collect(engine="streaming")
        .sort("times", "cause", descending=(True, False))
        .with_columns(nth=pl.int_range(pl.len()).over("subject"))
    )
    order = list(names)
    rows = sorted(found.iter_rows(named=True), key=lambda row: (row["nth"], order.index(row["subject"])))
    return tuple(
        Note(f"wrong at {row['cause']}: httpdyno conform {row['subject']} {CASES_OF_CAUSES[row['cause']]}")
        for row in rows
    )


def wrong_notes(table: Table | None) -> tuple[Note, ...]:
    """Write the table of wrong answers as notes, a line for each."""
    if table is None:
        return ()
    lines = (Note(f"wrong answer of {subject}: [{words}] {url}") for subject, url, words, *_ in table.rows)
    return (*lines, *table.notes)


_MOST_ROWS: Final = 200


_ERROR_COLUMNS: Final = (
    Column("subject"),
    Column("error", description="error name that the client reported"),
    Column("cause", description="fault of the web; empty without one"),
    Column("verdict", description="verdict on the report, after comparison with the web"),
    Column("count", ColumnKind.INTEGER, description="number of samples, over all trials"),
)


def error_table(trials: Sequence[Trial], names: Mapping[str, str], samples: pl.LazyFrame) -> Table:
    """List the reported errors, the most frequent first.

    The samples have the columns of ``model.Sample``, and are counted without being read into memory.
    """
    kinds = (
        samples.filter(pl.col("error").is_not_null() & pl.col("line").is_not_null())
        .join(_subjects(trials, names), on="trial")
        .group_by("subject", *(pl.col(name).cast(pl.String) for name in ("error", "cause", "verdict")))
        .agg(count=pl.len())
        .collect(engine="streaming")
    )
    order = list(names.values())
    rows = sorted(kinds.iter_rows(), key=lambda row: (-row[-1], order.index(row[0]), tuple(map(str, row))))
    rest = rows[_MOST_ROWS:]
    left_out = f"{len(rest)} more kinds of errors, {sum(row[-1] for row in rest)} samples, are not shown"
    return Table(_ERROR_COLUMNS, tuple(rows[:_MOST_ROWS]), notes=(Note(left_out),) if rest else ())
