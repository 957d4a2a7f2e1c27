//! The account of an emulated link in the engine's report: field names are the report's keys.

use dyno_link::Path;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Packets that the emulator did not read in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unread {
    /// From the subject.
    pub(crate) up: u64,
    /// From its peer.
    pub(crate) down: u64,
}

/// Settings and results of the link of a room.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkAccount {
    /// Requested link, in canonical text.
    pub spec: String,
    /// Seed of the packet loss.
    pub seed: u64,
    /// The largest IP packet, in bytes.
    pub mtu: u16,
    /// Round-trip time.
    pub rtt_ns: u64,
    /// From the subject to its peer.
    pub up: WayAccount,
    /// From the peer to the subject.
    pub down: WayAccount,
    /// Limit of segmentation offload.
    pub offload: OffloadAccount,
    /// CPU of the emulator.
    pub cpu: usize,
    /// Whether this CPU is also one of the engine's or the subject's.
    pub cpu_shared: bool,
    /// CPU time of the emulator while the subject ran; no other figure of the report includes it.
    pub cpu_time_ns: u64,
    /// Result of the room's measurement of the link; absent if it did not measure.
    pub measured: Option<LinkMeasured>,
    /// Whether the measurement matches the request.
    pub verdict: LinkVerdict,
    /// Why it does not.
    pub reason: Option<String>,
}

/// One direction: settings, and traffic while the subject ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayAccount {
    /// `delay_ns`, `rate_bits_per_s`, `queue_ns`, `loss`.
    #[serde(flatten)]
    pub path: Path,
    /// Packets received by the emulator; each segment of a super-packet counts.
    pub packets: u64,
    /// Bytes of IP packets that used the rate.
    pub bytes: u64,
    /// Super-packets received.
    pub super_packets: u64,
    /// Packets lost by chance.
    pub lost: u64,
    /// Packets dropped because the queue was full.
    pub dropped: u64,
    /// Packets dropped by the kernel because the emulator did not read them in time.
    pub unread: u64,
    /// Longest wait of a packet for the rate.
    pub waited_max_ns: u64,
    /// Delay of deliveries beyond their planned time.
    pub lateness_ns: Lateness,
}

/// Quantiles of a lateness; absent without packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Delivered packets.
    pub count: u64,
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// 99.9th percentile.
    pub p99_9: Option<u64>,
    /// Maximum.
    pub max: Option<u64>,
}

impl Lateness {
    pub(super) fn of(histogram: &Histogram<u64>) -> Self {
        let at = |quantile| (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile));
        Self {
            count: histogram.len(),
            p50: at(0.5),
            p99: at(0.99),
            p99_9: at(0.999),
            max: (!histogram.is_empty()).then(|| histogram.max()),
        }
    }
}

/// Limit of segmentation offload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OffloadAccount {
    /// Length of the longest super-packet; absent if there are none.
    pub longest_bytes: Option<u32>,
    /// Reason for this limit.
    pub why: String,
}

/// The room's measurement of its link, from the subject's side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkMeasured {
    /// Round trips of small datagrams.
    pub rtt_ns: RoundTrips,
    /// From the subject to its peer.
    pub up: Goodput,
    /// From the peer to the subject.
    pub down: Goodput,
}

/// Round trips of small datagrams; absent if none returned.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RoundTrips {
    /// Number of returned datagrams.
    pub count: u64,
    /// Minimum.
    pub min: Option<u64>,
    /// Median.
    pub p50: Option<u64>,
    /// 99th percentile.
    pub p99: Option<u64>,
    /// Maximum.
    pub max: Option<u64>,
}

/// Received part of a train of datagrams sent faster than the rate; absent without a rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Goodput {
    /// Received payload, in bits per second.
    pub goodput_bits_per_s: Option<u64>,
    /// Expected payload: the payload's share of the rate minus the configured loss.
    pub expected_bits_per_s: Option<u64>,
    /// Share of the train that did not arrive: lost, or dropped by the full queue.
    pub lost_share: Option<f64>,
}

/// Whether a link matches its request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkVerdict {
    /// It does.
    Held,
    /// It does not.
    Missed,
    /// It was not measured.
    Unchecked,
}
