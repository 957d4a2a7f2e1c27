//! `load-merge --seconds`: adds up the seconds of several generators while their loads run.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use dyno_load::Summary;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::messages::{UsageError, system_message};

/// A second, as `--format ndjson` prints it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Line {
    r#type: String,
    trial: usize,
    step: Option<usize>,
    phase: String,
    start_s: u64,
    end_s: f64,
    since_start_s: f64,
    target_rps: Option<f64>,
    sent: u64,
    requests: u64,
    rps: Option<f64>,
    errors: u64,
    mean: Option<f64>,
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    p99_9: Option<f64>,
    max: Option<f64>,
    send_lag_p99: Option<f64>,
    content_bytes: u64,
    in_flight: u64,
    statuses: BTreeMap<u16, u64>,
    failures: BTreeMap<String, u64>,
    hdr: Option<String>,
    /// Generators that had this second.
    #[serde(default = "one")]
    generators: usize,
}

const fn one() -> usize {
    1
}

impl Line {
    /// Its place in the order of a load: seconds of the warm-up come first.
    fn place(&self) -> (bool, u64) {
        (self.phase != "warm-up", self.start_s)
    }

    /// Adds the same second of another generator; `Err` says what is wrong with a histogram.
    fn add(&mut self, other: &Self) -> Result<(), String> {
        let sum = |own: Option<f64>, other: Option<f64>| {
            own.map_or(other, |own| Some(own + other.unwrap_or_default()))
        };
        let larger = |own: Option<f64>, other: Option<f64>| {
            own.map_or(other, |own| Some(own.max(other.unwrap_or(own))))
        };
        self.end_s = self.end_s.max(other.end_s);
        self.since_start_s = self.since_start_s.max(other.since_start_s);
        self.target_rps = sum(self.target_rps, other.target_rps);
        self.rps = sum(self.rps, other.rps);
        // Its histogram is in the report only.
        self.send_lag_p99 = larger(self.send_lag_p99, other.send_lag_p99);
        self.sent += other.sent;
        self.requests += other.requests;
        self.errors += other.errors;
        self.content_bytes += other.content_bytes;
        self.in_flight += other.in_flight;
        self.generators += other.generators;
        for (status, count) in &other.statuses {
            *self.statuses.entry(*status).or_default() += count;
        }
        for (name, count) in &other.failures {
            *self.failures.entry(name.clone()).or_default() += count;
        }
        let packed = [self.hdr.as_deref(), other.hdr.as_deref()];
        let times = Summary::of_packed(packed.into_iter().flatten())?;
        #[expect(clippy::cast_precision_loss, reason = "times of less than months")]
        let time =
            |read: fn(&Summary) -> u64| times.as_ref().map(|times| read(times) as f64 * 1e-6);
        self.mean = times.as_ref().map(|times| times.mean_ns * 1e-6);
        self.p50 = time(|times| times.p50_ns);
        self.p90 = time(|times| times.p90_ns);
        self.p99 = time(|times| times.p99_ns);
        self.p99_9 = time(|times| times.p99_9_ns);
        self.max = time(|times| times.max_ns);
        self.hdr = times.map(|times| times.hdr);
        Ok(())
    }
}

/// The seconds of one generator.
struct Source<R> {
    name: String,
    lines: io::Lines<R>,
    /// The second that was read, and is not printed yet.
    next: Option<Line>,
    is_over: bool,
}

impl<R: BufRead> Source<R> {
    fn new(name: String, reader: R) -> Self {
        Self {
            name,
            lines: reader.lines(),
            next: None,
            is_over: false,
        }
    }

    /// Reads the next second, unless one is waiting; the line of the result ends them.
    fn fill(&mut self) -> Result<()> {
        if self.next.is_some() || self.is_over {
            return Ok(());
        }
        self.is_over = true;
        let Some(line) = self.lines.next() else {
            return Ok(());
        };
        let line = line.with_context(|| self.name.clone())?;
        let damaged = |reason: &dyn std::fmt::Display| {
            UsageError::new(format_args!(
                "{}: is not the output of load --format ndjson: {reason}",
                self.name
            ))
        };
        let value: Value = serde_json::from_str(&line).map_err(|error| damaged(&error))?;
        if value["type"] == "interval" {
            self.next = Some(serde_json::from_value(value).map_err(|error| damaged(&error))?);
            self.is_over = false;
        }
        Ok(())
    }
}

/// Prints each second as soon as every generator has had it, or has ended.
pub fn run(paths: &[PathBuf]) -> Result<()> {
    let mut sources = Vec::new();
    for path in paths {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| {
            UsageError::new(format_args!(
                "{name}: cannot be read: {}; name files or pipes with the output of load --format ndjson",
                system_message(&error)
            ))
        })?;
        sources.push(Source::new(name, BufReader::new(file)));
    }
    let mut out = io::stdout().lock();
    while let Some(second) = next_second(&mut sources)? {
        let text = serde_json::to_string(&second)?;
        writeln!(out, "{text}")
            .and_then(|()| out.flush())
            .context("standard output")?;
    }
    Ok(())
}

/// The earliest second of all sources, added up; `None` after the last.
fn next_second<R: BufRead>(sources: &mut [Source<R>]) -> Result<Option<Line>> {
    sources.iter_mut().try_for_each(Source::fill)?;
    let places = sources.iter().filter_map(|source| source.next.as_ref());
    let Some(first) = places.map(Line::place).min() else {
        return Ok(None);
    };
    let mut sum: Option<Line> = None;
    for source in sources {
        let Some(line) = source.next.take_if(|line| line.place() == first) else {
            continue;
        };
        match &mut sum {
            None => sum = Some(line),
            Some(sum) => sum.add(&line).map_err(|reason| {
                UsageError::new(format_args!(
                    "{}: a histogram is damaged: {reason}",
                    source.name
                ))
            })?,
        }
    }
    Ok(sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(phase: &str, start_s: u64, requests: u64) -> String {
        format!(
            r#"{{"type":"interval","trial":0,"step":null,"phase":"{phase}","start_s":{start_s},"end_s":{}.0,"since_start_s":1.5,"target_rps":10.0,"sent":{requests},"requests":{requests},"rps":{requests}.0,"errors":1,"mean":null,"p50":null,"p90":null,"p99":null,"p99_9":null,"max":null,"send_lag_p99":0.{requests},"content_bytes":7,"in_flight":2,"statuses":{{"200":{requests}}},"failures":{{"ConnectionReset":1}},"hdr":null}}"#,
            start_s + 1
        )
    }

    fn merged(outputs: &[String]) -> Result<Vec<Line>> {
        let sources = outputs.iter();
        let mut sources: Vec<_> = sources
            .map(|text| Source::new("a".to_owned(), text.as_bytes()))
            .collect();
        let mut lines = Vec::new();
        while let Some(line) = next_second(&mut sources)? {
            lines.push(line);
        }
        Ok(lines)
    }

    #[test]
    fn seconds_add_up_by_their_number_and_phase() {
        let one = [
            line("warm-up", 0, 1),
            line("load", 0, 2),
            line("load", 1, 3),
        ]
        .join("\n");
        // It ended a second earlier, and prints its result.
        let other = [line("load", 0, 5), r#"{"type":"result"}"#.to_owned()].join("\n");
        let lines = merged(&[one, other]).unwrap();
        let found: Vec<_> = lines
            .iter()
            .map(|line| {
                (
                    line.phase.as_str(),
                    line.start_s,
                    line.sent,
                    line.generators,
                )
            })
            .collect();
        assert_eq!(
            found,
            [("warm-up", 0, 1, 1), ("load", 0, 7, 2), ("load", 1, 3, 1)]
        );
        let both = &lines[1];
        assert_eq!(
            (both.errors, both.in_flight, both.content_bytes),
            (2, 4, 14)
        );
        assert_eq!(
            (both.target_rps, both.rps, both.send_lag_p99),
            (Some(20.0), Some(7.0), Some(0.5))
        );
        assert_eq!(both.statuses, BTreeMap::from([(200, 7)]));
        assert_eq!(both.failures["ConnectionReset"], 2);
    }

    #[test]
    fn other_texts_are_refused() {
        for text in ["{", "[]", r#"{"type":"interval"}"#] {
            let refused = merged(&[text.to_owned()]);
            let is_end = text == "[]";
            assert_eq!(refused.is_ok(), is_end, "{text}");
        }
        let damaged = line("load", 0, 2).replace(r#""hdr":null"#, r#""hdr":"!""#);
        let refused = merged(&[damaged.clone(), damaged]).unwrap_err().to_string();
        assert!(
            refused.starts_with("a: a histogram is damaged"),
            "{refused}"
        );
    }
}
