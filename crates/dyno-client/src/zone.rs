//! Distinguishes addresses on the public internet from all others.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Whether an address is on the public internet: not loopback, private, link-local, shared, unique-local, multicast or
/// reserved (the registries of RFC 6890). An IPv6 address that contains an IPv4 address is judged by that: mapped,
/// translated (NAT64, RFC 6052) or tunnelled (6to4, RFC 3056). The prefixes of a room's web, 10.0.0.0/8 and
/// `2001:db8::/32`, are not public.
#[must_use]
pub fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => carried(address).map_or_else(|| is_public_v6(address), is_public_v4),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    match address.octets() {
        // This network, private use, loopback; link-local and private use; protocol assignments and documentation;
        // benchmarking.
        [0 | 10 | 127, ..]
        | [169, 254, ..]
        | [192, 168, ..]
        | [192, 0, 0 | 2, _]
        | [198, 51, 100, _]
        | [203, 0, 113, _]
        | [198, 18 | 19, ..] => false,
        // Shared address space of providers.
        [100, second, ..] => !(64..128).contains(&second),
        [172, second, ..] => !(16..32).contains(&second),
        // Multicast, reserved, broadcast.
        [first, ..] => first < 224,
    }
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Unspecified, loopback, and other addresses with an embedded IPv4 address; discard-only, local-use
        // translation, documentation.
        [0, 0, 0, 0, 0, 0, ..]
        | [0x100, 0, 0, 0, ..]
        | [0x64, 0xff9b, 1, ..]
        | [0x2001, 0xdb8, ..] => false,
        // Unique-local, link-local, site-local, multicast.
        [first, ..] => {
            !matches!(first >> 8, 0xfc | 0xfd | 0xff) && !(0xfe80..0xff00).contains(&first)
        }
    }
}

/// The IPv4 address that an IPv6 address contains.
fn carried(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let (high, low) = match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, _] => return None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => (high, low),
        _ => return None,
    };
    Some(Ipv4Addr::from(u32::from(high) << 16 | u32::from(low)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_lead_inside_are_not_public() {
        let inside = [
            "0.0.0.0",
            "10.0.0.1",
            "10.255.255.255",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.255.0.1",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.170",
            "192.0.2.1",
            "192.168.0.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.1",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:10.0.0.1",
            "::ffff:169.254.169.254",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001:db8::1",
            "2002:a00:1::",
            "2002:7f00:1::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
        ];
        for text in inside {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        let outside = [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.255.255.255",
            "128.0.0.1",
            "169.253.255.255",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.167.255.255",
            "198.17.255.255",
            "198.20.0.0",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::1.1.1.1",
            "2002:101:101::1",
            "2001:4860:4860::8888",
            "2606:4700::1111",
        ];
        for text in outside {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
