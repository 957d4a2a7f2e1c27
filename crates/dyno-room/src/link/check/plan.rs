//! The traffic that measures a link: amount, rate and times; pure.
#![expect(
    clippy::cast_precision_loss,
    reason = "tolerances and figures for people, of numbers far below 2^53"
)]

use dyno_link::{Link, Nanos, Path, Rate};

/// Headers of IPv4 and UDP.
pub(super) const HEADERS_BYTES: u64 = 28;
/// Three timestamps.
pub(super) const PROBE_BYTES: usize = 24;

const PROBES: u64 = 40;
/// Lossy links get more probes, up to this limit.
const MOST_PROBES: u64 = 400;
const FEWEST_PROBES: u64 = 8;
const PROBE_GAP: Nanos = Nanos::from_micros(500);
/// Slow links get fewer probes, so that probing takes about this long.
const PROBING: Nanos = Nanos::from_millis(100);
/// Long enough for a precision of one per cent and hundreds of timer ticks.
const TRAIN: Nanos = Nanos::from_millis(100);
/// Shorter trains use smaller packets.
const FEWEST_PACKETS: u64 = 12;
const SMALLEST_PAYLOAD: u64 = 36;
/// Excess of a train over the rate, in per cent: the rate must be the bottleneck.
const HASTE_PERCENT: u64 = 10;
/// The kernel splits one send into at most this many packets; some kernels into fewer.
const MOST_AT_ONCE: u64 = 60;
const MOST_BYTES_AT_ONCE: u64 = 60_000;
/// Longest duration of one send at the train's rate.
const AT_ONCE: Nanos = Nanos::from_millis(1);
/// Above this sum of rates, the two directions are measured one after the other.
const BOTH_AT_ONCE_BITS_PER_S: u64 = 2_000_000_000;
const SLACK: Nanos = Nanos::from_millis(1);

/// Datagrams of one length, sent slightly faster than the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Train {
    /// Payload of a datagram.
    pub(super) payload_bytes: usize,
    /// Number of datagrams.
    pub(super) packets: u64,
    /// Datagrams in one send.
    pub(super) at_once: u64,
    /// Time from one send to the next.
    pub(super) gap: Nanos,
    /// When the first is sent, from the start of the check.
    pub(super) begins: Nanos,
    /// When the last has arrived.
    pub(super) ends: Nanos,
}

/// The plan for one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Plan {
    pub(super) probes: u64,
    pub(super) probe_gap: Nanos,
    /// Expected round-trip time of a probe.
    pub(super) round_trip: Nanos,
    pub(super) up: Option<Train>,
    pub(super) down: Option<Train>,
}

impl Plan {
    /// Plan the check of a link whose devices pass super-packets up to this length.
    pub(super) fn of(link: &Link, longest_bytes: Option<u32>) -> Self {
        let wire = HEADERS_BYTES + PROBE_BYTES as u64;
        let sending = |path: &Path| path.rate().map_or(Nanos::ZERO, |rate| time_of(wire, rate));
        let (up, down) = (sending(&link.up), sending(&link.down));
        let probe_gap = PROBE_GAP.max(Nanos(up.max(down).0 * 5 / 4));
        let arriving = (1.0 - link.up.loss.as_f64()) * (1.0 - link.down.loss.as_f64());
        let probes = whole(PROBES as f64 / arriving.max(f64::MIN_POSITIVE)).min(MOST_PROBES);
        let probes = probes.min((PROBING.0 / probe_gap.0).max(FEWEST_PROBES));
        // No train may start while a probe is in flight.
        let first_train = Nanos(probes * probe_gap.0) + SLACK;
        let up_train = Train::of(&link.up, link.mtu, longest_bytes, first_train);
        let rate = |path: &Path| path.rate().map_or(0, Rate::bits_per_second);
        let second_train = first_train + up + link.up.delay + SLACK;
        let in_turn = match up_train {
            Some(train)
                if rate(&link.up).saturating_add(rate(&link.down)) > BOTH_AT_ONCE_BITS_PER_S =>
            {
                train.begins + TRAIN
            }
            _ => Nanos::ZERO,
        };
        Self {
            probes,
            probe_gap,
            round_trip: link.round_trip() + up + down,
            up: up_train,
            down: Train::of(
                &link.down,
                link.mtu,
                longest_bytes,
                second_train.max(in_turn),
            ),
        }
    }
}

impl Train {
    fn of(path: &Path, mtu: u16, longest_bytes: Option<u32>, begins: Nanos) -> Option<Self> {
        let rate = path.rate()?;
        let total = rate.bytes_in(TRAIN);
        let largest = u64::from(mtu) - HEADERS_BYTES;
        let payload = (total / FEWEST_PACKETS)
            .saturating_sub(HEADERS_BYTES)
            .clamp(SMALLEST_PAYLOAD, largest);
        let wire = payload + HEADERS_BYTES;
        let packets = (total / wire).max(FEWEST_PACKETS);
        let most_bytes = longest_bytes
            .map_or(MOST_BYTES_AT_ONCE, u64::from)
            .min(MOST_BYTES_AT_ONCE)
            .min(rate.bytes_in(AT_ONCE));
        let at_once = (most_bytes / wire).clamp(1, MOST_AT_ONCE);
        let gap = Nanos(time_of(at_once * wire, rate).0 * 100 / (100 + HASTE_PERCENT));
        Some(Self {
            payload_bytes: usize::try_from(payload).unwrap_or(usize::MAX),
            packets,
            at_once,
            gap,
            begins,
            ends: begins + time_of(packets * wire, rate) + path.delay,
        })
    }

    /// Return the expected goodput of the train at this rate and loss, in bits of payload per second.
    pub(super) fn goodput(&self, path: &Path) -> Option<u64> {
        let payload = self.payload_bytes as f64;
        let share = payload / (payload + HEADERS_BYTES as f64) * (1.0 - path.loss.as_f64());
        Some(whole(path.rate()?.bits_per_second() as f64 * share))
    }
}

/// Return how long so many bytes take at a rate.
fn time_of(bytes: u64, rate: Rate) -> Nanos {
    let nanoseconds = u128::from(bytes) * 8 * 1_000_000_000 / u128::from(rate.bits_per_second());
    Nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
}

/// Round a non-negative figure to a whole number.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "counts and rates, far below 2^64; the cast saturates"
)]
fn whole(figure: f64) -> u64 {
    figure.round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(link: &str) -> Plan {
        let link: Link = link.parse().expect("a link");
        Plan::of(&link, link.super_packet().longest_bytes())
    }

    #[test]
    fn a_check_takes_a_fraction_of_a_second_plus_the_distance() {
        for (link, round_trip_ms) in [
            ("rtt=0ms,rate=1gbit", 0),
            ("rtt=40ms,rate=100mbit", 40),
            ("rtt=600ms,up.rate=5mbit,down.rate=100mbit", 600),
            ("rtt=10ms,rate=10gbit", 10),
            ("up.rate=64kbit,down.rate=1mbit", 0),
        ] {
            let plan = plan(link);
            let ends = plan.up.unwrap().ends.max(plan.down.unwrap().ends);
            let most = Nanos::from_millis(round_trip_ms + 330);
            assert!(ends < most, "{link}: {ends:?}");
        }
    }

    #[test]
    fn without_a_rate_there_are_probes_only() {
        let plan = plan("rtt=40ms");
        assert_eq!((plan.up, plan.down), (None, None));
        assert_eq!(plan.round_trip, Nanos::from_millis(40));
        assert_eq!(plan.probes, PROBES);
    }

    #[test]
    fn trains_fit_the_precision_and_the_send_limits() {
        for link in [
            "rate=1kbit",
            "rate=64kbit",
            "rate=1mbit",
            "rate=100mbit,mtu=1280",
            "rate=1gbit,loss=1%",
            "rate=40gbit,mtu=9000",
            "rate=1tbit,mtu=65535",
        ] {
            let parsed: Link = link.parse().unwrap();
            let train = plan(link).up.unwrap();
            assert!(train.packets >= FEWEST_PACKETS, "{link}: {train:?}");
            assert!(train.payload_bytes + 28 <= usize::from(parsed.mtu));
            assert!(train.at_once * (train.payload_bytes as u64) < 65_508);
            let rate = parsed.up.rate().unwrap();
            let faster = time_of(train.at_once * (train.payload_bytes as u64 + 28), rate);
            assert!(train.gap < faster, "{link}: {train:?}");
        }
    }

    #[test]
    fn slow_links_get_fewer_probes_and_lossy_links_more() {
        let slow = plan("rate=64kbit");
        assert!(slow.probes < PROBES && slow.probes >= FEWEST_PROBES);
        // 52 bytes take 6.5 ms, and a probe never queues behind the previous one.
        assert!(slow.probe_gap > Nanos(6_500_000));
        assert_eq!(slow.round_trip, Nanos(13_000_000));
        assert_eq!(plan("rtt=1ms,loss=50%").probes, 160);
    }
}
