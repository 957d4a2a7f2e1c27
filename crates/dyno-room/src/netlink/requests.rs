//! The netlink requests of a room, and the one reply that it parses.

use std::net::IpAddr;
use std::os::fd::{AsRawFd, BorrowedFd};

use super::message::{Message, attributes};
use crate::addresses::Prefix;

// Kernel names, linux/if_link.h, linux/if_addr.h, linux/veth.h, linux/neighbour.h.
const IFLA_INFO_KIND: u16 = 1;
const IFLA_INFO_DATA: u16 = 2;
const VETH_INFO_PEER: u16 = 1;
const IFLA_OPERSTATE: u16 = 16;
const IFLA_TXQLEN: u16 = 13;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const IFLA_STATS64: u16 = 23;
/// `IF_OPER_UP`: the kernel has noticed the carrier and passes packets.
const OPERATIONALLY_UP: u8 = 6;
const NUD_PERMANENT: u16 = 0x80;
const INTERFACE_UP: u32 = libc::IFF_UP as u32;
const INTERFACE_MESSAGE_BYTES: usize = 16;
const CREATE: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;

/// A network device, by its index in its namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Device(pub(crate) i32);

impl Device {
    /// The loopback device has index 1 in every namespace.
    pub(crate) const LOOPBACK: Self = Self(1);
}

/// A routing table.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Table {
    /// Local addresses; looked up first. More specific prefixes of any kind win here, as in every table.
    Local,
    /// The main table.
    Main,
}

/// Target of a route.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Hop {
    /// Every address of the prefix belongs to this machine.
    Local,
    /// Dropped silently.
    Blackhole,
    /// Through a neighbour on a device.
    Via(IpAddr, Device),
}

/// One end of a veth pair.
#[derive(Debug, Clone, Copy)]
pub(crate) struct VethEnd<'a> {
    pub(crate) name: &'a str,
    pub(crate) device: Device,
    pub(crate) hardware_address: [u8; 6],
}

impl VethEnd<'_> {
    fn describe(&self, message: &mut Message) {
        message
            .attribute(libc::IFLA_IFNAME, format!("{}\0", self.name).as_bytes())
            .attribute(libc::IFLA_ADDRESS, &self.hardware_address);
    }
}

/// `struct ifinfomsg`.
fn interface_message(device: Device, flags: u32) -> [u8; INTERFACE_MESSAGE_BYTES] {
    let mut body = [0; INTERFACE_MESSAGE_BYTES];
    body[4..8].copy_from_slice(&device.0.to_ne_bytes());
    body[8..12].copy_from_slice(&flags.to_ne_bytes());
    body[12..16].copy_from_slice(&flags.to_ne_bytes());
    body
}

fn family(address: IpAddr) -> u8 {
    let family = if address.is_ipv4() {
        libc::AF_INET
    } else {
        libc::AF_INET6
    };
    u8::try_from(family).expect("address families are small")
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

/// Create a veth pair: `near` in this namespace, `far` in the one that `namespace` refers to.
pub(crate) fn add_veth(near: VethEnd, far: VethEnd, namespace: BorrowedFd) -> Message {
    let mut message = Message::new(
        libc::RTM_NEWLINK,
        CREATE,
        &interface_message(near.device, 0),
    );
    near.describe(&mut message);
    message.nested(libc::IFLA_LINKINFO, |info| {
        info.attribute(IFLA_INFO_KIND, b"veth\0");
        info.nested(IFLA_INFO_DATA, |data| {
            data.nested(VETH_INFO_PEER, |peer| {
                peer.raw(&interface_message(far.device, 0));
                far.describe(peer);
                peer.attribute(libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes());
            });
        });
    });
    message
}

/// Bring a device up.
pub(crate) fn bring_up(device: Device) -> Message {
    Message::new(
        libc::RTM_NEWLINK,
        0,
        &interface_message(device, INTERFACE_UP),
    )
}

/// How packets leave a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sending {
    /// Length of the largest IP packet in bytes.
    pub(crate) mtu: u16,
    /// Length of the longest super-packet, if the kernel's default is to be lowered.
    pub(crate) longest_bytes: Option<u32>,
    /// Packets that may wait for the reader of the device.
    pub(crate) queue_packets: u32,
}

/// Set how packets leave a device.
pub(crate) fn set_sending(device: Device, sending: Sending) -> Message {
    let mut message = Message::new(libc::RTM_NEWLINK, 0, &interface_message(device, 0));
    message
        .attribute(libc::IFLA_MTU, &u32::from(sending.mtu).to_ne_bytes())
        .attribute(IFLA_TXQLEN, &sending.queue_packets.to_ne_bytes());
    if let Some(bytes) = sending.longest_bytes {
        message.attribute(IFLA_GSO_MAX_SIZE, &bytes.to_ne_bytes());
    }
    message
}

/// Give a device an address, without duplicate address detection.
pub(crate) fn add_address(device: Device, prefix: Prefix) -> Message {
    let mut body = [0; 8];
    body[0] = family(prefix.address);
    body[1] = prefix.bits;
    body[2] = u8::try_from(libc::IFA_F_NODAD).expect("the flag is small");
    body[4..8].copy_from_slice(&device.0.to_ne_bytes());
    let mut message = Message::new(libc::RTM_NEWADDR, CREATE, &body);
    let address = octets(prefix.address);
    message
        .attribute(libc::IFA_LOCAL, &address)
        .attribute(libc::IFA_ADDRESS, &address);
    message
}

/// Set the hardware address of a neighbour, so that no end ever sends ARP or neighbour requests.
pub(crate) fn add_neighbour(device: Device, address: IpAddr, hardware_address: [u8; 6]) -> Message {
    let mut body = [0; 12];
    body[0] = family(address);
    body[4..8].copy_from_slice(&device.0.to_ne_bytes());
    body[8..10].copy_from_slice(&NUD_PERMANENT.to_ne_bytes());
    let mut message = Message::new(libc::RTM_NEWNEIGH, CREATE, &body);
    message
        .attribute(libc::NDA_DST, &octets(address))
        .attribute(libc::NDA_LLADDR, &hardware_address);
    message
}

/// Add a route.
pub(crate) fn add_route(table: Table, prefix: Prefix, hop: Hop) -> Message {
    let (kind, scope) = match hop {
        Hop::Local => (libc::RTN_LOCAL, libc::RT_SCOPE_HOST),
        Hop::Blackhole => (libc::RTN_BLACKHOLE, libc::RT_SCOPE_UNIVERSE),
        Hop::Via(..) => (libc::RTN_UNICAST, libc::RT_SCOPE_UNIVERSE),
    };
    let table = match table {
        Table::Local => libc::RT_TABLE_LOCAL,
        Table::Main => libc::RT_TABLE_MAIN,
    };
    let mut body = [0; 12];
    body[0] = family(prefix.address);
    body[1] = prefix.bits;
    body[4] = table;
    body[5] = libc::RTPROT_STATIC;
    body[6] = scope;
    body[7] = kind;
    let mut message = Message::new(libc::RTM_NEWROUTE, CREATE, &body);
    if prefix.bits > 0 {
        message.attribute(libc::RTA_DST, &octets(prefix.address));
    }
    match hop {
        Hop::Local => {
            message.attribute(libc::RTA_OIF, &Device::LOOPBACK.0.to_ne_bytes());
        }
        Hop::Via(gateway, device) => {
            message
                .attribute(libc::RTA_GATEWAY, &octets(gateway))
                .attribute(libc::RTA_OIF, &device.0.to_ne_bytes());
        }
        Hop::Blackhole => {}
    }
    message
}

/// Request all properties of a device.
pub(super) fn get_link(device: Device) -> Message {
    Message::new(libc::RTM_GETLINK, 0, &interface_message(device, 0))
}

/// Traffic of a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LinkCounters {
    pub(crate) received_packets: u64,
    pub(crate) sent_packets: u64,
    pub(crate) received_bytes: u64,
    pub(crate) sent_bytes: u64,
    /// Packets dropped because the device had no space.
    pub(crate) dropped_packets: u64,
}

/// Return whether the body of a link message says that packets pass.
pub(super) fn is_operational(body: &[u8]) -> bool {
    let attributes_of_link = body.get(INTERFACE_MESSAGE_BYTES..).unwrap_or_default();
    attributes(attributes_of_link).any(|found| found == (IFLA_OPERSTATE, &[OPERATIONALLY_UP]))
}

impl LinkCounters {
    /// Return the traffic since an earlier reading.
    pub(crate) fn since(&self, earlier: &Self) -> Self {
        Self {
            received_packets: self.received_packets - earlier.received_packets,
            sent_packets: self.sent_packets - earlier.sent_packets,
            received_bytes: self.received_bytes - earlier.received_bytes,
            sent_bytes: self.sent_bytes - earlier.sent_bytes,
            dropped_packets: self.dropped_packets - earlier.dropped_packets,
        }
    }

    /// Parse `struct rtnl_link_stats64` in the body of a link message.
    pub(super) fn parse(body: &[u8]) -> Option<Self> {
        let (_, statistics) = attributes(body.get(INTERFACE_MESSAGE_BYTES..)?)
            .find(|(kind, _)| *kind == IFLA_STATS64)?;
        let mut numbers = statistics
            .chunks_exact(8)
            .filter_map(|chunk| chunk.first_chunk().copied().map(u64::from_ne_bytes));
        Some(Self {
            received_packets: numbers.next()?,
            sent_packets: numbers.next()?,
            received_bytes: numbers.next()?,
            sent_bytes: numbers.next()?,
            // Errors of both kinds and dropped incoming packets precede it.
            dropped_packets: numbers.nth(3)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addresses::{CLOSED_V4, DEFAULT_V6, WEB_V6};

    fn body(message: &mut Message) -> Vec<u8> {
        message.seal(1)[16..].to_vec()
    }

    #[test]
    fn a_local_route_names_the_loopback_device() {
        let bytes = body(&mut add_route(Table::Local, WEB_V6, Hop::Local));
        assert_eq!(bytes[..8], [10, 32, 0, 0, 255, 4, 254, 2]);
        let found: Vec<_> = attributes(&bytes[12..]).collect();
        assert_eq!(found[0].1.len(), 16);
        assert_eq!(found[1], (libc::RTA_OIF, &1_i32.to_ne_bytes()[..]));
    }

    #[test]
    fn a_route_through_a_gateway_names_both() {
        let hop = Hop::Via([198, 18, 0, 6].into(), Device(3));
        let bytes = body(&mut add_route(Table::Local, CLOSED_V4, hop));
        assert_eq!(bytes[..8], [2, 16, 0, 0, 255, 4, 0, 1]);
        let found: Vec<_> = attributes(&bytes[12..]).collect();
        assert_eq!(found[0], (libc::RTA_DST, &[10, 67, 0, 0][..]));
        assert_eq!(found[1], (libc::RTA_GATEWAY, &[198, 18, 0, 6][..]));
        assert_eq!(found[2], (libc::RTA_OIF, &3_i32.to_ne_bytes()[..]));
    }

    #[test]
    fn a_default_route_has_no_destination() {
        let bytes = body(&mut add_route(Table::Main, DEFAULT_V6, Hop::Blackhole));
        assert_eq!(bytes[..8], [10, 0, 0, 0, 254, 4, 0, 6]);
        assert_eq!(attributes(&bytes[12..]).count(), 0);
    }

    #[test]
    fn a_bound_on_super_packets_is_optional() {
        let sending = |longest_bytes| Sending {
            mtu: 1400,
            longest_bytes,
            queue_packets: 7,
        };
        let bytes = body(&mut set_sending(Device(2), sending(Some(12_500))));
        let found: Vec<_> = attributes(&bytes[INTERFACE_MESSAGE_BYTES..]).collect();
        assert_eq!(found[0], (libc::IFLA_MTU, &1400_u32.to_ne_bytes()[..]));
        assert_eq!(found[2], (IFLA_GSO_MAX_SIZE, &12_500_u32.to_ne_bytes()[..]));
        let bytes = body(&mut set_sending(Device(2), sending(None)));
        assert_eq!(attributes(&bytes[INTERFACE_MESSAGE_BYTES..]).count(), 2);
    }

    #[test]
    fn a_link_is_operational_when_the_kernel_says_so() {
        for (state, expected) in [(OPERATIONALLY_UP, true), (2, false)] {
            let mut message = get_link(Device(2));
            message.attribute(IFLA_OPERSTATE, &[state]);
            assert_eq!(is_operational(&body(&mut message)), expected);
        }
        assert!(!is_operational(&[0; 8]));
    }

    #[test]
    fn counters_have_the_kernels_order() {
        let mut message = get_link(Device(2));
        let numbers: Vec<u8> = [1_u64, 2, 3, 4, 5, 6, 7, 8, 9]
            .iter()
            .flat_map(|n| n.to_ne_bytes())
            .collect();
        message.attribute(IFLA_STATS64, &numbers);
        let counters = LinkCounters::parse(&body(&mut message)).unwrap();
        assert_eq!((counters.received_packets, counters.sent_packets), (1, 2));
        assert_eq!((counters.received_bytes, counters.sent_bytes), (3, 4));
        assert_eq!(counters.dropped_packets, 8);
        assert_eq!(LinkCounters::parse(&[0; 8]), None);
    }
}
