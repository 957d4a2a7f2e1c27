//! The room's three network namespaces: the peer's, the subject's, and behind the peer one where nothing listens.

use std::fs::{self, File};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::thread::UnshareFlags;

use crate::addresses::{
    CLOSED_GATEWAY_V4, CLOSED_GATEWAY_V6, CLOSED_HOST_V4, CLOSED_HOST_V6, CLOSED_V4, CLOSED_V6,
    DEFAULT_V4, DEFAULT_V6, PEER_V4, PEER_V6, Prefix, SILENT_V4, SILENT_V6, SUBJECT_V4, SUBJECT_V6,
    WEB_V4, WEB_V6,
};
use crate::error::{Result, RoomError, Step};
use crate::namespaces::unshare;
use crate::netlink::{
    Device, Hop, LinkCounters, Message, Netlink, Table, VethEnd, add_address, add_neighbour,
    add_route, add_veth, bring_up,
};

/// How long the links may take to come up, and how often to look.
const PATIENCE: Duration = Duration::from_secs(5);
const PAUSE: Duration = Duration::from_micros(200);

/// Settings of every namespace of the room.
const EVERYWHERE: &[(&str, &str)] = &[
    ("ipv6/conf/all/disable_ipv6", "0"),
    ("ipv6/conf/default/disable_ipv6", "0"),
    // No link-local addresses: their router solicitations would show in the subject's counters.
    ("ipv6/conf/default/addr_gen_mode", "1"),
];

/// Settings of the two ends that open and accept connections.
const ENDS: &[(&str, &str)] = &[
    ("ipv4/ip_local_port_range", "1024 65535"),
    ("ipv4/tcp_tw_reuse", "1"),
    ("ipv4/tcp_no_metrics_save", "1"),
    ("ipv4/tcp_max_syn_backlog", "65535"),
    ("core/somaxconn", "65535"),
    // A peer or a server subject of an ordinary user may listen on port 80 too.
    ("ipv4/ip_unprivileged_port_start", "0"),
];

/// The peer forwards to the namespace where nothing listens.
const FORWARDING: &[(&str, &str)] = &[("ipv4/ip_forward", "1"), ("ipv6/conf/all/forwarding", "1")];

const TO_SUBJECT: VethEnd = VethEnd {
    name: "subject",
    device: Device(2),
    hardware_address: [2, 0, 198, 18, 0, 1],
};
const TO_PEER: VethEnd = VethEnd {
    name: "eth0",
    device: Device(2),
    hardware_address: [2, 0, 198, 18, 0, 2],
};
const TO_CLOSED: VethEnd = VethEnd {
    name: "closed",
    device: Device(3),
    hardware_address: [2, 0, 198, 18, 0, 5],
};
const FROM_CLOSED: VethEnd = VethEnd {
    name: "peer",
    device: Device(2),
    hardware_address: [2, 0, 198, 18, 0, 6],
};

/// The room's network. This process is in the peer's namespace; the other two live as long as this value or a process in them.
#[derive(Debug)]
pub(crate) struct Network {
    subject_namespace: OwnedFd,
    subject: Netlink,
    peer: Netlink,
    closed: Netlink,
    closed_namespace: OwnedFd,
    pub(crate) has_ipv6: bool,
    pub(crate) refused_settings: Vec<String>,
}

impl Network {
    /// Makes the three namespaces and joins them; this process ends up in the peer's.
    pub(crate) fn build() -> Result<Self> {
        let has_ipv6 = Path::new("/proc/sys/net/ipv6").exists();
        let mut refused = Vec::new();
        let (closed_namespace, closed) = new_namespace(&[EVERYWHERE], &mut refused)?;
        let (subject_namespace, subject) = new_namespace(&[EVERYWHERE, ENDS], &mut refused)?;
        let (_, peer) = new_namespace(&[EVERYWHERE, ENDS, FORWARDING], &mut refused)?;
        refused.sort();
        refused.dedup();
        let mut network = Self {
            subject_namespace,
            subject,
            peer,
            closed,
            closed_namespace,
            has_ipv6,
            refused_settings: refused,
        };
        network.join()?;
        Ok(network)
    }

    /// A handle on the subject's namespace.
    pub(crate) fn subject_namespace(&self) -> &OwnedFd {
        &self.subject_namespace
    }

    /// What went through the subject's end of the link so far.
    pub(crate) fn counters(&mut self) -> Result<LinkCounters> {
        self.subject.counters(TO_PEER.device)
    }

    /// Waits until packets pass through every link: the kernel notices a carrier a moment after both ends are up, and drops what is
    /// sent before. A lost first packet would cost the subject a second.
    pub(crate) fn wait_until_operational(&mut self) -> Result<()> {
        let start = Instant::now();
        for (netlink, devices) in [
            (&mut self.peer, &[TO_SUBJECT.device, TO_CLOSED.device][..]),
            (&mut self.subject, &[TO_PEER.device]),
            (&mut self.closed, &[FROM_CLOSED.device]),
        ] {
            for &device in devices {
                while !netlink.is_operational(device)? {
                    if start.elapsed() > PATIENCE {
                        return Err(RoomError::Init(format!(
                            "the room's links did not come up within {PATIENCE:?}; try again when the machine has less to do"
                        )));
                    }
                    sleep(PAUSE);
                }
            }
        }
        Ok(())
    }

    fn join(&mut self) -> Result<()> {
        for (near, far, namespace) in [
            (TO_SUBJECT, TO_PEER, &self.subject_namespace),
            (TO_CLOSED, FROM_CLOSED, &self.closed_namespace),
        ] {
            self.peer
                .execute(
                    || format!("creating the link `{}`", near.name),
                    &mut add_veth(near, far, namespace.as_fd()),
                )
                .map_err(|error| {
                    error.with_cure("the kernel needs veth devices (modprobe veth)")
                })?;
        }
        for plan in [&peer_plan()[..], &subject_plan()[..], &closed_plan()[..]]
            .into_iter()
            .zip([&mut self.peer, &mut self.subject, &mut self.closed])
        {
            let (steps, netlink) = plan;
            for step in steps.iter().filter(|step| self.has_ipv6 || step.is_v4()) {
                netlink.execute(|| format!("network: {step:?}"), &mut step.message())?;
            }
        }
        Ok(())
    }
}

/// One entry of a namespace's configuration.
#[derive(Debug, Clone, Copy)]
enum Setup {
    Up(Device),
    Address(Device, Prefix),
    Neighbour(Device, Prefix, [u8; 6]),
    Route(Table, Prefix, Hop),
}

impl Setup {
    fn is_v4(&self) -> bool {
        match self {
            Self::Up(_) => true,
            Self::Address(_, prefix)
            | Self::Neighbour(_, prefix, _)
            | Self::Route(_, prefix, _) => prefix.address.is_ipv4(),
        }
    }

    fn message(&self) -> Message {
        match *self {
            Self::Up(device) => bring_up(device),
            Self::Address(device, prefix) => add_address(device, prefix),
            Self::Neighbour(device, prefix, hardware_address) => {
                add_neighbour(device, prefix.address, hardware_address)
            }
            Self::Route(table, prefix, hop) => add_route(table, prefix, hop),
        }
    }
}

fn via(gateway: Prefix, end: VethEnd) -> Hop {
    let address: IpAddr = gateway.address;
    Hop::Via(address, end.device)
}

fn peer_plan() -> Vec<Setup> {
    use Setup::{Address, Neighbour, Route, Up};
    vec![
        Up(Device::LOOPBACK),
        Address(TO_SUBJECT.device, PEER_V4),
        Address(TO_SUBJECT.device, PEER_V6),
        Address(TO_CLOSED.device, CLOSED_GATEWAY_V4),
        Address(TO_CLOSED.device, CLOSED_GATEWAY_V6),
        Up(TO_SUBJECT.device),
        Up(TO_CLOSED.device),
        Neighbour(TO_SUBJECT.device, SUBJECT_V4, TO_PEER.hardware_address),
        Neighbour(TO_SUBJECT.device, SUBJECT_V6, TO_PEER.hardware_address),
        Neighbour(
            TO_CLOSED.device,
            CLOSED_HOST_V4,
            FROM_CLOSED.hardware_address,
        ),
        Neighbour(
            TO_CLOSED.device,
            CLOSED_HOST_V6,
            FROM_CLOSED.hardware_address,
        ),
        Route(Table::Local, WEB_V4, Hop::Local),
        Route(Table::Local, WEB_V6, Hop::Local),
        // These must stand in the table of local addresses too: it is looked up first, and within it the longest prefix wins.
        Route(Table::Local, SILENT_V4, Hop::Blackhole),
        Route(Table::Local, SILENT_V6, Hop::Blackhole),
        Route(Table::Local, CLOSED_V4, via(CLOSED_HOST_V4, TO_CLOSED)),
        Route(Table::Local, CLOSED_V6, via(CLOSED_HOST_V6, TO_CLOSED)),
    ]
}

fn subject_plan() -> Vec<Setup> {
    use Setup::{Address, Neighbour, Route, Up};
    vec![
        Up(Device::LOOPBACK),
        Address(TO_PEER.device, SUBJECT_V4),
        Address(TO_PEER.device, SUBJECT_V6),
        Up(TO_PEER.device),
        Neighbour(TO_PEER.device, PEER_V4, TO_SUBJECT.hardware_address),
        Neighbour(TO_PEER.device, PEER_V6, TO_SUBJECT.hardware_address),
        Route(Table::Main, WEB_V4, via(PEER_V4, TO_PEER)),
        Route(Table::Main, WEB_V6, via(PEER_V6, TO_PEER)),
        // A stray connection fails at once instead of hanging.
        Route(Table::Main, DEFAULT_V4, Hop::Unreachable),
        Route(Table::Main, DEFAULT_V6, Hop::Unreachable),
    ]
}

fn closed_plan() -> Vec<Setup> {
    use Setup::{Address, Neighbour, Route, Up};
    let device = FROM_CLOSED.device;
    vec![
        Up(Device::LOOPBACK),
        Address(device, CLOSED_HOST_V4),
        Address(device, CLOSED_HOST_V6),
        Up(device),
        Neighbour(device, CLOSED_GATEWAY_V4, TO_CLOSED.hardware_address),
        Neighbour(device, CLOSED_GATEWAY_V6, TO_CLOSED.hardware_address),
        Route(Table::Local, CLOSED_V4, Hop::Local),
        Route(Table::Local, CLOSED_V6, Hop::Local),
        Route(Table::Main, DEFAULT_V4, via(CLOSED_GATEWAY_V4, FROM_CLOSED)),
        Route(Table::Main, DEFAULT_V6, via(CLOSED_GATEWAY_V6, FROM_CLOSED)),
    ]
}

type Settings = &'static [(&'static str, &'static str)];

/// Moves this process into a new network namespace and configures what only a process inside can.
fn new_namespace(settings: &[Settings], refused: &mut Vec<String>) -> Result<(OwnedFd, Netlink)> {
    unshare(UnshareFlags::NEWNET, "making a network namespace")?;
    let namespace = File::open("/proc/thread-self/ns/net")
        .step(|| "opening the new network namespace".to_owned())?;
    for (name, value) in settings.iter().copied().flatten() {
        if let Err(error) = fs::write(Path::new("/proc/sys/net").join(name), value)
            && !(name.starts_with("ipv6") && error.kind() == io::ErrorKind::NotFound)
        {
            refused.push(format!("net/{name}={value}: {error}"));
        }
    }
    Ok((namespace.into(), Netlink::open()?))
}
