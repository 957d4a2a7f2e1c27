//! The progress of a long load whose standard error is no terminal: a line every 10 s, and after a minute every minute.

use dyno_load::{Second, format_time};

use crate::messages::print_message;
use crate::table::thousands;

/// Writes a line now and then.
#[derive(Debug, Default)]
pub struct Lines {
    repeat: usize,
    /// Length of the load, where it is known: its end needs no line.
    duration_s: Option<f64>,
    trial: usize,
    answers: u64,
    errors: u64,
}

impl Lines {
    pub fn new(repeat: usize, duration_s: Option<f64>) -> Self {
        Self {
            repeat,
            duration_s,
            ..Self::default()
        }
    }

    /// Begins a trial, numbered from 0.
    pub fn begin(&mut self, trial: usize) {
        *self = Self {
            trial,
            ..Self::new(self.repeat, self.duration_s)
        };
    }

    /// Counts a second; prints a line if it is due.
    pub fn second(&mut self, second: &Second<'_>) {
        if second.is_warm_up {
            return;
        }
        self.answers += second.row.requests;
        self.errors += second.row.errors + second.failed_answers();
        let elapsed_s = second.row.at_s + 1;
        #[expect(clippy::cast_precision_loss, reason = "times of less than months")]
        let is_over = second.end_s < elapsed_s as f64
            || self
                .duration_s
                .is_some_and(|duration_s| second.end_s >= duration_s);
        if is_due(elapsed_s) && !is_over {
            print_message(self.text(second));
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
    fn text(&self, second: &Second<'_>) -> String {
        let row = &second.row;
        let trial = match self.repeat {
            0 | 1 => String::new(),
            repeat => format!("trial {} of {repeat}: ", self.trial + 1),
        };
        let mut parts = vec![
            format!("{trial}{} s", row.at_s + 1),
            format!("{}/s", thousands(row.requests)),
            format!("{} answers", thousands(self.answers)),
            format!("{} errors", thousands(self.errors)),
        ];
        for (name, time_ns) in [("p50", row.response_p50_ns), ("p99", row.response_p99_ns)] {
            if let Some(time_ns) = time_ns {
                parts.push(format!("{name} {}", format_time(time_ns as f64)));
            }
        }
        parts.push(format!("{} in flight", thousands(row.open)));
        parts.join(", ")
    }
}

const fn is_due(elapsed_s: u64) -> bool {
    elapsed_s.is_multiple_of(if elapsed_s <= 60 { 10 } else { 60 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_become_rare_after_a_minute() {
        let due: Vec<u64> = (1..=200).filter(|second| is_due(*second)).collect();
        assert_eq!(due, [10, 20, 30, 40, 50, 60, 120, 180]);
    }
}
