//! The progress line of a load in a terminal; without a terminal, nothing is printed.

use std::io::{self, IsTerminal, Write};

use dyno_load::{Live, format_time};
use rustix::termios::tcgetwinsize;

use crate::table::thousands;

const CLEAR: &str = "\r\x1b[2K";
const USUAL_COLUMNS: usize = 80;

/// A line that is overwritten.
#[derive(Debug)]
pub struct Line {
    repeat: usize,
    place: String,
    is_written: bool,
}

impl Line {
    /// Creates a line on standard error; `None` if that is not a terminal, or a dumb one.
    pub fn on_terminal(repeat: usize) -> Option<Self> {
        let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        (io::stderr().is_terminal() && !is_dumb).then(|| Self {
            repeat,
            place: String::new(),
            is_written: false,
        })
    }

    /// Sets the number of the trial, from 0.
    pub fn begin(&mut self, number: usize) {
        if self.repeat > 1 {
            self.place = format!("{} of {}: ", number + 1, self.repeat);
        }
    }

    /// Prints the progress.
    pub fn show(&mut self, live: &Live) {
        let columns = tcgetwinsize(io::stderr()).map_or(0, |size| size.ws_col.into());
        let columns = if columns == 0 { USUAL_COLUMNS } else { columns };
        // A line as wide as the terminal would wrap.
        let text: String = format!("{}{}", self.place, progress_text(live))
            .chars()
            .take(columns.saturating_sub(1))
            .collect();
        self.is_written = true;
        write(&format!("{CLEAR}{text}"));
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.is_written {
            write(CLEAR);
        }
    }
}

/// Writes to standard error; a closed terminal does not end a measurement.
fn write(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.flush());
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "shown with few digits"
)]
fn progress_text(live: &Live) -> String {
    let phase = if live.is_warm_up { "warm-up: " } else { "" };
    let mut parts = vec![
        format!("{phase}{:.1} s", live.elapsed_s),
        format!("{}/s", thousands(live.rps.round_ties_even() as u64)),
        format!("{} answers", thousands(live.requests)),
    ];
    if live.errors > 0 {
        let plural = if live.errors == 1 { "" } else { "s" };
        parts.push(format!("{} error{plural}", thousands(live.errors)));
    }
    for (name, time_ns) in [("p50", live.response_p50_ns), ("p99", live.response_p99_ns)] {
        if let Some(time_ns) = time_ns {
            parts.push(format!("{name} {}", format_time(time_ns as f64)));
        }
    }
    parts.push(format!("{} open", thousands(live.open)));
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_the_known_figures() {
        let live = Live {
            is_warm_up: false,
            elapsed_s: 3.25,
            sent: 12_400,
            requests: 12_345,
            errors: 0,
            rps: 4100.4,
            open: 64,
            response_p50_ns: Some(1_020_000),
            response_p99_ns: None,
        };
        assert_eq!(
            progress_text(&live),
            "3.2 s, 4,100/s, 12,345 answers, p50 1.02 ms, 64 open"
        );
        let warming = Live {
            is_warm_up: true,
            ..live
        };
        assert!(progress_text(&warming).starts_with("warm-up: 3.2 s, "));
        let failing = Live { errors: 1, ..live };
        assert!(progress_text(&failing).contains("12,345 answers, 1 error, p50"));
    }
}
