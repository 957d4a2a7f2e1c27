//! The canonical text of a link, which parses as the same link.

use std::fmt;

use crate::link::{DEFAULT_MTU, Link};
use crate::quantity;
use crate::units::{Nanos, Share};

/// `rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%`; differences between directions have `up.` and `down.`; `direct` if all defaults.
///
/// The queue is always written, so that the text keeps its meaning if defaults change.
impl fmt::Display for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = distance(self.up.delay, self.down.delay);
        let rate = |rate| Some(quantity::write_rate(rate));
        parts.extend(each(
            "rate",
            self.up.rate().and_then(rate),
            self.down.rate().and_then(rate),
            false,
        ));
        parts.extend(each(
            "queue",
            self.up.queue().map(quantity::write_time),
            self.down.queue().map(quantity::write_time),
            true,
        ));
        let loss = |loss| (loss > Share::NONE).then(|| quantity::write_loss(loss));
        parts.extend(each(
            "loss",
            loss(self.up.loss),
            loss(self.down.loss),
            false,
        ));
        if self.mtu != DEFAULT_MTU {
            parts.push(format!("mtu={}", self.mtu));
        }
        if parts.is_empty() {
            parts.push("direct".to_owned());
        }
        formatter.write_str(&parts.join(","))
    }
}

/// Write the round trip if it is twice each delay, else both delays.
fn distance(up: Nanos, down: Nanos) -> Vec<String> {
    let round_trip = up + down;
    if up.0 == round_trip.0 / 2 && round_trip <= quantity::LONGEST {
        let text = quantity::write_time(round_trip);
        return if round_trip > Nanos::ZERO {
            vec![format!("rtt={text}")]
        } else {
            Vec::new()
        };
    }
    let delay = |delay| (delay > Nanos::ZERO).then(|| quantity::write_time(delay));
    each("delay", delay(up), delay(down), false)
}

/// Write one key for both directions if they agree; with `lone` also if only one direction has a value, which then applies to both.
fn each(key: &str, up: Option<String>, down: Option<String>, lone: bool) -> Vec<String> {
    match (up, down) {
        (Some(up), Some(down)) if up == down => vec![format!("{key}={up}")],
        (Some(only), None) | (None, Some(only)) if lone => vec![format!("{key}={only}")],
        (up, down) => {
            let up = up.map(|value| format!("up.{key}={value}"));
            let down = down.map(|value| format!("down.{key}={value}"));
            up.into_iter().chain(down).collect()
        }
    }
}
