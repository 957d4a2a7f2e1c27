//! What the link was and did, as the engine's report has it: every field's name is a key of the report.

use dyno_link::Path;
use hdrhistogram::Histogram;
use serde::Serialize;

/// Packets that an emulator did not read in time.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Unread {
    /// Of the subject's.
    pub(crate) up: u64,
    /// Of its peer's.
    pub(crate) down: u64,
}

/// The link of a room.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkAccount {
    /// What was asked for, in its canonical text.
    pub spec: String,
    /// Decides which packets are lost.
    pub seed: u64,
    /// The largest IP packet, in bytes.
    pub mtu: u16,
    /// The distance there and back.
    pub rtt_ns: u64,
    /// From the subject to its peer.
    pub up: WayAccount,
    /// From the peer to the subject.
    pub down: WayAccount,
    /// What segmentation offload might do.
    pub offload: OffloadAccount,
    /// The CPU of the emulator.
    pub cpu: usize,
    /// Whether it is one of the engine's or the subject's.
    pub cpu_shared: bool,
    /// The emulator's CPU time while the subject ran; it is in no other figure of the report.
    pub cpu_time_ns: u64,
    /// What the room found when it measured the link; absent when it did not.
    pub measured: Option<LinkMeasured>,
    /// Whether that is what was asked for.
    pub verdict: LinkVerdict,
    /// Why it is not.
    pub reason: Option<String>,
}

/// One direction: what was asked for, and what happened while the subject ran.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WayAccount {
    /// `delay_ns`, `rate_bits_per_s`, `queue_ns`, `loss`.
    #[serde(flatten)]
    pub path: Path,
    /// Packets that came, those of super-packets each.
    pub packets: u64,
    /// Bytes of IP packets that the rate had to carry.
    pub bytes: u64,
    /// Super-packets among them, each of which came as one.
    pub super_packets: u64,
    /// Packets lost on the way.
    pub lost: u64,
    /// Packets for which the queue had no room.
    pub dropped: u64,
    /// Packets that the kernel dropped since the emulator did not read them in time.
    pub unread: u64,
    /// The longest that a packet waited for the rate.
    pub waited_max_ns: u64,
    /// How much later than planned packets were handed over.
    pub lateness_ns: Lateness,
}

/// Quantiles of a lateness; absent where there was no packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Lateness {
    /// Packets that were handed over.
    pub count: u64,
    /// Half of them were not later.
    pub p50: Option<u64>,
    /// 99 of 100.
    pub p99: Option<u64>,
    /// 999 of 1000.
    pub p99_9: Option<u64>,
    /// All of them.
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

/// What segmentation offload might do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OffloadAccount {
    /// The longest super-packet; absent where there are none.
    pub longest_bytes: Option<u32>,
    /// Why.
    pub why: String,
}

/// What the room found when it measured its link, from the subject's side.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkMeasured {
    /// Round trips of small datagrams.
    pub rtt_ns: RoundTrips,
    /// From the subject to its peer.
    pub up: Goodput,
    /// From the peer to the subject.
    pub down: Goodput,
}

/// Round trips of small datagrams; absent where none came back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RoundTrips {
    /// How many came back.
    pub count: u64,
    /// The shortest.
    pub min: Option<u64>,
    /// The median.
    pub p50: Option<u64>,
    /// 99 of 100 took no longer.
    pub p99: Option<u64>,
    /// The longest.
    pub max: Option<u64>,
}

/// What arrived of a train of datagrams that was faster than the rate; absent without a rate.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Goodput {
    /// Payload that arrived, in bits a second.
    pub goodput_bits_per_s: Option<u64>,
    /// The payload's share of the rate, less what is to be lost.
    pub expected_bits_per_s: Option<u64>,
    /// The share of the train that did not arrive: lost, or with no room in the queue.
    pub lost_share: Option<f64>,
}

/// Whether a link is what was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkVerdict {
    /// It is.
    Held,
    /// It is not.
    Missed,
    /// Nobody looked.
    Unchecked,
}
