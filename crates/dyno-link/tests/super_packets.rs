//! Maximum length of a super-packet, so that no first byte arrives much later than it would alone.

use dyno_link::{Link, SuperPacket, Way};

#[test]
fn a_super_packet_takes_at_most_a_tenth_of_a_millisecond() {
    use SuperPacket::{Bounded, Free, OffForRate};

    let cases = [
        ("direct", Free(65_536)),
        ("rtt=40ms", Free(65_536)),
        ("rate=10gbit", Free(65_536)),
        ("rate=5gbit", Bounded(62_500)),
        ("rate=1gbit", Bounded(12_500)),
        ("rate=240mbit", Bounded(3_000)),
        ("rate=239mbit", OffForRate),
        ("rate=1gbit,mtu=9000", OffForRate),
        ("rate=20mbit", OffForRate),
        ("rate=10gbit,loss=0.0000001%", Free(65_536)),
        // Both ends have one setting: that of the direction with the smaller limit.
        ("down.rate=1gbit", Bounded(12_500)),
        ("up.rate=1gbit,down.rate=10gbit", Bounded(12_500)),
        ("up.rate=1gbit,down.loss=1%", Bounded(12_500)),
    ];
    for (spec, expected) in cases {
        let link: Link = spec.parse().unwrap_or_else(|error| panic!("{error}"));
        let found = link.super_packet();
        assert_eq!(found, expected, "{spec}");
        assert!(!found.why().is_empty());
        for way in [Way::Up, Way::Down] {
            let path = link.path(way);
            let (Some(longest), Some(rate)) = (found.longest_bytes(), path.rate()) else {
                continue;
            };
            let nanos = u64::from(longest) * 8 * 1_000_000_000 / rate.bits_per_second();
            assert!(nanos <= 100_000, "{spec}: {nanos} ns");
        }
    }
}
