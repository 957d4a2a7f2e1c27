//! Size and segments of a packet on the wire, from the virtio header of a TUN device.

use dyno_link::Burst;

/// `struct virtio_net_hdr`: flags, kind of segmentation, length of the headers, of a segment, start and place of the checksum.
pub(crate) const HEADER_BYTES: usize = 10;

pub(crate) const KIND: usize = 1;
pub(crate) const SEGMENT_BYTES: usize = 4;
pub(crate) const CHECKSUM_START: usize = 6;
/// Combined with the kind of TCP segments that carry congestion marks.
const CONGESTION_MARKS: u8 = 0x80;
const TCP_4: u8 = 1;
const TCP_6: u8 = 4;
const UDP: u8 = 5;
const UDP_HEADER_BYTES: usize = 8;
/// Minimum lengths of headers: a packet that claims a shorter header is forged.
const TCP_HEADER_BYTES: usize = 20;
const IP_4_HEADER_BYTES: usize = 20;
const IP_6_HEADER_BYTES: usize = 40;
/// Offset of the TCP header length: in words of four bytes, in the upper half of a byte.
const TCP_HEADER_LENGTH: usize = 12;

/// A packet as the link counts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OnWire {
    /// All IP packets in it, with headers.
    pub(crate) burst: Burst,
}

/// Return whether a packet is multicast. Neither end is a member of a multicast group, but the kernel sends membership
/// reports at arbitrary times. If the link carried them, they would shift the numbers of all later packets, and thereby
/// which of those are lost.
pub(crate) fn is_for_a_group(buffer: &[u8]) -> bool {
    const DESTINATION_4: usize = 16;
    const DESTINATION_6: usize = 24;
    let packet = buffer.get(HEADER_BYTES..).unwrap_or_default();
    let at = |place: usize| packet.get(place).copied().unwrap_or(0);
    match at(0) >> 4 {
        4 => (224..=239).contains(&at(DESTINATION_4)),
        6 => at(DESTINATION_6) == 0xff,
        _ => false,
    }
}

impl OnWire {
    /// Parse a packet with its virtio header; an unknown format counts as one packet.
    pub(crate) fn of(buffer: &[u8]) -> Self {
        let length = buffer.len().saturating_sub(HEADER_BYTES);
        let (segments, headers) =
            SuperPacket::of(buffer).map_or((1, 0), |of| (of.segments(), of.headers));
        let bytes = length + (segments - 1) * headers;
        Self {
            burst: Burst {
                packets: u32::try_from(segments).unwrap_or(u32::MAX),
                bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            },
        }
    }

    /// Return whether it has several segments.
    pub(crate) const fn is_super_packet(self) -> bool {
        self.burst.packets > 1
    }
}

/// Layout of a packet that the sender left unsegmented; positions count from the start of the IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SuperPacket {
    pub(crate) is_tcp: bool,
    /// Start of the TCP or UDP header.
    pub(crate) transport: usize,
    /// Length of the headers that each segment repeats.
    pub(crate) headers: usize,
    /// Payload of each segment except the last.
    pub(crate) each: usize,
    pub(crate) content: usize,
}

impl SuperPacket {
    /// Parse a packet with its virtio header; none if it needs no segmentation or has an unknown format.
    pub(crate) fn of(buffer: &[u8]) -> Option<Self> {
        let packet = buffer.get(HEADER_BYTES..)?;
        let transport = usize::from(number(buffer, CHECKSUM_START)?);
        let internet = match packet.first()? >> 4 {
            4 => IP_4_HEADER_BYTES,
            6 => IP_6_HEADER_BYTES,
            _ => return None,
        };
        if transport < internet {
            return None;
        }
        let is_tcp = matches!(buffer.get(KIND)? & !CONGESTION_MARKS, TCP_4 | TCP_6);
        let headers = if is_tcp {
            let words = packet.get(transport + TCP_HEADER_LENGTH)? >> 4;
            transport + (usize::from(words) * 4).max(TCP_HEADER_BYTES)
        } else if buffer[KIND] == UDP {
            transport + UDP_HEADER_BYTES
        } else {
            return None;
        };
        let content = packet.len().checked_sub(headers)?;
        let each = usize::from(number(buffer, SEGMENT_BYTES)?);
        (each > 0).then_some(Self {
            is_tcp,
            transport,
            headers,
            each,
            content,
        })
    }

    /// Return the number of segments.
    pub(crate) fn segments(&self) -> usize {
        self.content.div_ceil(self.each).max(1)
    }
}

fn number(buffer: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(*buffer.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Make a packet of `payload` bytes with an IPv4 header and this transport header.
    fn packet(kind: u8, transport: &[u8], segment: u16, payload: usize) -> Vec<u8> {
        let mut buffer = vec![0; HEADER_BYTES + 20];
        buffer[HEADER_BYTES] = 0x45;
        buffer[KIND] = kind;
        buffer[SEGMENT_BYTES..][..2].copy_from_slice(&segment.to_ne_bytes());
        buffer[CHECKSUM_START..][..2].copy_from_slice(&20_u16.to_ne_bytes());
        buffer.extend_from_slice(transport);
        buffer.resize(buffer.len() + payload, 7);
        buffer
    }

    /// Return a TCP header with timestamps: 32 bytes.
    fn tcp() -> [u8; 32] {
        let mut header = [0; 32];
        header[TCP_HEADER_LENGTH] = 8 << 4;
        header
    }

    #[test]
    fn a_super_packet_has_the_headers_of_all_its_segments() {
        for (kind, payload, segments) in [
            (TCP_4, 1448, 1),
            (TCP_4, 1449, 2),
            (TCP_6, 10 * 1448, 10),
            (TCP_4 | CONGESTION_MARKS, 43 * 1448 + 1, 44),
        ] {
            let found = OnWire::of(&packet(kind, &tcp(), 1448, payload));
            let bytes = u32::try_from(payload + segments * 52).unwrap();
            assert_eq!(found.burst.bytes, bytes, "{kind} {payload}");
            assert_eq!(found.burst.packets as usize, segments, "{kind} {payload}");
        }
        let datagrams = OnWire::of(&packet(UDP, &[0; 8], 1000, 2500));
        assert_eq!(
            datagrams.burst,
            Burst {
                packets: 3,
                bytes: 2584
            }
        );
    }

    #[test]
    fn an_unsegmented_packet_counts_once() {
        for buffer in [
            packet(0, &tcp(), 0, 500),
            packet(TCP_4, &tcp(), 0, 500),
            packet(3, &[0; 8], 1000, 524),
        ] {
            let found = OnWire::of(&buffer);
            assert_eq!(found.burst.bytes as usize, buffer.len() - HEADER_BYTES);
            assert!(!found.is_super_packet());
        }
    }

    #[test]
    fn a_forged_packet_with_short_headers_is_not_cut() {
        let good = packet(TCP_4, &tcp(), 1448, 4000);
        let transport = |buffer: &mut [u8], place: u16| {
            buffer[CHECKSUM_START..][..2].copy_from_slice(&place.to_ne_bytes());
        };
        let mut early = good.clone();
        transport(&mut early, 8);
        let mut neither = good.clone();
        neither[HEADER_BYTES] = 0x55;
        let mut six = good.clone();
        six[HEADER_BYTES] = 0x60;
        transport(&mut six, 39);
        for buffer in [early, neither, six] {
            assert_eq!(SuperPacket::of(&buffer), None);
        }
        let mut short = good;
        short[HEADER_BYTES + 20 + TCP_HEADER_LENGTH] = 0;
        assert_eq!(SuperPacket::of(&short).map(|of| of.headers), Some(40));
    }

    #[test]
    fn multicast_packets_are_detected() {
        for (version, place, first, expected) in [
            (4_u8, 16, 10_u8, false),
            (4, 16, 224, true),
            (4, 16, 239, true),
            (4, 16, 240, false),
            (6, 24, 0x20, false),
            (6, 24, 0xff, true),
        ] {
            let mut buffer = vec![0; HEADER_BYTES + 40];
            buffer[HEADER_BYTES] = version << 4;
            buffer[HEADER_BYTES + place] = first;
            assert_eq!(is_for_a_group(&buffer), expected, "{version} {first}");
        }
        assert!(!is_for_a_group(&[]));
    }

    #[test]
    fn truncated_packets_are_handled() {
        let whole = packet(TCP_4, &tcp(), 1448, 4000);
        for length in 0..=HEADER_BYTES + 60 {
            assert!(OnWire::of(&whole[..length]).burst.bytes < 4000, "{length}");
        }
    }
}
