//! `--dry-run`: what a load would send, without sending anything.

use anyhow::{Context, Result};
use dyno_load::{ArrivalProcess, Plan};

use super::arguments::Arguments;
use super::keep;
use crate::table::{self, Cell, Column, Format, Kind, Note, Table, general, rounded, thousands};

/// Requests that people see, and that programs get.
const SHOWN: usize = 10;
const SHOWN_TO_PROGRAMS: usize = 1000;

/// Prints the first requests, and the counts below them.
pub fn show(plan: &Plan, arguments: &Arguments, format: Format) -> Result<()> {
    let most = if format.is_for_programs() {
        SHOWN_TO_PROGRAMS
    } else {
        SHOWN
    };
    let end_ns = plan.termination.end_ns();
    let times = plan.pace.as_ref().map(|(rate, arrivals)| {
        let process = ArrivalProcess::new(rate.clone(), arrivals.clone());
        process.take_while(move |time_ns| *time_ns < end_ns && *time_ns < u64::MAX)
    });
    let planned = plan.termination.requests.unwrap_or(u64::MAX);
    let rows: Vec<Vec<Cell>> = match times {
        Some(times) => (0..planned)
            .zip(times)
            .filter(|(index, _)| plan.segment.has(*index))
            .take(most)
            .map(|(index, time_ns)| row(plan, index, Some(time_ns)))
            .collect(),
        // A closed loop sends the list in turn.
        None => (0..planned)
            .filter(|index| plan.segment.has(*index))
            .take(most.min(plan.requests.len()))
            .map(|index| row(plan, index, None))
            .collect(),
    };
    let notes = notes(plan).into_iter();
    let mut table = Table {
        title: format!(
            "{}: nothing is sent; the first requests",
            keep::target(arguments)
        ),
        columns: vec![
            Column::new("time_s", Kind::Number),
            Column::new("method", Kind::Text),
            Column::new("url", Kind::Text),
        ],
        rows,
        notes: notes.map(|text| Note { text, row: None }).collect(),
    };
    if format.is_for_programs() {
        table.title.clear();
        table.notes.clear();
    }
    table::print(&[table], format).context("standard output")
}

#[expect(clippy::cast_precision_loss, reason = "shown as seconds")]
fn row(plan: &Plan, index: u64, time_ns: Option<u64>) -> Vec<Cell> {
    let (method, url) = plan.requests.preview(index);
    let seconds = time_ns.map(|time_ns| rounded(time_ns as f64 / 1e9, 6));
    vec![
        seconds.into(),
        Cell::Text(method),
        Cell::Text(keep::without_credentials(url)),
    ]
}

fn notes(plan: &Plan) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(recording) = &plan.replay {
        notes.push(format!(
            "{}: {}",
            recording.format.name(),
            recording.counts()
        ));
        let repeat = if recording.is_loop {
            ", again and again"
        } else {
            ""
        };
        notes.push(format!(
            "{} requests in {} s at {} % of the recorded speed{repeat}: {} a second on average, {} in the busiest second",
            thousands(recording.requests),
            general(recording.duration_s, 4),
            general(recording.speed_percent, 5),
            general(recording.mean_per_s, 4),
            thousands(recording.peak_per_s as u64),
        ));
        for host in recording.hosts.iter().take(SHOWN) {
            let from = host.host.as_deref().unwrap_or("no recorded host");
            notes.push(format!(
                "{from} -> {}: {} requests",
                host.to,
                thousands(host.requests)
            ));
        }
        if let more @ 1.. = recording.hosts.len().saturating_sub(SHOWN) {
            notes.push(format!("{} more hosts", thousands(more as u64)));
        }
    }
    let limits = [
        plan.termination
            .requests
            .map(|requests| format!("{} requests", thousands(requests))),
        #[expect(clippy::cast_precision_loss, reason = "shown as seconds")]
        plan.termination
            .duration_ns
            .map(|ns| format!("{} s", general(ns as f64 / 1e9, 6))),
    ];
    let limits: Vec<String> = limits.into_iter().flatten().collect();
    notes.push(format!(
        "ends after {}; {} different requests, {} connections",
        limits.join(" or "),
        thousands(plan.requests.len() as u64),
        thousands(plan.connections as u64)
    ));
    notes
}
