//! An emulated link: two network devices, a thread between them, and a check that the link matches its settings.

mod account;
mod arena;
mod check;
mod chunk;
mod chunk_pool;
mod cut;
mod emulator;
mod line;
mod pace;
mod scheduling;
mod tun;
mod virtio;
mod wake_event;

use std::os::fd::BorrowedFd;

use dyno_link::{Link, Path};

pub(crate) use self::account::Unread;
pub use self::account::{
    Goodput, Lateness, LinkAccount, LinkMeasured, LinkVerdict, OffloadAccount, RoundTrips,
    WayAccount,
};
pub use self::check::LinkCheck;
use self::emulator::Emulator;
pub(crate) use self::emulator::{EmulatorTotals, Ends};
use self::line::Done;
pub(crate) use self::tun::{MAKER, Tun, cure};
use crate::cpu::CpuSet;
use crate::error::{Result, RoomError};
use crate::netlink::Sending;

/// Packets that may wait for the emulator: 10 ms at 10 Gbit/s without super-packets.
const QUEUE_PACKETS: u32 = 10_000;

/// Options of a room's link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkOptions {
    /// Requested link.
    pub link: Link,
    /// Seed of the packet loss.
    pub seed: u64,
    /// CPU of the emulator; absent: a CPU of neither engine nor subject, or else the engine's last.
    pub cpu: Option<usize>,
}

impl LinkOptions {
    /// Return how packets leave the devices of this link.
    pub(crate) fn sending(&self) -> Sending {
        Sending {
            mtu: self.link.mtu,
            longest_bytes: self.link.super_packet().longest_bytes(),
            queue_packets: QUEUE_PACKETS,
        }
    }

    /// Choose the CPU of the emulator.
    pub(crate) fn choose_cpu(
        &self,
        allowed: &CpuSet,
        engine: &CpuSet,
        subject: &CpuSet,
    ) -> Result<usize> {
        if let Some(cpu) = self.cpu {
            CpuSet::from([cpu]).check_within(allowed, "link")?;
            return Ok(cpu);
        }
        allowed
            .iter()
            .find(|&cpu| !engine.contains(cpu) && !subject.contains(cpu))
            .or_else(|| engine.iter().last())
            .ok_or_else(|| RoomError::Invalid {
                what: "the engine has no CPU".to_owned(),
                cure: "give it one".to_owned(),
            })
    }
}

/// A running link.
#[derive(Debug)]
pub(crate) struct RoomLink {
    options: LinkOptions,
    cpu: usize,
    shared: bool,
    emulator: Emulator,
    check: Option<LinkCheck>,
}

impl RoomLink {
    /// Start carrying packets between these ends, on this CPU; `shared` says whether engine or subject use it, too.
    pub(crate) fn start(
        options: LinkOptions,
        ends: Ends,
        cpu: usize,
        shared: bool,
    ) -> Result<Self> {
        Ok(Self {
            options,
            cpu,
            shared,
            emulator: Emulator::start(ends, &options.link, options.seed, cpu, shared)?,
            check: None,
        })
    }

    /// Measure whether the link matches its settings; none after an interruption.
    pub(crate) fn check(
        &mut self,
        subject_namespace: BorrowedFd,
        subject_cpus: &CpuSet,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<LinkCheck>> {
        let link = &self.options.link;
        self.check = check::check(link, subject_namespace, subject_cpus, interrupted)?;
        Ok(self.check.clone())
    }

    /// Return why the link does not match its settings.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.check.as_ref()?.reason.as_deref()
    }

    /// Discard all counters and packets: counters and packet loss restart with the subject.
    pub(crate) fn begin(&self) -> Result<()> {
        self.emulator.begin()
    }

    /// Return the counters since the last [`begin`](Self::begin).
    pub(crate) fn totals(&self) -> Result<EmulatorTotals> {
        self.emulator.totals()
    }

    /// Return the link's part of the report.
    pub(crate) fn account(&self, totals: &EmulatorTotals, unread: Unread) -> LinkAccount {
        let link = &self.options.link;
        let offload = link.super_packet();
        LinkAccount {
            spec: link.to_string(),
            seed: self.options.seed,
            mtu: link.mtu,
            rtt_ns: link.round_trip().0,
            up: way(link.up, &totals.up, unread.up),
            down: way(link.down, &totals.down, unread.down),
            offload: OffloadAccount {
                longest_bytes: offload.longest_bytes(),
                why: why(link),
            },
            cpu: self.cpu,
            cpu_shared: self.shared,
            cpu_time_ns: totals.cpu.total_ns(),
            measured: self.check.as_ref().map(|check| check.measured.clone()),
            verdict: match &self.check {
                None => LinkVerdict::Unchecked,
                Some(LinkCheck { reason: None, .. }) => LinkVerdict::Held,
                Some(_) => LinkVerdict::Missed,
            },
            reason: self.refusal().map(str::to_owned),
        }
    }
}

/// Explain the limit on super-packets, and how those that lose a segment are handled.
fn why(link: &Link) -> String {
    let offload = link.super_packet();
    let loses = link.up.loss.billionths() > 0 || link.down.loss.billionths() > 0;
    let split = if loses && offload.longest_bytes().is_some() {
        "; it is split where its packets are lost"
    } else {
        ""
    };
    format!("{}{split}", offload.why())
}

fn way(path: Path, done: &Done, unread: u64) -> WayAccount {
    WayAccount {
        path,
        packets: done.counts.packets,
        bytes: done.counts.bytes,
        super_packets: done.super_packets,
        lost: done.counts.lost,
        dropped: done.counts.dropped,
        unread,
        waited_max_ns: done.counts.longest_wait.0,
        lateness_ns: done.lateness,
    }
}
