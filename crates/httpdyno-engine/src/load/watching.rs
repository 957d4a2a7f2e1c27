//! What observes a running load: the screen of a terminal, or lines of text or JSON.

use std::io::{self, IsTerminal};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result};
use dyno_load::{Event, Plan, Rate, Stages};

use super::arguments::Arguments;
use super::display::{self, Display};
use super::find::Progress;
use super::intervals::{Intervals, Part, Step};
use super::keep;
use super::line::Lines;
use super::otlp::Pusher;
use super::prometheus::{Exporter, ScrapeAddress};
use super::screen::{Frame, Screen};
use crate::messages::{UsageError, print_message, system_message};
use crate::table::{Format, without_controls};

/// The observers of a load.
pub struct Observers {
    display: Option<Display<Screen>>,
    lines: Option<Lines>,
    intervals: Option<Intervals>,
    exporter: Option<Exporter>,
    pusher: Option<Pusher>,
    trial: usize,
}

impl Observers {
    /// Starts those that the options and the terminal call for.
    pub fn start(
        arguments: &Arguments,
        format: Format,
        plan: &Plan,
        stop: &Arc<AtomicBool>,
    ) -> Result<Self> {
        let intervals = (format == Format::Ndjson).then(|| Intervals::start(stop.clone()));
        let exporter = arguments.prometheus.as_ref().map(|address| {
            let labels = plan.requests.labels().names();
            Exporter::start(address, schedule(plan), labels)
                .map_err(|error| refused(address, &error))
        });
        let methods_differ = arguments.requests_file.is_some() || arguments.replay.replay.is_some();
        let repeat = usize::from(arguments.repeat);
        let pusher = arguments.otlp.as_ref();
        let pusher = pusher.map(|receiver| Pusher::start(receiver, plan, methods_differ, repeat));
        let mut observers = Self {
            display: None,
            lines: None,
            intervals: intervals.transpose().context("starting a thread")?,
            exporter: exporter.transpose()?,
            pusher: pusher.transpose().map_err(UsageError::new)?,
            trial: 0,
        };
        if arguments.quiet {
            return Ok(observers);
        }
        let target = without_controls(&keep::target(arguments));
        let frame = Frame::new(target, repeat, plan, stages(arguments));
        let is_covered = observers.intervals.is_some() && io::stdout().is_terminal();
        if display::is_possible() && !is_covered {
            // Without it the load is measured all the same.
            observers.display = Display::start(Screen::new(frame), Some(stop.clone())).ok();
        } else if !is_covered {
            observers.lines = Some(Lines::new(repeat, frame.duration_s));
        }
        Ok(observers)
    }

    /// Whether there are any.
    pub const fn are_any(&self) -> bool {
        self.display.is_some()
            || self.lines.is_some()
            || self.intervals.is_some()
            || self.exporter.is_some()
            || self.pusher.is_some()
    }

    /// Whether one of them shows each stretch.
    pub const fn are_frequent(&self) -> bool {
        self.display.is_some()
    }

    /// Begins a trial, numbered from 0.
    pub fn begin(&mut self, trial: usize, plan: &Plan) {
        if let Some(display) = &self.display {
            display.update(|screen| screen.begin(trial));
        }
        if let Some(lines) = &mut self.lines {
            lines.begin(trial);
        }
        self.trial = trial;
        self.begin_part(Step::None, plan);
    }

    /// Begins a trial or a step, for programs.
    fn begin_part(&mut self, step: Step, plan: &Plan) {
        let (trial, rate) = (self.trial, schedule(plan));
        if let Some(exporter) = &self.exporter {
            exporter.begin(rate.clone());
        }
        if let Some(pusher) = &self.pusher {
            pusher.begin(trial, step, rate.clone());
        }
        if let Some(intervals) = &mut self.intervals {
            intervals.begin(Part { trial, step, rate });
        }
    }

    /// Takes the progress of a search.
    pub fn search(&mut self, progress: Progress<'_>) {
        if let Progress::Begin(_, number, plan) = progress {
            self.begin_part(number.map_or(Step::Recovery, Step::Number), plan);
        }
        match (progress, &self.display) {
            (Progress::Event(event), Some(_)) => self.observe(event),
            // Without a screen, the lines about its steps are enough.
            (Progress::Event(event), None) => {
                let lines = self.lines.take();
                self.observe(event);
                self.lines = lines;
            }
            (Progress::Begin(name, _, plan), Some(display)) => {
                display.update(|screen| screen.begin_step(name, plan));
            }
            (Progress::Line(text), Some(display)) => {
                display.update(|screen| screen.above.push(text.to_owned()));
            }
            (Progress::Line(text), None) if self.lines.is_some() => print_message(text),
            (Progress::Begin(..) | Progress::Line(_), None) => {}
        }
    }

    /// Takes an event of the load.
    pub fn observe(&mut self, event: Event<'_>) {
        if let Some(display) = &self.display {
            display.update(|screen| match event {
                Event::Stretch(live) => screen.stretch(live),
                Event::Second(second) => {
                    screen.second(&second.row, second.end_s, second.is_warm_up);
                }
            });
        }
        let Event::Second(second) = event else {
            return;
        };
        if let Some(lines) = &mut self.lines {
            lines.second(&second);
        }
        if let Some(intervals) = &self.intervals {
            intervals.second(&second);
        }
        if let Some(exporter) = &self.exporter {
            exporter.second(&second);
        }
        let line = self
            .pusher
            .as_ref()
            .and_then(|pusher| pusher.second(&second));
        match (line, &self.display) {
            (Some(line), Some(display)) => display.update(|screen| screen.above.push(line)),
            (Some(line), None) => print_message(line),
            (None, _) => {}
        }
    }

    /// Ends them, after the last trial.
    pub fn finish(self) -> Result<()> {
        drop(self.display);
        if let Some(line) = self.pusher.and_then(Pusher::finish) {
            print_message(line);
        }
        let intervals = self.intervals.map_or(Ok(()), Intervals::finish);
        intervals.context("standard output")
    }
}

fn refused(address: &ScrapeAddress, error: &io::Error) -> UsageError {
    let reason = system_message(error);
    UsageError::new(format_args!(
        "--prometheus {address}: cannot listen: {reason}; choose another address or port"
    ))
}

fn schedule(plan: &Plan) -> Option<Rate> {
    let rate = plan.pace.as_ref().map(|(rate, _)| rate);
    rate.map(|rate| rate.shared_by(plan.segment.count()))
}

/// Stages as people write them, with their ends in seconds.
fn stages(arguments: &Arguments) -> Vec<(String, f64)> {
    let all = arguments.stages.iter().flat_map(Stages::all);
    let mut end_s = 0.0;
    let stage = |stage: &dyno_load::RateStage| {
        end_s += std::time::Duration::from_nanos(stage.over_ns).as_secs_f64();
        (stage.to_string(), end_s)
    };
    all.map(stage).collect()
}
