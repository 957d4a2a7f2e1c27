//! Addresses of hosts, with blocks of addresses for faults of the connection.
//!
//! Before the first byte, a server knows only the address of a connection, not the host. So each fault of the connection has a
//! block of addresses, in which all hosts with that fault lie.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::fault::Fault;

/// All IPv4 addresses of every web, with the prefix length.
pub const WEB_V4: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 0, 0, 0), 8);
/// All IPv6 addresses of every web, with the prefix length.
pub const WEB_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32);
/// Addresses where no packet is answered: the room drops what is sent here.
pub const SILENT_V4: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 66, 0, 0), 16);
/// Like [`SILENT_V4`].
pub const SILENT_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2001, 0xdb8, 0x66, 0, 0, 0, 0, 0), 48);
/// Addresses where every port is closed: the room answers each attempt with a reset.
pub const CLOSED_V4: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 67, 0, 0), 16);
/// Like [`CLOSED_V4`].
pub const CLOSED_V6: (Ipv6Addr, u8) = (Ipv6Addr::new(0x2001, 0xdb8, 0x67, 0, 0, 0, 0, 0), 48);

/// A block of addresses with one behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Block {
    /// An ordinary origin server listens.
    Served,
    /// Every connection has this fault.
    Faulty(Fault),
    /// The address of the scripted host with this number: no web draws one here.
    Scripted(u16),
}

/// The second byte of 10.x (and the third group of 2001:db8:x) of each fault's block.
const BLOCKS: [(u8, Fault); 4] = [
    (0x42, Fault::Blackhole),
    (0x43, Fault::Refused),
    (0x44, Fault::StallAfterAccept),
    (0x45, Fault::ResetAfterAccept),
];

/// Like [`BLOCKS`], for hosts that play scripts.
const SCRIPTED: u8 = 0x46;

/// The addresses with a number in the block of `fault`; without one, those of a scripted host.
#[must_use]
pub fn numbered_addresses(fault: Option<Fault>, number: u16) -> (Ipv4Addr, Ipv6Addr) {
    let block = block_byte(fault).unwrap_or(SCRIPTED);
    let [third, fourth] = number.to_be_bytes();
    let v4 = Ipv4Addr::new(WEB_V4.0.octets()[0], block, third, fourth);
    let v6 = Ipv6Addr::new(0x2001, 0xdb8, group(block), 0, 0, 0, 0, number);
    (v4, v6)
}

/// The block of an address; `None` outside the web.
pub(crate) fn block_of(address: IpAddr) -> Option<Block> {
    let (place, number) = match address {
        IpAddr::V4(address) => {
            let [first, second, third, fourth] = address.octets();
            let number = u16::from_be_bytes([third, fourth]);
            (first == WEB_V4.0.octets()[0]).then_some((second, number))
        }
        IpAddr::V6(address) => {
            let [first, second, third, .., last] = address.segments();
            let inside = [first, second] == [0x2001, 0xdb8];
            // The hexadecimal groups have the digits of the decimal IPv4 bytes: 2001:db8:66:: belongs to 10.66.0.0.
            inside.then(|| {
                let mut blocks = BLOCKS.iter().map(|(byte, _)| *byte).chain([SCRIPTED]);
                (blocks.find(|byte| third == group(*byte)).unwrap_or(0), last)
            })
        }
    }?;
    if place == SCRIPTED {
        return Some(Block::Scripted(number));
    }
    let faulty = BLOCKS.iter().find(|(byte, _)| *byte == place);
    Some(faulty.map_or(Block::Served, |(_, fault)| Block::Faulty(*fault)))
}

/// The IPv4 address for a random word, in the block of `fault`, without one in the served space.
pub(crate) fn v4(word: u64, fault: Option<Fault>) -> Ipv4Addr {
    let [third, fourth, choice, ..] = word.to_le_bytes();
    let second = block_byte(fault).unwrap_or_else(|| {
        // 10.0.0.0/16 stays free for the room, 10.64.0.0/12 for the blocks.
        let place = 1 + choice % (255 - 16);
        if place < 64 { place } else { place + 16 }
    });
    Ipv4Addr::new(WEB_V4.0.octets()[0], second, third, fourth.clamp(1, 254))
}

/// The IPv6 address for a random word, in the block of `fault`, without one in the served space.
pub(crate) fn v6(word: u64, fault: Option<Fault>) -> Ipv6Addr {
    let sixteen = |shift: u32| u16::try_from((word >> shift) & 0xffff).expect("16 bits");
    let third = block_byte(fault).map_or(0x1000 | (sixteen(48) & 0x0fff), group);
    Ipv6Addr::new(0x2001, 0xdb8, third, 0, 0, sixteen(32), sixteen(16), 1)
}

fn block_byte(fault: Option<Fault>) -> Option<u8> {
    BLOCKS
        .iter()
        .find(|(_, owner)| Some(*owner) == fault)
        .map(|(byte, _)| *byte)
}

/// The hexadecimal group with the digits of `byte` in decimal: 66 becomes 0x66.
const fn group(byte: u8) -> u16 {
    (byte / 10) as u16 * 16 + (byte % 10) as u16
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn blocks_are_where_the_room_expects_them() {
        assert_eq!(
            block_of("10.66.1.2".parse().unwrap()),
            Some(Block::Faulty(Fault::Blackhole))
        );
        assert_eq!(
            block_of("10.67.1.2".parse().unwrap()),
            Some(Block::Faulty(Fault::Refused))
        );
        assert_eq!(
            block_of("2001:db8:66::1".parse().unwrap()),
            Some(Block::Faulty(Fault::Blackhole))
        );
        assert_eq!(
            block_of("2001:db8:67::1".parse().unwrap()),
            Some(Block::Faulty(Fault::Refused))
        );
        assert_eq!(
            block_of("2001:db8:1000::1".parse().unwrap()),
            Some(Block::Served)
        );
        assert_eq!(block_of("10.1.2.3".parse().unwrap()), Some(Block::Served));
        assert_eq!(
            block_of("10.70.1.2".parse().unwrap()),
            Some(Block::Scripted(258))
        );
        assert_eq!(block_of("192.0.2.1".parse().unwrap()), None);
        assert_eq!(block_of("::1".parse().unwrap()), None);
    }

    proptest! {
        #[test]
        fn a_host_lies_in_the_block_of_its_fault(word: u64, place in 0..=BLOCKS.len()) {
            let fault = BLOCKS.get(place).map(|(_, fault)| *fault);
            let expected = Some(fault.map_or(Block::Served, Block::Faulty));
            prop_assert_eq!(block_of(v4(word, fault).into()), expected);
            prop_assert_eq!(block_of(v6(word, fault).into()), expected);
            prop_assert_ne!(v4(word, fault).octets()[1], 0);
        }

        #[test]
        fn a_number_is_known_from_both_of_its_addresses(number: u16, place in 0..=BLOCKS.len()) {
            let fault = BLOCKS.get(place).map(|(_, fault)| *fault);
            let expected = Some(fault.map_or(Block::Scripted(number), Block::Faulty));
            let (v4, v6) = numbered_addresses(fault, number);
            prop_assert_eq!(block_of(v4.into()), expected);
            prop_assert_eq!(block_of(v6.into()), expected);
        }
    }
}
