//! Goodput: sends datagrams slightly faster than the rate, and measures how many arrive in which time.

#![expect(
    clippy::cast_precision_loss,
    reason = "shares of numbers far below 2^53"
)]

use std::time::Instant;

use dyno_link::{Nanos, Path};

use super::datagrams::Datagrams;
use super::plan::Train;
use super::start::{Begun, PATIENCE, length};
use crate::link::account::Goodput;

/// Longest read that the kernel delivers.
const LARGEST: usize = 65_536;

/// Time of an arrival, and bytes received by then.
pub(super) type Arrival = (Nanos, u64);

/// Send a train.
pub(super) fn send(from: &Datagrams, train: Train, begun: &Begun) {
    // If the kernel cannot segment UDP, it gets one packet at a time.
    let (at_once, gap) = if train.at_once > 1 && from.split_into(train.payload_bytes) {
        (train.at_once, train.gap)
    } else {
        (1, Nanos(train.gap.0 / train.at_once))
    };
    let batch = vec![0; usize::try_from(at_once).unwrap_or(1) * train.payload_bytes];
    let first = begun.at + length(train.begins);
    begun.sleep_until(first);
    for number in 0..train.packets.div_ceil(at_once) {
        if begun.is_stopped() {
            return;
        }
        let due = first + length(Nanos(gap.0 * number));
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let packets = at_once.min(train.packets - number * at_once);
        let bytes = usize::try_from(packets).unwrap_or(1) * train.payload_bytes;
        from.send(&batch[..bytes]);
    }
}

/// Receive a train.
pub(super) fn receive(at: &Datagrams, train: Train, begun: &Begun) -> Vec<Arrival> {
    let whole = train.packets * train.payload_bytes as u64;
    let until = begun.at + length(train.ends) + PATIENCE;
    let mut buffer = vec![0; LARGEST];
    let mut arrivals: Vec<Arrival> = Vec::with_capacity(4096);
    let mut bytes = 0;
    while bytes < whole {
        match at.receive(&mut buffer) {
            Some((length, arrived)) => {
                bytes += length as u64;
                arrivals.push((arrived, bytes));
            }
            None if begun.is_over(until) => break,
            None => {}
        }
    }
    arrivals
}

impl Goodput {
    /// Compute the goodput of a path from a train's arrivals.
    pub(super) fn of(train: Option<Train>, path: &Path, arrivals: &[Arrival]) -> Self {
        let Some(train) = train else {
            return Self::default();
        };
        let arrived = arrivals.last().map_or(0, |&(_, bytes)| bytes);
        let sent = train.packets * train.payload_bytes as u64;
        Self {
            goodput_bits_per_s: per_second(arrivals),
            expected_bits_per_s: train.goodput(path),
            lost_share: Some(1.0 - arrived as f64 / sent as f64),
        }
    }
}

/// Return bits per second from the first arrival to the last, without the first one's bytes.
fn per_second(arrivals: &[Arrival]) -> Option<u64> {
    let (&(start, before), &(end, all)) = (arrivals.first()?, arrivals.last()?);
    let bits = u128::from(all - before) * 8;
    let nanoseconds = u128::from(end.saturating_sub(start).0);
    u64::try_from((bits * 1_000_000_000).checked_div(nanoseconds)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_excludes_the_first_arrival() {
        let arrivals: Vec<Arrival> = (0..=10)
            .map(|step| (Nanos::from_millis(50 + step), (step + 1) * 1000))
            .collect();
        assert_eq!(per_second(&arrivals), Some(8_000_000));
        assert_eq!(per_second(&arrivals[..1]), None);
        assert_eq!(per_second(&[]), None);
    }
}
