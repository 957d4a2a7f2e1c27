//! The packet rim of an emulated link: two devices, a thread between them, and a check that the link is what was asked for.

mod account;
mod arena;
mod bell;
mod check;
mod chunk;
mod cut;
mod emulator;
mod line;
mod pace;
mod stock;
mod tun;
mod urgency;
mod virtio;

use std::os::fd::BorrowedFd;

use dyno_link::{Link, Path};

pub(crate) use self::account::Unread;
pub use self::account::{
    Goodput, Lateness, LinkAccount, LinkMeasured, LinkVerdict, OffloadAccount, RoundTrips,
    WayAccount,
};
pub use self::check::LinkCheck;
use self::emulator::Emulator;
pub(crate) use self::emulator::{Ends, Told};
use self::line::Done;
pub(crate) use self::tun::{MAKER, Tun, cure};
use crate::cpu::CpuSet;
use crate::error::{Result, RoomError};
use crate::netlink::Sending;

/// How many packets may wait for the emulator: what comes at 10 Gbit/s in 10 ms, one by one.
const QUEUE_PACKETS: u32 = 10_000;

/// The link of a room.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinkOptions {
    /// What is asked for.
    pub link: Link,
    /// Decides which packets are lost.
    pub seed: u64,
    /// The emulator's CPU; where absent, one that neither engine nor subject have, or else the engine's last.
    pub cpu: Option<usize>,
}

impl LinkOptions {
    /// How packets leave the devices of this link.
    pub(crate) fn sending(&self) -> Sending {
        Sending {
            mtu: self.link.mtu,
            longest_bytes: self.link.super_packet().longest_bytes(),
            queue_packets: QUEUE_PACKETS,
        }
    }

    /// The CPU of the emulator.
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

/// A link at work.
#[derive(Debug)]
pub(crate) struct RoomLink {
    options: LinkOptions,
    cpu: usize,
    shared: bool,
    emulator: Emulator,
    check: Option<LinkCheck>,
}

impl RoomLink {
    /// Starts carrying packets between these ends, on this CPU, which `shared` says whether others have, too.
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

    /// Measures whether it is what was asked for; none when that was interrupted.
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

    /// Why it was found not to be what was asked for.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.check.as_ref()?.reason.as_deref()
    }

    /// Forgets what was carried so far: what is counted, and which packets are lost, begins with the subject.
    pub(crate) fn begin(&self) -> Result<()> {
        self.emulator.begin()
    }

    /// What was carried since then.
    pub(crate) fn tell(&self) -> Result<Told> {
        self.emulator.tell()
    }

    /// The link's part of the report.
    pub(crate) fn account(&self, told: &Told, unread: Unread) -> LinkAccount {
        let link = &self.options.link;
        let offload = link.super_packet();
        LinkAccount {
            spec: link.to_string(),
            seed: self.options.seed,
            mtu: link.mtu,
            rtt_ns: link.round_trip().0,
            up: way(link.up, &told.up, unread.up),
            down: way(link.down, &told.down, unread.down),
            offload: OffloadAccount {
                longest_bytes: offload.longest_bytes(),
                why: why(link),
            },
            cpu: self.cpu,
            cpu_shared: self.shared,
            cpu_time_ns: told.cpu.total_ns(),
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

/// Why super-packets are as long as they are, and what becomes of those that lose a part.
fn why(link: &Link) -> String {
    let offload = link.super_packet();
    let loses = link.up.loss.billionths() > 0 || link.down.loss.billionths() > 0;
    let split = if loses && offload.longest_bytes().is_some() {
        "; it is split where packets of it are lost"
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
