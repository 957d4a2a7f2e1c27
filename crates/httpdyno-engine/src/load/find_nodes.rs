//! Steps of a search that several generators send together: this process proposes them, the caller starts the generators and names
//! their reports.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use dyno_load::{Arrivals, Plan, Report};
use serde::Serialize;

use super::merge;
use crate::messages::UsageError;

/// The descriptors of `--find-steps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Descriptors {
    steps: u32,
    reports: u32,
}

impl Descriptors {
    /// Parses `OUT:IN`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (steps, reports) = text
            .split_once(':')
            .and_then(|(out, into)| Some((out.parse().ok()?, into.parse().ok()?)))
            .ok_or_else(|| format!("{text:?} is not OUT:IN, two open file descriptors"))?;
        Ok(Self { steps, reports })
    }
}

/// A step, as the options of `load` for each generator.
#[derive(Debug, Serialize)]
struct Step {
    rate: String,
    duration: String,
    warm_up: String,
    connections: usize,
    arrivals: &'static str,
    seed: Option<u64>,
}

/// The generators of a search, as their caller is seen from here.
#[derive(Debug)]
pub struct Generators {
    steps: File,
    reports: BufReader<File>,
    clock_bound: Duration,
}

impl Generators {
    pub fn open(descriptors: Descriptors, clock_bound: Duration) -> Result<Self> {
        let named = || "--find-steps: cannot open its descriptors";
        // Opened by name, because safe Rust cannot take ownership of a bare number.
        let path = |descriptor| format!("/proc/self/fd/{descriptor}");
        let steps = File::options().append(true).open(path(descriptors.steps));
        let reports = File::open(path(descriptors.reports));
        Ok(Self {
            steps: steps.with_context(named)?,
            reports: BufReader::new(reports.with_context(named)?),
            clock_bound,
        })
    }

    /// Has a step sent; returns the merge of the reports. `None`: the caller has ended the search.
    pub fn run(&mut self, plan: &Plan) -> Result<Option<Report>> {
        let Some((rate, arrivals)) = &plan.pace else {
            bail!("a step without a rate");
        };
        let seconds = |time: Duration| format!("{:.6}s", time.as_secs_f64());
        let duration_ns = plan.termination.duration_ns.unwrap_or_default();
        let step = Step {
            rate: format!("{:.3}", rate.ends().0.get()),
            duration: seconds(Duration::from_nanos(duration_ns)),
            warm_up: seconds(plan.warm_up),
            connections: plan.connections,
            arrivals: match arrivals {
                Arrivals::Poisson { .. } => "poisson",
                _ => "constant",
            },
            seed: match arrivals {
                Arrivals::Poisson { seed } => Some(*seed),
                _ => None,
            },
        };
        writeln!(self.steps, "{}", serde_json::to_string(&step)?).context("--find-steps")?;
        let mut line = String::new();
        self.reports.read_line(&mut line).context("--find-steps")?;
        if line.is_empty() {
            return Ok(None);
        }
        let paths: Vec<PathBuf> = serde_json::from_str(&line).context("--find-steps")?;
        let (_, report) = merge::merged(&paths, self.clock_bound).map_err(UsageError::new)?;
        Ok(Some(report))
    }
}
