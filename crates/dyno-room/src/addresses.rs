//! Addresses of the room: its link, and the web's prefixes in its routes.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// A range of addresses with a common prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prefix {
    /// First address of the range.
    pub address: IpAddr,
    /// Length of the common prefix.
    pub bits: u8,
}

impl Prefix {
    const fn v4(a: u8, b: u8, c: u8, d: u8, bits: u8) -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::new(a, b, c, d)),
            bits,
        }
    }

    const fn v6(head: [u16; 3], tail: u16, bits: u8) -> Self {
        Self {
            address: IpAddr::V6(Ipv6Addr::new(head[0], head[1], head[2], 0, 0, 0, 0, tail)),
            bits,
        }
    }
}

/// All IPv4 addresses of the web; the peer's namespace answers at each.
pub const WEB_V4: Prefix = Prefix::v4(10, 0, 0, 0, 8);
/// All IPv6 addresses of the web.
pub const WEB_V6: Prefix = Prefix::v6([0x2001, 0xdb8, 0], 0, 32);
/// Silent hosts of the web, IPv4.
pub const SILENT_V4: Prefix = Prefix::v4(10, 66, 0, 0, 16);
/// Silent hosts of the web, IPv6.
pub const SILENT_V6: Prefix = Prefix::v6([0x2001, 0xdb8, 0x66], 0, 48);
/// Hosts of the web that refuse every connection, IPv4.
pub const CLOSED_V4: Prefix = Prefix::v4(10, 67, 0, 0, 16);
/// Hosts of the web that refuse every connection, IPv6.
pub const CLOSED_V6: Prefix = Prefix::v6([0x2001, 0xdb8, 0x67], 0, 48);

// The link uses the ranges reserved for benchmarking (RFC 2544, RFC 5180). They are global addresses, so that a resolver that
// sorts by RFC 6724 prefers IPv6, as on any machine with both.

/// The peer's end of the link: the subject's gateway and name server.
pub const PEER_V4: Prefix = Prefix::v4(198, 18, 0, 1, 30);
/// The peer's end of the link, IPv6.
pub const PEER_V6: Prefix = Prefix::v6([0x2001, 2, 0], 1, 64);
/// The subject's end of the link.
pub const SUBJECT_V4: Prefix = Prefix::v4(198, 18, 0, 2, 30);
/// The subject's end of the link, IPv6.
pub const SUBJECT_V6: Prefix = Prefix::v6([0x2001, 2, 0], 2, 64);

/// The peer's end of the link to the hosts that refuse.
pub(crate) const CLOSED_GATEWAY_V4: Prefix = Prefix::v4(198, 18, 0, 5, 30);
/// The peer's end of the link to the hosts that refuse, IPv6.
pub(crate) const CLOSED_GATEWAY_V6: Prefix = Prefix::v6([0x2001, 2, 1], 1, 64);
/// The other end of that link.
pub(crate) const CLOSED_HOST_V4: Prefix = Prefix::v4(198, 18, 0, 6, 30);
/// The other end of that link, IPv6.
pub(crate) const CLOSED_HOST_V6: Prefix = Prefix::v6([0x2001, 2, 1], 2, 64);
/// Default route, IPv4.
pub(crate) const DEFAULT_V4: Prefix = Prefix::v4(0, 0, 0, 0, 0);
/// Default route, IPv6.
pub(crate) const DEFAULT_V6: Prefix = Prefix::v6([0, 0, 0], 0, 0);
