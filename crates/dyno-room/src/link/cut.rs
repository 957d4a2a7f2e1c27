//! Cuts segments out of a super-packet, so that the loss of one segment does not lose the others.

use super::virtio::{HEADER_BYTES, KIND, SEGMENT_BYTES, SuperPacket};

/// Offsets in an IPv4 header.
mod ipv4 {
    pub(super) const LENGTH: usize = 2;
    pub(super) const IDENTIFICATION: usize = 4;
    pub(super) const CHECKSUM: usize = 10;
    pub(super) const ADDRESSES: std::ops::Range<usize> = 12..20;
}

/// Offsets in an IPv6 header.
mod ipv6 {
    pub(super) const CONTENT_LENGTH: usize = 4;
    pub(super) const ADDRESSES: std::ops::Range<usize> = 8..40;
    pub(super) const HEADER_BYTES: usize = 40;
}

/// Offsets in a TCP header.
mod tcp {
    pub(super) const SEQUENCE: usize = 4;
    pub(super) const FLAGS: usize = 13;
    pub(super) const CHECKSUM: usize = 16;
    /// Flags that only the last segment carries.
    pub(super) const FINISH_OR_PUSH: u8 = 0x09;
    /// Flag that only the first segment carries.
    pub(super) const WINDOW_REDUCED: u8 = 0x80;
    pub(super) const PROTOCOL: u32 = 6;
}

/// Offsets in a UDP header.
mod udp {
    pub(super) const LENGTH: usize = 4;
    pub(super) const CHECKSUM: usize = 6;
    pub(super) const PROTOCOL: u32 = 17;
}

/// Write `segments` segments of the super-packet `buffer` (which begins with its virtio header), starting with segment
/// `first`, as a separate packet. A single segment becomes an ordinary packet. Return the number of bytes written.
///
/// Does the same as a segmenting device, as far as the receiving kernel checks it: lengths, sequence numbers, flags,
/// and the sum over the pseudo-header. The rest of the checksum stays open. RFC 9293 (3.1), RFC 791, RFC 8200 (8.1),
/// RFC 1071.
pub(super) fn cut(
    buffer: &[u8],
    whole: SuperPacket,
    first: usize,
    segments: usize,
    into: &mut [u8],
) -> usize {
    let from = (first * whole.each).min(whole.content);
    let to = ((first + segments) * whole.each).min(whole.content);
    let headers = HEADER_BYTES + whole.headers;
    let length = headers + (to - from);
    into[..headers].copy_from_slice(&buffer[..headers]);
    into[headers..length].copy_from_slice(&buffer[headers + from..headers + to]);
    if segments == 1 {
        into[KIND] = 0;
        into[SEGMENT_BYTES..][..2].fill(0);
    }
    let packet = &mut into[HEADER_BYTES..length];
    let pseudo = internet_header(packet, whole, first);
    let place = Place {
        passed: from,
        is_first: first == 0,
        is_last: to == whole.content,
    };
    transport_header(packet, whole, &place, pseudo);
    length
}

/// Position of a piece in its super-packet.
struct Place {
    /// Bytes of payload before it.
    passed: usize,
    is_first: bool,
    is_last: bool,
}

/// Write the fields of the IP header that differ; return the sum of the addresses.
fn internet_header(packet: &mut [u8], whole: SuperPacket, first: usize) -> u32 {
    let length = packet.len();
    if packet[0] >> 4 == 4 {
        put(packet, ipv4::LENGTH, length);
        let number = get(packet, ipv4::IDENTIFICATION) + first;
        put(packet, ipv4::IDENTIFICATION, number);
        put(packet, ipv4::CHECKSUM, 0);
        let header = usize::from(packet[0] & 0x0f) * 4;
        let checksum = !folded(sum(&packet[..header.min(whole.transport)]));
        packet[ipv4::CHECKSUM..][..2].copy_from_slice(&checksum.to_be_bytes());
        sum(&packet[ipv4::ADDRESSES])
    } else {
        put(packet, ipv6::CONTENT_LENGTH, length - ipv6::HEADER_BYTES);
        sum(&packet[ipv6::ADDRESSES])
    }
}

/// Write the fields of the TCP or UDP header that differ.
fn transport_header(packet: &mut [u8], whole: SuperPacket, place: &Place, addresses: u32) {
    let segment = &mut packet[whole.transport..];
    let length = segment.len();
    let (protocol, checksum) = if whole.is_tcp {
        let passed = u32::try_from(place.passed).unwrap_or(0);
        if let Some(sequence) = segment[tcp::SEQUENCE..].first_chunk_mut() {
            *sequence = u32::from_be_bytes(*sequence)
                .wrapping_add(passed)
                .to_be_bytes();
        }
        if !place.is_last {
            segment[tcp::FLAGS] &= !tcp::FINISH_OR_PUSH;
        }
        if !place.is_first {
            segment[tcp::FLAGS] &= !tcp::WINDOW_REDUCED;
        }
        (tcp::PROTOCOL, tcp::CHECKSUM)
    } else {
        put(segment, udp::LENGTH, length);
        (udp::PROTOCOL, udp::CHECKSUM)
    };
    let pseudo = folded(addresses + protocol + u32::try_from(length).unwrap_or(0));
    segment[checksum..][..2].copy_from_slice(&pseudo.to_be_bytes());
}

fn get(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]))
}

/// Write the lower 16 bits of a number.
fn put(bytes: &mut [u8], at: usize, number: usize) {
    let [.., high, low] = number.to_be_bytes();
    bytes[at] = high;
    bytes[at + 1] = low;
}

/// Return the sum of 16-bit words; the number of bytes is even.
fn sum(bytes: &[u8]) -> u32 {
    bytes
        .chunks_exact(2)
        .map(|word| u32::from(u16::from_be_bytes([word[0], word[1]])))
        .sum()
}

/// Fold a sum to 16 bits in ones' complement arithmetic.
fn folded(sum: u32) -> u16 {
    let once = (sum >> 16) + (sum & 0xffff);
    let twice = (once >> 16) + (once & 0xffff);
    u16::try_from(twice & 0xffff).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::virtio::{CHECKSUM_START, OnWire};
    use super::*;

    #[derive(Debug, Clone, Copy)]
    struct Kind {
        version: u8,
        is_tcp: bool,
    }

    impl Kind {
        fn internet(self) -> usize {
            if self.version == 4 { 20 } else { 40 }
        }

        fn headers(self) -> usize {
            self.internet() + if self.is_tcp { 32 } else { 8 }
        }
    }

    /// Make a super-packet with all flags set, as the kernel sends it.
    fn super_packet(kind: Kind, each: u16, content: &[u8]) -> Vec<u8> {
        let mut buffer = vec![0; HEADER_BYTES + kind.headers()];
        buffer[0] = 1;
        buffer[KIND] = match kind {
            Kind { is_tcp: false, .. } => 5,
            Kind { version: 4, .. } => 1,
            Kind { .. } => 4,
        };
        buffer[SEGMENT_BYTES..][..2].copy_from_slice(&each.to_ne_bytes());
        let transport = u16::try_from(kind.internet()).unwrap();
        buffer[CHECKSUM_START..][..2].copy_from_slice(&transport.to_ne_bytes());
        buffer.extend_from_slice(content);
        let packet = &mut buffer[HEADER_BYTES..];
        packet[0] = if kind.version == 4 { 0x45 } else { 0x60 };
        for (place, byte) in packet[8..kind.internet()].iter_mut().enumerate() {
            *byte = u8::try_from(place * 37 % 251).unwrap();
        }
        if kind.version == 4 {
            put(packet, ipv4::IDENTIFICATION, 0xfffe);
        }
        let segment = &mut packet[kind.internet()..];
        if kind.is_tcp {
            segment[tcp::SEQUENCE..][..4].copy_from_slice(&0xffff_ff00_u32.to_be_bytes());
            segment[12] = 8 << 4;
            segment[tcp::FLAGS] = 0x99;
        }
        buffer
    }

    /// Check a piece and return its sequence number, flags and payload.
    fn read(kind: Kind, piece: &[u8]) -> (u32, u8, Vec<u8>) {
        let packet = &piece[HEADER_BYTES..];
        let (addresses, segment) = if kind.version == 4 {
            assert_eq!(get(packet, ipv4::LENGTH), packet.len());
            assert_eq!(
                folded(sum(&packet[..20])),
                0xffff,
                "the checksum of the header"
            );
            (&packet[12..20], &packet[20..])
        } else {
            assert_eq!(get(packet, ipv6::CONTENT_LENGTH), packet.len() - 40);
            (&packet[8..40], &packet[40..])
        };
        let (protocol, checksum) = if kind.is_tcp { (6, 16) } else { (17, 6) };
        let mut pseudo = addresses.to_vec();
        pseudo.extend_from_slice(&[0, protocol]);
        pseudo.extend_from_slice(&u16::try_from(segment.len()).unwrap().to_be_bytes());
        assert_eq!(get(segment, checksum), usize::from(folded(sum(&pseudo))));
        if kind.is_tcp {
            let sequence = u32::from_be_bytes(*segment[4..].first_chunk().unwrap());
            (sequence, segment[tcp::FLAGS], segment[32..].to_vec())
        } else {
            assert_eq!(get(segment, udp::LENGTH), segment.len());
            (0, 0, segment[8..].to_vec())
        }
    }

    proptest! {
        #[test]
        fn pieces_are_the_whole(
            version in prop_oneof![Just(4_u8), Just(6)],
            is_tcp: bool,
            each in 1_u16..1_500,
            segments in 2..45_usize,
            last in 1_usize..1_500,
            pieces in prop::collection::vec(1..45_usize, 1..10),
        ) {
            let kind = Kind { version, is_tcp };
            let length = (segments - 1) * usize::from(each) + last.min(usize::from(each));
            let content: Vec<u8> = (0..length).map(|place| u8::try_from(place % 253).unwrap()).collect();
            let buffer = super_packet(kind, each, &content);
            let whole = SuperPacket::of(&buffer).expect("a super-packet");
            prop_assert_eq!(whole.segments(), segments);
            let (mut first, mut found) = (0, Vec::new());
            for piece in pieces.into_iter().cycle() {
                let count = piece.min(segments - first);
                let mut room = vec![0xaa; buffer.len()];
                let written = cut(&buffer, whole, first, count, &mut room);
                let piece = &room[..written];
                prop_assert_eq!(OnWire::of(piece).burst.packets as usize, count);
                let (sequence, flags, bytes) = read(kind, piece);
                if version == 4 {
                    prop_assert_eq!(get(&piece[HEADER_BYTES..], ipv4::IDENTIFICATION), (0xfffe + first) & 0xffff);
                }
                first += count;
                if is_tcp {
                    prop_assert_eq!(sequence, 0xffff_ff00_u32.wrapping_add(u32::try_from(found.len()).unwrap()));
                    let expected = 0x10 | if found.is_empty() { 0x80 } else { 0 } | if first == segments { 0x09 } else { 0 };
                    prop_assert_eq!(flags, expected);
                }
                found.extend(bytes);
                if first == segments {
                    break;
                }
            }
            prop_assert_eq!(found, content);
        }
    }
}
