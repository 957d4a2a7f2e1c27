//! The room's three network namespaces: the peer's, the subject's, and one behind the peer without listeners.

use std::fs::{self, File};
use std::io::{Read, Seek};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::thread::UnshareFlags;

use crate::error::{Result, RoomError, Step};
use crate::link::{Ends, Tun, Unread};
use crate::namespaces::unshare;
use crate::netlink::{Device, LinkCounters, Netlink, Sending, VethEnd, add_veth};
use crate::network_plan::{
    FROM_CLOSED, Setup, TO_CLOSED, TO_PEER, TO_SUBJECT, closed_plan, peer_plan, subject_plan,
};

/// Time limit for links to come up, and polling interval.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_micros(200);

/// Settings of every namespace of the room.
const EVERYWHERE: &[(&str, &str)] = &[
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
    // No link-local addresses: their router solicitations would appear in the subject's counters.
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

/// Settings of the two ends that open and accept connections.
const ENDS: &[(&str, &str)] = &[
    ("ipv4/ip_local_port_range", "1024 65535"),
    ("ipv4/tcp_tw_reuse", "1"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_max_syn_backlog", "65535"),
    ("core/somaxconn", "65535"),
    // Lets an ordinary user's peer or server listen on port 80.
    ("ipv4/ip_unprivileged_port_start", "0"),
];

/// The peer forwards to the namespace without listeners.
const FORWARDING: &[(&str, &str)] = &[("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1")];

/// The room's network. This process is in the peer's namespace; the other two live as long as this value or a process in them.
#[derive(Debug)]
pub(crate) struct Network {
    subject_namespace: OwnedFd,
    subject: Netlink,
    peer: Netlink,
    closed: Netlink,
    closed_namespace: OwnedFd,
    /// Kernel statistics of the subject's namespace; absent if unreadable.
    statistics: Option<[File; 2]>,
    without_route_before: Option<u64>,
    /// The devices of an emulated link, until its emulator takes them.
    ends: Option<Ends>,
    emulated: Option<Sending>,
    /// Counters of both ends at the subject's start.
    before: (LinkCounters, LinkCounters),
    pub(crate) has_ipv6: bool,
}

impl Network {
    /// Make the three namespaces and connect them; this process ends up in the peer's.
    ///
    /// A veth pair connects subject and peer, or the two devices of an emulated link with these settings.
    pub(crate) fn build(emulated: Option<Sending>) -> Result<Self> {
        let has_ipv6 = Path::new("/proc/sys/net/ipv6").exists();
        let end = |of: VethEnd| {
            let make =
                |sending: Sending| Tun::make(of.name, of.device, sending.longest_bytes.is_some());
            emulated.map(make).transpose()
        };
        let (closed_namespace, closed) = new_namespace(&[EVERYWHERE])?;
        let (subject_namespace, subject) = new_namespace(&[EVERYWHERE, ENDS])?;
        // This process is in the subject's namespace for a moment: files opened here keep referring to it.
        let open = |name| File::open(Path::new("/proc/thread-self/net").join(name));
        let statistics = open("snmp").ok().zip(open("snmp6").ok());
        let statistics = statistics.map(<[File; 2]>::from);
        let subject_end = end(TO_PEER)?;
        let (_, peer) = new_namespace(&[EVERYWHERE, ENDS, FORWARDING])?;
        let peer_end = end(TO_SUBJECT)?;
        let mut network = Self {
            subject_namespace,
            subject,
            peer,
            closed,
            closed_namespace,
            statistics,
            without_route_before: None,
            ends: subject_end
                .zip(peer_end)
                .map(|(subject, peer)| Ends { subject, peer }),
            emulated,
            before: (LinkCounters::default(), LinkCounters::default()),
            has_ipv6,
        };
        network.join()?;
        Ok(network)
    }

    /// Take the devices of an emulated link.
    pub(crate) fn take_ends(&mut self) -> Option<Ends> {
        self.ends.take()
    }

    /// Return a handle of the subject's namespace.
    pub(crate) fn subject_namespace(&self) -> &OwnedFd {
        &self.subject_namespace
    }

    /// Reset the counters at the subject's start.
    pub(crate) fn begin(&mut self) -> Result<()> {
        self.before = (
            self.subject.counters(TO_PEER.device)?,
            self.peer.counters(TO_SUBJECT.device)?,
        );
        self.without_route_before = self.read_without_route();
        Ok(())
    }

    /// Return the traffic at the subject's end of the link since it started.
    pub(crate) fn counters(&mut self) -> Result<LinkCounters> {
        Ok(self.subject.counters(TO_PEER.device)?.since(&self.before.0))
    }

    /// Return the connections and datagrams that the subject addressed to networks without a route, since it started.
    pub(crate) fn without_route(&self) -> Option<u64> {
        Some(self.read_without_route()? - self.without_route_before?)
    }

    fn read_without_route(&self) -> Option<u64> {
        let read = |mut file: &File| {
            let mut text = String::new();
            file.rewind().ok()?;
            file.read_to_string(&mut text).ok()?;
            Some(text)
        };
        let [v4, v6] = self.statistics.as_ref()?;
        without_route(&read(v4)?, &read(v6)?)
    }

    /// Return the packets that an emulator did not read in time since the subject started.
    pub(crate) fn unread(&mut self) -> Result<Unread> {
        let peer = self.peer.counters(TO_SUBJECT.device)?.since(&self.before.1);
        Ok(Unread {
            up: self.counters()?.dropped_packets,
            down: peer.dropped_packets,
        })
    }

    /// Wait until packets pass through every link: the kernel notices a carrier a moment after both ends are up, and drops earlier
    /// packets. A lost first packet would delay the subject by a second.
    pub(crate) fn wait_until_operational(&mut self) -> Result<()> {
        let start = Instant::now();
        // The devices of an emulated link pass packets as soon as they are up, and never report a carrier.
        let joined = usize::from(self.emulated.is_none());
        for (netlink, devices) in [
            (
                &mut self.peer,
                &[TO_CLOSED.device, TO_SUBJECT.device][..=joined],
            ),
            (&mut self.subject, &[TO_PEER.device][..joined]),
            (&mut self.closed, &[FROM_CLOSED.device]),
        ] {
            for &device in devices {
                while !netlink.is_operational(device)? {
                    if start.elapsed() > PATIENCE {
                        return Err(RoomError::Init(format!(
                            "the room's links did not come up within {PATIENCE:?}; try again when the machine is less busy"
                        )));
                    }
                    sleep(PAUSE);
                }
            }
        }
        Ok(())
    }

    fn join(&mut self) -> Result<()> {
        let veths = [
            (TO_CLOSED, FROM_CLOSED, &self.closed_namespace),
            (TO_SUBJECT, TO_PEER, &self.subject_namespace),
        ];
        let joined = usize::from(self.emulated.is_none());
        for &(near, far, namespace) in &veths[..=joined] {
            self.peer
                .execute(
                    || format!("creating the link `{}`", near.name),
                    &mut add_veth(near, far, namespace.as_fd()),
                )
                .map_err(|error| {
                    error.with_cure("the kernel needs veth devices (modprobe veth)")
                })?;
        }
        let plans = [
            (
                &mut self.peer,
                ends_of(TO_SUBJECT.device, self.emulated, peer_plan()),
            ),
            (
                &mut self.subject,
                ends_of(TO_PEER.device, self.emulated, subject_plan()),
            ),
            (&mut self.closed, closed_plan()),
        ];
        for (netlink, steps) in plans {
            for step in steps.iter().filter(|step| self.has_ipv6 || step.is_v4()) {
                netlink.execute(|| format!("network: {step:?}"), &mut step.message())?;
            }
        }
        Ok(())
    }
}

/// Return how often no route was found. IPv4 is in `/proc/net/snmp`, where a line of names precedes one of numbers; IPv6 is in
/// `/proc/net/snmp6`, where each number follows its name.
fn without_route(v4: &str, v6: &str) -> Option<u64> {
    let mut lines = v4.lines().filter(|line| line.starts_with("Ip:"));
    let names = lines.next()?.split(' ');
    let numbers = lines.next()?.split(' ');
    let (_, of_v4) = names
        .zip(numbers)
        .find(|(name, _)| *name == "OutNoRoutes")?;
    let of_v6 = v6
        .lines()
        .find_map(|line| line.strip_prefix("Ip6OutNoRoutes"))?;
    Some(of_v4.parse::<u64>().ok()? + of_v6.trim().parse::<u64>().ok()?)
}

/// Return a plan with the device of an emulated link in place of the veth device, if there is one.
fn ends_of(end: Device, emulated: Option<Sending>, mut plan: Vec<Setup>) -> Vec<Setup> {
    if let Some(sending) = emulated {
        plan.retain(|step| !step.is_neighbour_on(end));
        plan.insert(0, Setup::Sending(end, sending));
    }
    plan
}

type Settings = &'static [(&'static str, &'static str)];

/// Move this process into a new network namespace and apply the settings that require a process inside.
fn new_namespace(settings: &[Settings]) -> Result<(OwnedFd, Netlink)> {
    unshare(UnshareFlags::NEWNET, "making a network namespace")?;
    let namespace = File::open("/proc/thread-self/ns/net")
        .step(|| "opening the new network namespace".to_owned())?;
    for (name, value) in settings.iter().copied().flatten() {
        // Optional: if a kernel lacks or refuses a setting, its default applies.
        let _ = fs::write(Path::new("/proc/sys/net").join(name), value);
    }
    Ok((namespace.into(), Netlink::open()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_without_route_are_read_from_both_tables() {
        let v4 = "Ip: Forwarding OutNoRoutes\nIp: 1 12\nIcmp: OutNoRoutes\nIcmp: 3\n";
        let v6 = "Ip6InReceives                   \t7\nIp6OutNoRoutes                  \t2\n";
        assert_eq!(without_route(v4, v6), Some(14));
        assert_eq!(without_route("Ip: Forwarding\nIp: 1\n", v6), None);
        assert_eq!(without_route(v4, ""), None);
    }
}
