//! The tables of a load: a row per trial for programs; figures, times and outcomes for people.

use std::collections::BTreeMap;

use dyno_load::{AddressRecord, ExpectRecord, FoundRecord, LabelRecord, StageRecord, format_time};
use serde::Serialize;

use super::find;
use super::trial::{
    Metric, Times, Trial, label_metrics, median, metrics, most_frequent_first, percentile,
};
use crate::table::{
    Cell, Column, Format, Kind, Note, Table, general, general_grouped, rounded, thousands,
};

/// The figures of the first table for people, with their headings.
const FIGURES: [(&str, &str); 5] = [
    ("requests", "requests"),
    ("rps", "requests/s"),
    ("errors", "errors"),
    ("received_bytes", "received"),
    ("connections_opened", "connections"),
];
/// Labels that a table for people has; the others are for programs.
const SHOWN_LABELS: usize = 20;
const SHOWN_ADDRESSES: usize = 20;
const PERCENTILES: [&str; 7] = ["mean", "p50", "p90", "p99", "p99.9", "p99.99", "max"];

/// The tables of a format: one for programs, several for people.
///
/// `planned` is the number of planned trials. Missing trials are noted below the last table; for programs, in each row.
pub fn tables(trials: &[Trial], planned: usize, format: Format) -> Vec<Table> {
    let answered = trials.iter().filter(|trial| trial.report.requests > 0);
    let missing = missing_trials_note(answered.count(), planned);
    if format.is_for_programs() {
        let mut table = for_programs(trials);
        if let Some(text) = missing {
            table.notes.extend((0..trials.len()).map(|row| Note {
                text: text.clone(),
                row: Some(row),
            }));
        }
        return vec![table];
    }
    let searches = trials
        .iter()
        .filter_map(|trial| trial.report.found.as_ref());
    let mut tables: Vec<Table> = searches.map(find::table).collect();
    tables.extend([figures(trials), times(trials)]);
    tables.extend(stages(trials));
    tables.extend(labels(trials));
    tables.extend(addresses(trials));
    tables.push(outcomes(trials));
    if format == Format::Plain {
        tables.iter_mut().for_each(title_as_note);
    }
    if let (Some(text), Some(last)) = (missing, tables.last_mut()) {
        last.notes.push(Note { text, row: None });
    }
    tables
}

/// Note that trials are missing.
pub fn missing_trials_note(finished: usize, planned: usize) -> Option<String> {
    (finished < planned).then(|| format!("not whole: {finished} of {planned} trials"))
}

/// Moves the title into a note: plain text prints no title.
fn title_as_note(table: &mut Table) {
    let title = std::mem::take(&mut table.title);
    if !title.is_empty() {
        let note = Note {
            text: title,
            row: None,
        };
        table.notes.insert(0, note);
    }
}

/// Every figure of each trial.
fn for_programs(trials: &[Trial]) -> Table {
    let metrics = metrics();
    let mut columns = identity_columns();
    columns.extend(
        metrics
            .iter()
            .map(|metric| Column::new(&metric.name, metric.kind)),
    );
    columns.extend([
        Column::hidden("statuses", Kind::Text),
        Column::hidden("failures", Kind::Text),
        Column::hidden("stages", Kind::Text),
        Column::hidden("addresses", Kind::Text),
        Column::hidden("replay", Kind::Text),
        verdict_column(),
    ]);
    let labels = label_columns(trials);
    let found = found_columns(trials);
    columns.extend(found.iter().map(|(column, _)| column.clone()));
    columns.extend(labels.iter().map(|(column, _)| column.clone()));
    let rows = trials.iter().map(|trial| {
        let mut row = identity(trial);
        row.extend(metrics.iter().map(|metric| cell(metric, trial)));
        row.extend([
            Cell::Text(counted(&trial.statuses())),
            Cell::Text(counted(&trial.failures())),
            json_cell(
                trial
                    .report
                    .stages
                    .as_ref()
                    .filter(|stages| !stages.is_empty()),
            ),
            json_cell(
                trial
                    .report
                    .addresses
                    .as_ref()
                    .filter(|addresses| !addresses.is_empty()),
            ),
            json_cell(trial.report.replay.as_ref()),
            Cell::Text(trial.verdict().to_owned()),
        ]);
        row.extend(found.iter().map(|(_, read)| read(trial)));
        row.extend(labels.iter().map(|(_, read)| read(trial)));
        row
    });
    let notes = trials.iter().enumerate().flat_map(|(row, trial)| {
        let notes = notes(std::slice::from_ref(trial)).into_iter();
        notes.map(move |text| Note {
            text,
            row: Some(row),
        })
    });
    Table {
        title: String::new(),
        columns,
        rows: rows.collect(),
        notes: notes.collect(),
    }
}

/// The result of a search; no columns without one.
fn found_columns(trials: &[Trial]) -> Vec<(Column, ReadCell)> {
    if trials.iter().all(|trial| trial.report.found.is_none()) {
        return Vec::new();
    }
    let rate = |name: &str, read: fn(&FoundRecord) -> Option<f64>| -> (Column, ReadCell) {
        let read = move |trial: &Trial| {
            trial
                .report
                .found
                .as_ref()
                .and_then(read)
                .map(|rate| rounded(rate, 3))
                .into()
        };
        (Column::hidden(name, Kind::Number), Box::new(read))
    };
    let text = |name: &str, read: fn(&FoundRecord) -> String| -> (Column, ReadCell) {
        let read = move |trial: &Trial| match &trial.report.found {
            Some(found) => Cell::Text(read(found)),
            None => Cell::Absent,
        };
        (Column::hidden(name, Kind::Text), Box::new(read))
    };
    vec![
        rate("found_per_s", |found| found.found_per_s),
        rate("found_low_per_s", |found| found.found_low_per_s),
        rate("found_high_per_s", |found| found.found_high_per_s),
        text("found", find::sentence),
        text("find_steps", |found| {
            serde_json::to_string(&found.find.steps).unwrap_or_default()
        }),
    ]
}

type ReadCell = Box<dyn Fn(&Trial) -> Cell>;

/// The columns of each label, with what they have for a trial.
fn label_columns(trials: &[Trial]) -> Vec<(Column, ReadCell)> {
    let mut columns: Vec<(Column, ReadCell)> = Vec::new();
    for of in trials.first().map_or(&[][..], Trial::labels) {
        for metric in label_metrics(&of.label) {
            let column = Column::hidden(&metric.full_name(), metric.kind);
            columns.push((column, Box::new(move |trial| cell(&metric, trial))));
        }
        for (name, read) in [
            ("statuses", statuses as fn(&LabelRecord) -> _),
            ("failures", failures),
        ] {
            let label = of.label.clone();
            let column = Column::hidden(&format!("{label}.{name}"), Kind::Text);
            let read = move |trial: &Trial| {
                let of = trial.labels().iter().find(|of| of.label == label);
                of.map_or(Cell::Absent, |of| Cell::Text(counted(&read(of))))
            };
            columns.push((column, Box::new(read)));
        }
    }
    columns
}

fn statuses(of: &LabelRecord) -> Vec<(String, u64)> {
    most_frequent_first(
        of.statuses
            .iter()
            .map(|(status, count)| (status.to_string(), *count)),
    )
}

fn failures(of: &LabelRecord) -> Vec<(String, u64)> {
    most_frequent_first(
        of.errors
            .iter()
            .map(|(name, count)| ((*name).to_owned(), *count)),
    )
}

/// A row for each label, the most frequent first: sums and medians over the trials. `None` without labels.
fn labels(trials: &[Trial]) -> Option<Table> {
    let names = trials.first().map_or(&[][..], Trial::labels).iter();
    let mut rows: Vec<(u64, Vec<Cell>)> = Vec::new();
    for name in names.map(|of| &of.label) {
        let of = || {
            trials
                .iter()
                .flat_map(Trial::labels)
                .filter(|of| of.label == *name)
        };
        let count = of().map(|of| of.requests).sum();
        let figure = |figure: &str| {
            let mut metrics = label_metrics(name).into_iter();
            let metric = metrics.find(|metric| metric.name == figure)?;
            median(
                trials
                    .iter()
                    .filter_map(|trial| metric.figure(trial))
                    .collect(),
            )
        };
        let outcomes = summed(of().map(|of| [statuses(of), failures(of)].concat()));
        rows.push((
            count,
            vec![
                Cell::Text(name.clone()),
                number(count),
                number(of().map(|of| of.errors_total + of.failed_answers).sum()),
                figure("p50").into(),
                figure("p99").into(),
                Cell::Text(counted(&outcomes)),
            ],
        ));
    }
    if rows.is_empty() {
        return None;
    }
    rows.sort_by_key(|(count, _)| std::cmp::Reverse(*count));
    let mut notes = Vec::new();
    if let more @ 1.. = rows.len().saturating_sub(SHOWN_LABELS) {
        notes.push(format!(
            "{} more labels: --format json",
            thousands(more as u64)
        ));
    }
    if let Some(grouped) = trials
        .iter()
        .flat_map(Trial::labels)
        .find_map(|of| of.grouped)
    {
        notes.push(format!(
            "(other): {} labels beyond the first 999",
            thousands(grouped)
        ));
    }
    Some(Table {
        title: String::new(),
        columns: vec![
            Column::new("label", Kind::Text),
            Column::new("requests", Kind::Integer),
            Column::new("errors", Kind::Integer),
            Column::new("p50", Kind::Time),
            Column::new("p99", Kind::Time),
            Column::new("outcomes", Kind::Text),
        ],
        rows: rows
            .into_iter()
            .take(SHOWN_LABELS)
            .map(|(_, row)| row)
            .collect(),
        notes: notes
            .into_iter()
            .map(|text| Note { text, row: None })
            .collect(),
    })
}

/// A row for each address of the servers: sums and medians over the trials; `None` with fewer than two.
fn addresses(trials: &[Trial]) -> Option<Table> {
    let all = || {
        trials
            .iter()
            .filter_map(|trial| trial.report.addresses.as_ref())
    };
    let mut names: Vec<&str> = Vec::new();
    for record in all().flatten() {
        if !names.contains(&record.address.as_str()) {
            names.push(&record.address);
        }
    }
    if names.len() < 2 {
        return None;
    }
    let row = |name: &&str| {
        let of = || all().flatten().filter(|of| of.address == *name);
        let sum = |read: fn(&AddressRecord) -> u64| number(of().map(read).sum());
        let time = |read: fn(&AddressRecord) -> Option<u64>| {
            #[expect(clippy::cast_precision_loss, reason = "times of less than months")]
            let times = of().filter_map(read).map(|time_ns| time_ns as f64 * 1e-6);
            Cell::from(median(times.collect()))
        };
        vec![
            Cell::Text((*name).to_owned()),
            sum(|of| of.opened),
            sum(|of| of.failed),
            sum(|of| of.requests),
            sum(|of| of.errors + of.failed_answers),
            time(|of| of.response_p50_ns),
            time(|of| of.response_p99_ns),
        ]
    };
    let more = names.len().saturating_sub(SHOWN_ADDRESSES);
    let note = (more > 0).then(|| Note {
        text: format!("{} more addresses: --report FILE", thousands(more as u64)),
        row: None,
    });
    Some(Table {
        title: String::new(),
        columns: vec![
            Column::new("address", Kind::Text),
            Column::new("connections", Kind::Integer),
            Column::new("failed", Kind::Integer),
            Column::new("requests", Kind::Integer),
            Column::new("errors", Kind::Integer),
            Column::new("p50", Kind::Time),
            Column::new("p99", Kind::Time),
        ],
        rows: names.iter().take(SHOWN_ADDRESSES).map(row).collect(),
        notes: note.into_iter().collect(),
    })
}

fn identity_columns() -> Vec<Column> {
    vec![
        Column::hidden("subject", Kind::Text),
        Column::new("trial", Kind::Integer),
        Column::new("url", Kind::Text),
        Column::hidden("loop", Kind::Text),
        Column::hidden("rate", Kind::Number),
        Column::hidden("rate_end", Kind::Number),
        Column::hidden("concurrency", Kind::Integer),
        Column::hidden("http_version", Kind::Text),
        Column::hidden("keepalive", Kind::Boolean),
    ]
}

fn identity(trial: &Trial) -> Vec<Cell> {
    let plan = &trial.report.plan;
    let is_open = plan.rate_per_s.is_some();
    vec![
        Cell::Text("server".to_owned()),
        whole(trial.number),
        Cell::Text(trial.target.clone()),
        Cell::Text(if is_open { "open" } else { "closed" }.to_owned()),
        plan.rate_per_s.into(),
        plan.rate_end_per_s.into(),
        whole(trial.concurrency()),
        Cell::Text(plan.http.to_owned()),
        Cell::Boolean(plan.keepalive),
    ]
}

fn verdict_column() -> Column {
    Column {
        is_verdict: true,
        ..Column::new("verdict", Kind::Text)
    }
}

/// The value of a figure, rounded for a table.
fn cell(metric: &Metric, trial: &Trial) -> Cell {
    match metric.figure(trial) {
        None => Cell::Absent,
        Some(value) if metric.decimals > 0 => Cell::Number(rounded(value, metric.decimals)),
        #[expect(clippy::cast_possible_truncation, reason = "counts and bytes")]
        Some(value) => Cell::Integer(value.round_ties_even() as i64),
    }
}

fn counted(counts: &[(String, u64)]) -> String {
    let counts = counts.iter();
    let texts: Vec<String> = counts
        .map(|(name, count)| format!("{name}: {count}"))
        .collect();
    texts.join(", ")
}

/// The figures of each trial, titled with a description of the load.
fn figures(trials: &[Trial]) -> Table {
    let all = metrics();
    let shown: Vec<(&Metric, &str)> = FIGURES
        .iter()
        .filter_map(|(name, heading)| {
            Some((all.iter().find(|metric| metric.name == *name)?, *heading))
        })
        .collect();
    let is_numbered = trials.len() > 1;
    let mut columns = Vec::new();
    if is_numbered {
        columns.push(Column::new("trial", Kind::Integer));
    }
    columns.extend(
        shown
            .iter()
            .map(|(metric, heading)| Column::new(heading, metric.kind)),
    );
    columns.extend([
        Column::new("own CPU", Kind::Time),
        Column::new("busy %", Kind::Decimal),
        verdict_column(),
    ]);
    let cpu_s = all.iter().find(|metric| metric.name == "cpu_s");
    let rows = trials.iter().map(|trial| {
        let mut row = Vec::new();
        if is_numbered {
            row.push(whole(trial.number));
        }
        row.extend(shown.iter().map(|(metric, _)| cell(metric, trial)));
        let cpu_s = cpu_s.and_then(|metric| metric.figure(trial));
        let busy = trial
            .report
            .busy_share()
            .map(|share| rounded(100.0 * share, 1));
        row.extend([
            cpu_s.map(|cpu_s| 1000.0 * cpu_s).into(),
            busy.into(),
            Cell::Text(trial.verdict().to_owned()),
        ]);
        row
    });
    let notes = notes(trials).into_iter();
    Table {
        title: trials.first().map(load_title).unwrap_or_default(),
        columns,
        rows: rows.collect(),
        notes: notes.map(|text| Note { text, row: None }).collect(),
    }
}

/// Describes a load in one line: target, concurrency, schedule.
fn load_title(trial: &Trial) -> String {
    let plan = &trial.report.plan;
    let places = thousands(trial.concurrency() as u64);
    let connection = if plan.keepalive {
        ""
    } else {
        ", a new connection each"
    };
    let stages = trial.report.stages.as_ref().map_or(0, Vec::len);
    let schedule = match (plan.rate_per_s, plan.rate_end_per_s) {
        (None, _) => "closed loop".to_owned(),
        (Some(rate), _) if let Some(replay) = &trial.report.replay => format!(
            "open loop at {} % of the recorded speed, {} a second on average",
            general(replay.recording.speed_percent, 5),
            general_grouped(rate)
        ),
        _ if stages > 0 => format!(
            "open loop of {stages} stage{}",
            if stages == 1 { "" } else { "s" }
        ),
        (Some(rate), Some(end)) if (end - rate).abs() > 0.0 => format!(
            "open loop of {} to {} a second",
            general_grouped(rate),
            general_grouped(end)
        ),
        (Some(rate), _) => format!("open loop of {} a second", general_grouped(rate)),
    };
    format!(
        "{}: HTTP/{}, {places} at a time{connection}, {schedule}, {} s",
        trial.target,
        plan.http,
        general(trial.elapsed_s(), 3)
    )
}

/// A row for each kind of time, medians over the trials; kinds that no trial has are omitted.
fn times(trials: &[Trial]) -> Table {
    let mut columns = vec![
        Column::new("time", Kind::Text),
        Column::new("count", Kind::Integer),
    ];
    columns.extend(PERCENTILES.iter().map(|name| Column::new(name, Kind::Time)));
    let mut rows = Vec::new();
    let has_failed = trials.iter().any(|trial| trial.report.failed_answers > 0);
    for kind in Times::ALL {
        if kind == Times::All && !has_failed {
            continue;
        }
        let found: Vec<_> = trials
            .iter()
            .filter_map(|trial| trial.times(kind))
            .collect();
        if found.is_empty() {
            continue;
        }
        let mut row = vec![
            Cell::Text(kind.heading().to_owned()),
            number(found.iter().map(|times| times.count).sum()),
        ];
        row.extend(
            PERCENTILES
                .iter()
                .filter_map(|name| percentile(name))
                .map(|read| {
                    let values = found.iter().map(|times| read(times)).collect();
                    Cell::from(median(values).map(|time_ns| time_ns * 1e-6))
                }),
        );
        rows.push(row);
    }
    let title = if trials.len() == 1 {
        String::new()
    } else {
        format!("Medians of {} trials", trials.len())
    };
    Table {
        title,
        columns,
        rows,
        notes: Vec::new(),
    }
}

/// A row for each stage: counts of all trials, medians of rates and times; `None` without stages.
fn stages(trials: &[Trial]) -> Option<Table> {
    let known: Vec<_> = trials
        .iter()
        .filter_map(|trial| trial.report.stages.as_ref())
        .collect();
    let row = |(place, first): (usize, &StageRecord)| {
        let all = || known.iter().filter_map(move |stages| stages.get(place));
        let time = |read: fn(&StageRecord) -> Option<u64>| {
            #[expect(clippy::cast_precision_loss, reason = "times of less than months")]
            let times = all().filter_map(read).map(|time_ns| time_ns as f64 * 1e-6);
            Cell::from(median(times.collect()))
        };
        let rps = median(all().filter_map(|stage| stage.rps).collect());
        vec![
            Cell::Text(first.stage.clone()),
            Cell::Number(rounded(first.planned_per_s, 1)),
            number(all().map(|stage| stage.sent).sum()),
            rps.map(|rps| rounded(rps, 1)).into(),
            time(|stage| stage.response_p50_ns),
            time(|stage| stage.response_p99_ns),
            number(all().map(|stage| stage.errors).sum()),
        ]
    };
    Some(Table {
        title: String::new(),
        columns: vec![
            Column::new("stage", Kind::Text),
            Column::new("planned/s", Kind::Number),
            Column::new("sent", Kind::Integer),
            Column::new("requests/s", Kind::Number),
            Column::new("p50", Kind::Time),
            Column::new("p99", Kind::Time),
            Column::new("errors", Kind::Integer),
        ],
        rows: known.first()?.iter().enumerate().map(row).collect(),
        notes: Vec::new(),
    })
}

/// Records as the report has them: JSON in one line.
pub(super) fn json_cell(value: Option<&impl Serialize>) -> Cell {
    let text = value.and_then(|value| serde_json::to_string(value).ok());
    text.map_or(Cell::Absent, Cell::Text)
}

/// The outcomes of the requests of all trials.
fn outcomes(trials: &[Trial]) -> Table {
    let answers = summed(trials.iter().map(Trial::statuses));
    let failures = summed(trials.iter().map(Trial::failures));
    let ended: u64 = answers
        .iter()
        .chain(&failures)
        .map(|(_, count)| count)
        .sum();
    let answered = answers
        .into_iter()
        .map(|(name, count)| (format!("status {name}"), count));
    let mut rows: Vec<Vec<Cell>> = answered
        .chain(failures)
        .map(|(name, count)| vec![Cell::Text(name), number(count), share(count, ended)])
        .collect();
    let others = other_outcomes(trials).into_iter();
    rows.extend(others.map(|(name, count)| vec![Cell::Text(name), number(count), Cell::Absent]));
    Table {
        title: String::new(),
        columns: vec![
            Column::new("outcome", Kind::Text),
            Column::new("count", Kind::Integer),
            Column::new("%", Kind::Decimal),
        ],
        rows,
        notes: Vec::new(),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share")]
fn share(count: u64, of: u64) -> Cell {
    if of == 0 {
        return Cell::Absent;
    }
    Cell::Number(rounded(100.0 * count as f64 / of as f64, 3))
}

/// Adds counts by name; the most frequent first, equal ones in order of appearance.
fn summed(counts: impl Iterator<Item = Vec<(String, u64)>>) -> Vec<(String, u64)> {
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut total: Vec<(String, u64)> = Vec::new();
    for (name, count) in counts.flatten() {
        let place = *places.entry(name.clone()).or_insert(total.len());
        match total.get_mut(place) {
            Some((_, sum)) => *sum += count,
            None => total.push((name, count)),
        }
    }
    total.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    total
}

/// Requests that did not end, were resent or never sent, TLS handshakes, and the results of the checks.
#[expect(clippy::cast_precision_loss, reason = "an age")]
fn other_outcomes(trials: &[Trial]) -> Vec<(String, u64)> {
    let reports = || trials.iter().map(|trial| &trial.report);
    let oldest_ns = reports()
        .filter_map(|report| report.censored.oldest_ns)
        .max();
    let age = format_time(oldest_ns.unwrap_or(0) as f64);
    let checks = || reports().filter_map(|report| report.checks.as_ref());
    let expected = |read: fn(&ExpectRecord) -> u64| {
        let records = reports().filter_map(|report| report.expect_continue.as_ref());
        records.map(read).sum()
    };
    let mut rows = vec![
        (
            format!("open at the end, the oldest for {age}"),
            reports().map(|report| report.censored.count).sum(),
        ),
        (
            "sent again: the connection was closed as they were sent".to_owned(),
            reports().map(|report| report.resent).sum(),
        ),
        (
            "due, but never sent: no connection was free".to_owned(),
            reports()
                .filter(|report| report.plan.rate_per_s.is_some())
                .map(|report| report.unsent)
                .sum(),
        ),
        (
            "answered 100 before the body".to_owned(),
            expected(|record| record.continued),
        ),
        (
            "answered before the body, which was not sent".to_owned(),
            expected(|record| record.answered),
        ),
        (
            "no answer 100 within a second; the body was sent".to_owned(),
            expected(|record| record.silent),
        ),
        (
            "full TLS handshakes".to_owned(),
            reports().map(|report| report.connections.tls_full).sum(),
        ),
        (
            "resumed TLS handshakes".to_owned(),
            reports().map(|report| report.connections.tls_resumed).sum(),
        ),
    ];
    let failed = checks().flat_map(|checks| checks.counts.by_check());
    for (name, count) in failed {
        let name = format!("check failed: {name}");
        match rows.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum)) => *sum += count,
            None => rows.push((name, count)),
        }
    }
    rows.retain(|(_, count): &(String, u64)| *count > 0);
    if checks().next().is_some() {
        let right = checks().map(|checks| checks.counts.right).sum();
        rows.push(("met every check".to_owned(), right));
    }
    rows
}

/// Reasons why trials were stopped or are not valid, many failed requests, ends of data, and wrong answers, one line
/// each.
///
/// If several trials break the same rule, they share one line, even if their numbers or further reasons differ.
fn notes(trials: &[Trial]) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<String>)> = Vec::new();
    let mut add = |key, text| match reasons.iter_mut().find(|(known, _)| *known == key) {
        Some((_, texts)) => texts.push(text),
        None => reasons.push((key, vec![text])),
    };
    // One kind after the other, as the report of the kept run has them.
    for trial in trials {
        if let Some(reason) = trial.reason() {
            add(trial.reason_key(), format!("{}: {reason}", trial.verdict()));
        }
    }
    for (key, note) in [
        (
            "failed requests",
            Trial::failure_note as fn(&Trial) -> Option<String>,
        ),
        ("data", Trial::data_note),
    ] {
        for trial in trials {
            if let Some(note) = note(trial) {
                add(key, trial.after_verdict(&note));
            }
        }
    }
    for example in trials.iter().flat_map(Trial::wrong_examples) {
        // The same check fails in the same way in each trial, or similarly.
        add(&example.check, example.to_string());
    }
    for (key, note) in [
        (
            "warm-up",
            Trial::warm_up_note as fn(&Trial) -> Option<String>,
        ),
        ("until", Trial::until_note),
        ("replay", Trial::replay_note),
        ("tolerated", Trial::tolerated_note),
        ("expect", Trial::expect_note),
        ("proxy", Trial::proxy_note),
    ] {
        for text in trials.iter().filter_map(note) {
            add(key, text);
        }
    }
    let note = |texts: Vec<String>| {
        if trials.len() == 1 {
            return texts[0].clone();
        }
        let are_same = texts.iter().all(|text| *text == texts[0]);
        let similar = if are_same { "" } else { ", or similar" };
        format!(
            "{}{similar} ({} of {} trials)",
            texts[0],
            texts.len(),
            trials.len()
        )
    };
    reasons.into_iter().map(|(_, texts)| note(texts)).collect()
}

fn number(count: u64) -> Cell {
    Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX))
}

fn whole(count: usize) -> Cell {
    number(count as u64)
}
