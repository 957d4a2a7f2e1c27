//! `load-merge`: adds up the reports of several generators, prints their tables, and applies limits.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use dyno_load::{ClockRecord, NodeRecord, Report, SegmentRecord, Verdict, format_time};
use serde::Deserialize;
use serde_json::Value;

use super::command::{LIMIT_BROKEN, format, print_and_return, print_broken, unmeasured_message};
use super::limit::Limit;
use super::merge_seconds;
use super::tables::{json_cell, tables};
use super::trial::Trial;
use crate::messages::{
    NOTHING_MEASURED, USAGE, UsageError, one_line, print_message, system_message,
};
use crate::quantity;
use crate::report_file::ReportFile;
use crate::table::{self, Cell, Column, Format, Kind, Note, Table};
use crate::usage::HELP;

/// The report of the first trial in the folder of a run.
const REPORT: &str = "load-000000.json";

/// Printed before the options.
const EXAMPLE: &str = "Example: httpdyno load-merge node-1/ node-2/ node-3/ --fail-if 'p99 > 50ms'";
/// Printed after the options.
const MORE: &str = "\
The histograms of the reports are added up, so that percentiles are those of all requests, without loss. A missing segment, another load, \
or a clock that is not known well enough is refused. If one generator limits its part of the load, the load is GENERATOR_LIMITED, and the \
reason names it.

Exit status: 0 done, 1 a --fail-if holds, 2 the reports do not belong together, 3 a generator was stopped or nothing was measured.";

#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    /// Runs of load --segment, or their reports (load-000000.json); one for each segment
    #[arg(value_name = "RUN|FILE", required = true)]
    reports: Vec<PathBuf>,
    /// Add up seconds, not reports: RUN|FILE are files or pipes with the output of load --format ndjson; prints each second once all have it
    #[arg(long, conflicts_with_all = ["fail_if", "format", "report"])]
    seconds: bool,
    /// Exit with 1 when this holds of all requests: as for httpdyno load; may be repeated
    #[arg(long, value_name = "LIMIT")]
    fail_if: Vec<String>,
    /// Largest accepted error of a generator's clock
    #[arg(long, value_name = "TIME", default_value = "1ms", value_parser = quantity::standard_duration)]
    clock_bound: Duration,
    /// table, plain, json, csv, or markdown [environment: FORMAT] [default: table]
    #[arg(long, value_name = "FORMAT", hide_possible_values = true)]
    format: Option<Format>,
    /// Write the merged report here, in the form of a run's report; - is standard output, in place of the tables
    #[arg(long, value_name = "FILE|-")]
    report: Option<PathBuf>,
}

/// Merges the reports, prints them, and returns the exit status.
pub fn run(arguments: &Arguments) -> Result<u8> {
    if arguments.seconds {
        return merge_seconds::run(&arguments.reports).map(|()| 0);
    }
    let format = format(arguments.format).map_err(UsageError::new)?;
    let merged = match merged(&arguments.reports, arguments.clock_bound) {
        Ok((target, report)) => Trial::new(0, target, report),
        Err(reason) => return Ok(print_and_return(&reason, USAGE)),
    };
    let is_open_loop = merged.report.plan.rate_per_s.is_some();
    let limits = arguments.fail_if.iter();
    let limits: Result<Vec<Limit>, String> = limits
        .map(|text| Limit::parse(text, is_open_loop))
        .collect();
    let limits = limits.map_err(UsageError::new)?;
    let labels: Vec<String> = merged
        .labels()
        .iter()
        .map(|one| one.label.clone())
        .collect();
    for limit in &limits {
        limit.check_label(&labels).map_err(UsageError::new)?;
    }
    let is_printed = write(arguments.report.as_deref(), &merged.report)?;
    let trials = [merged];
    if !is_printed && trials[0].report.requests > 0 {
        match table::print(&with_nodes(&trials, format), format) {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            printed => printed.context("standard output")?,
        }
    }
    Ok(judge(&trials, &limits))
}

/// Reads and adds up the reports; returns the target with the number of generators, too.
pub(super) fn merged(paths: &[PathBuf], clock_bound: Duration) -> Result<(String, Report), String> {
    let paths = paths.iter();
    let reports: Result<Vec<_>, String> = paths.map(|path| read(path)).collect();
    let reports = reports?;
    let generators = reports.len();
    let target = reports.first().map(|(_, record)| record.target.clone());
    let most_ns = i64::try_from(clock_bound.as_nanos()).unwrap_or(i64::MAX);
    let report = dyno_load::merge(reports, most_ns)?;
    let target = format!(
        "{} from {generators} generators",
        target.unwrap_or_default()
    );
    Ok((target, report))
}

/// Reads the part of a report that a merge needs, with the name of its file.
fn read(path: &Path) -> Result<(String, SegmentRecord), String> {
    let file = if path.is_dir() {
        path.join(REPORT)
    } else {
        path.to_owned()
    };
    let name = path.display().to_string();
    let content = fs::read(&file).map_err(|error| {
        let reason = system_message(&error);
        if path.is_dir() {
            format!("{name}: has no report of a load that ended ({REPORT}: {reason}); repeat the load of all generators")
        } else {
            format!("{name}: cannot be read: {reason}; name runs of load --segment, or their reports")
        }
    })?;
    let damaged = |error: serde_json::Error| {
        format!(
            "{name}: is no report of load, or damaged: {}",
            one_line(&error)
        )
    };
    let mut report: Value = serde_json::from_slice(&content).map_err(damaged)?;
    let segment = report["segment"].take();
    if segment.is_null() {
        return Err(format!(
            "{name}: is not the report of a segment; send each part of a load with load --segment i/N"
        ));
    }
    let (own, theirs) = (env!("CARGO_PKG_VERSION"), segment["version"].as_str());
    if theirs != Some(own) {
        return Err(format!(
            "{name}: was written by httpdyno {}, this is {own}; use the same version on all machines",
            theirs.unwrap_or("of another version")
        ));
    }
    let record = SegmentRecord::deserialize(segment).map_err(damaged)?;
    Ok((name, record))
}

/// The tables of a load, with one of the generators; for programs, they are a column.
fn with_nodes(trials: &[Trial], format: Format) -> Vec<Table> {
    let mut tables = tables(trials, 1, format);
    let nodes = trials[0].report.nodes.as_deref().unwrap_or_default();
    match tables.first_mut().filter(|_| format.is_for_programs()) {
        Some(table) => {
            table.columns.push(Column::hidden("nodes", Kind::Text));
            table.rows[0].push(json_cell(Some(&nodes)));
        }
        None => tables.push(generators(nodes)),
    }
    tables
}

/// A row for each generator.
fn generators(nodes: &[NodeRecord]) -> Table {
    let row = |node: &NodeRecord| {
        let integer = |count: u64| Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX));
        vec![
            Cell::Text(node.segment.to_string()),
            Cell::Text(node.host.clone()),
            integer(node.sent),
            integer(node.requests),
            Cell::Number(node.rps),
            Cell::Text(node.verdict.map_or("", Verdict::name).to_owned()),
        ]
    };
    Table {
        title: String::new(),
        columns: vec![
            Column::new("segment", Kind::Text),
            Column::new("generator", Kind::Text),
            Column::new("sent", Kind::Integer),
            Column::new("requests", Kind::Integer),
            Column::new("requests/s", Kind::Number),
            Column::new("verdict", Kind::Text),
        ],
        rows: nodes.iter().map(row).collect(),
        notes: vec![Note {
            text: clocks(nodes),
            row: None,
        }],
    }
}

/// How well the clocks are known, in a sentence.
fn clocks(nodes: &[NodeRecord]) -> String {
    let clocks: Vec<&ClockRecord> = nodes
        .iter()
        .filter_map(|node| node.clock.as_ref())
        .collect();
    let Some(reference) = clocks.first().map(|clock| &clock.reference) else {
        return "clocks: all generators ran on one machine".to_owned();
    };
    #[expect(clippy::cast_precision_loss, reason = "shown to people")]
    let time = |time_ns: Option<i64>| format_time(time_ns.unwrap_or_default() as f64);
    let ahead = || clocks.iter().map(|clock| -clock.ahead_ns);
    format!(
        "clocks: within {} of that of {reference}; they were {} to {} ahead of it, which the start corrects",
        time(clocks.iter().filter_map(|clock| clock.bound_ns).max()),
        time(ahead().min()),
        time(ahead().max())
    )
}

/// Writes the report; returns whether it took the place of the tables.
fn write(path: Option<&Path>, report: &Report) -> Result<bool> {
    let Some(path) = path else { return Ok(false) };
    let text = serde_json::to_string(report)?;
    if path == Path::new("-") {
        writeln!(io::stdout(), "{text}").context("standard output")?;
        return Ok(true);
    }
    ReportFile::open(path)?.write(text)?;
    Ok(false)
}

/// Prints broken limits, and generators that were stopped; returns the exit status.
fn judge(trials: &[Trial], limits: &[Limit]) -> u8 {
    let is_broken = print_broken(trials, limits);
    let report = &trials[0].report;
    let stopped = |node: &&NodeRecord| node.interrupted || node.requests == 0;
    let stopped: Vec<&NodeRecord> = report.nodes.iter().flatten().filter(stopped).collect();
    if report.requests == 0 {
        print_message(format_args!("no answer came: {}", trials[0].fates()));
        return NOTHING_MEASURED;
    }
    for node in &stopped {
        let why = if node.requests == 0 {
            format!("had no answer ({})", trials[0].fates())
        } else {
            format!("was stopped after {:.1} s", node.elapsed_s)
        };
        print_message(format_args!(
            "segment {} on {} {why}, so that the load was a lower one; repeat it",
            node.segment, node.host
        ));
    }
    if !stopped.is_empty() {
        return NOTHING_MEASURED;
    }
    if is_broken {
        return LIMIT_BROKEN;
    }
    let unknown = limits.iter().find(|limit| !limit.is_measured(trials));
    unknown.map_or(0, |limit| {
        print_and_return(&unmeasured_message(limit, trials), NOTHING_MEASURED)
    })
}
