//! Packets through a direction, compared with computations from their numbers alone.

use dyno_link::{
    Bottleneck, Burst, Counts, Direction, Gone, Link, Loss, Nanos, Offered, Passing, Rate, Share,
    Stage, Way,
};
use proptest::prelude::*;

/// Times, and lengths in bytes.
fn traffic() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((0..200_000_u64, 40..70_000_u32), 1..200).prop_map(|steps| {
        let mut now = 0;
        steps
            .into_iter()
            .map(|(step, bytes)| {
                now += step;
                (now, bytes)
            })
            .collect()
    })
}

fn link() -> impl Strategy<Value = Link> {
    (0..50_u64, 0..5_000_u64, 0..20_u64, 0..90_u64).prop_map(|(delay, rate, queue, loss)| {
        let rate = match rate {
            0 => String::new(),
            rate => format!(",rate={rate}mbit,queue={queue}ms"),
        };
        format!("delay={delay}us{rate},loss={loss}%")
            .parse()
            .expect("a link")
    })
}

fn drain(direction: &mut Direction<u64>, now: u64) -> Vec<(u64, u64)> {
    std::iter::from_fn(|| direction.due(Nanos(now)))
        .map(|(due, packet)| (due.0, packet))
        .collect()
}

proptest! {
    #[test]
    fn every_packet_is_delivered_lost_or_dropped(link in link(), traffic in traffic(), seed: u64) {
        let mut direction = Direction::new(&link.down, seed, Way::Down);
        let (mut out, mut lost, mut dropped) = (Vec::new(), 0, 0);
        for (number, &(now, bytes)) in (0..).zip(&traffic) {
            match direction.offer(Nanos(now), number, Burst::one(bytes)) {
                Offered::Accepted => {}
                Offered::Lost(packet) => { prop_assert_eq!(packet, number); lost += 1; }
                Offered::Dropped(packet) => { prop_assert_eq!(packet, number); dropped += 1; }
            }
            prop_assert_eq!(direction.next_due().is_some(), direction.in_flight() > 0);
            out.extend(drain(&mut direction, now));
        }
        while let Some(due) = direction.next_due() {
            out.extend(drain(&mut direction, due.0));
        }
        // In order, never before their time, each once.
        prop_assert!(out.is_sorted());
        prop_assert!(out.windows(2).all(|pair| pair[0].1 < pair[1].1));
        for &(due, packet) in &out {
            let offered = traffic[usize::try_from(packet).expect("an index")].0;
            prop_assert!(due >= offered + link.down.delay.0);
        }
        let Counts { packets, delivered, .. } = direction.counts();
        prop_assert_eq!(packets, traffic.len() as u64);
        prop_assert_eq!(delivered, out.len() as u64);
        prop_assert_eq!((direction.counts().lost, direction.counts().dropped), (lost, dropped));
        prop_assert_eq!(packets, delivered + lost + dropped);
        prop_assert_eq!(direction.in_flight(), 0);
    }

    /// The transmitter in exact fractions: a packet leaves at the later of its arrival and the end of its predecessor, plus its bits
    /// divided by the rate.
    #[test]
    fn a_rate_is_exact_over_any_sequence(traffic in traffic(), rate in 1_000..10_000_000_000_u64, queue in 0..100_000_000_u64) {
        let mut bottleneck = Bottleneck::new(Rate::new(rate).expect("not zero"), Nanos(queue));
        let rate = u128::from(rate);
        let mut free = 0_u128; // in nanoseconds times the rate
        for (number, &(now, bytes)) in (0..).zip(&traffic) {
            let at = u128::from(now) * rate;
            let start = free.max(at);
            let passed = bottleneck.pass(Passing { number, burst: Burst::one(bytes), at: Nanos(now) });
            if (start - at) / rate > u128::from(queue) {
                prop_assert_eq!(passed, Err(Gone::Dropped));
            } else {
                free = start + u128::from(bytes) * 8 * 1_000_000_000;
                prop_assert_eq!(passed.map(|leaves| u128::from(leaves.0)), Ok(free.div_ceil(rate)));
            }
            prop_assert!(bottleneck.longest_wait().0 <= queue);
        }
    }

    /// Super-packets that are split at lost segments equal the packets that they contain: the same are lost, and the last of
    /// each piece leaves at the same time.
    #[test]
    fn split_super_packets_equal_their_segments(
        sizes in prop::collection::vec(1..45_u32, 1..60), loss in 0..60_u64, seed: u64,
    ) {
        let link: Link = format!("rate=300mbit,queue=60s,delay=1ms,loss={loss}%").parse().expect("a link");
        let mut alone = Direction::new(&link.up, seed, Way::Up);
        for number in 0..u64::from(sizes.iter().sum::<u32>()) {
            let _ = alone.offer(Nanos::ZERO, number, Burst::one(1_500));
        }
        let mut split = Direction::new(&link.up, seed, Way::Up);
        let mut offered = 0;
        for size in sizes {
            let mut left = size;
            while left > 0 {
                let packets = match split.first_lost(left) {
                    Some(0) => 1,
                    Some(place) => place,
                    None => left,
                };
                offered += u64::from(packets);
                let _ = split.offer(Nanos::ZERO, offered - 1, Burst { packets, bytes: 1_500 * packets });
                left -= packets;
            }
        }
        let moments: std::collections::BTreeMap<u64, u64> =
            drain(&mut alone, u64::MAX).into_iter().map(|(due, number)| (number, due)).collect();
        for (due, last) in drain(&mut split, u64::MAX) {
            prop_assert_eq!(moments.get(&last), Some(&due));
        }
        prop_assert_eq!(Counts { longest_wait: Nanos::ZERO, ..alone.counts() }, Counts { longest_wait: Nanos::ZERO, ..split.counts() });
    }

    #[test]
    fn the_same_seed_loses_the_same_packets_at_any_time(traffic in traffic(), seed: u64, shift in 0..1_000_000_u64) {
        let link: Link = "rtt=1ms,loss=30%".parse().expect("a link");
        let fates = |shift: u64| {
            let mut direction = Direction::new(&link.up, seed, Way::Up);
            let offers = traffic.iter().map(|&(now, bytes)| direction.offer(Nanos(now * 2 + shift), (), Burst::one(bytes)));
            offers.map(|offered| offered == Offered::Accepted).collect::<Vec<_>>()
        };
        prop_assert_eq!(fates(0), fates(shift));
    }
}

#[test]
fn a_thousand_seconds_of_an_odd_rate_do_not_drift() {
    // 1500 bytes at 999,999,937 bit/s take 12,000.000756... ns: rounding each packet would be 0.06 ms off after one second's 83,333 packets.
    let rate = 999_999_937;
    let mut bottleneck = Bottleneck::new(Rate::new(rate).expect("not zero"), Nanos(u64::MAX));
    let count = 1_000 * 83_333_u64;
    let mut last = Nanos::ZERO;
    for number in 0..count {
        let packet = Passing {
            number,
            burst: Burst::one(1_500),
            at: Nanos::ZERO,
        };
        last = bottleneck.pass(packet).expect("an endless queue");
    }
    let exact = (u128::from(count) * 12_000 * 1_000_000_000).div_ceil(u128::from(rate));
    assert_eq!(u128::from(last.0), exact);
}

#[test]
fn a_full_queue_drops_the_tail() {
    use Offered::{Accepted, Dropped};

    // 12 us per packet, 30 us of waiting: packets that would wait 0, 12 or 24 us are accepted, the others are dropped.
    let link: Link = "rate=1gbit,queue=30us".parse().expect("a link");
    let mut direction = Direction::new(&link.up, 1, Way::Up);
    let offered: Vec<_> = (0..5)
        .map(|number| direction.offer(Nanos(1_000), number, Burst::one(1_500)))
        .collect();
    assert_eq!(
        offered,
        [Accepted, Accepted, Accepted, Dropped(3), Dropped(4)]
    );
    assert_eq!(
        drain_all(&mut direction),
        [(13_000, 0), (25_000, 1), (37_000, 2)]
    );
    let counts = direction.counts();
    assert_eq!((counts.bytes, counts.dropped), (4_500, 2));
    assert_eq!(counts.longest_wait, Nanos(24_000));
}

fn drain_all(direction: &mut Direction<i32>) -> Vec<(u64, i32)> {
    std::iter::from_fn(|| direction.due(Nanos(u64::MAX)))
        .map(|(due, packet)| (due.0, packet))
        .collect()
}

#[test]
fn an_unsplit_burst_is_lost_as_a_whole_and_a_refused_one_is_dropped() {
    let link: Link = "loss=1%".parse().expect("a link");
    let mut direction = Direction::new(&link.up, 1, Way::Up);
    // With seed 1, packet 3 is the first lost one (see below).
    assert_eq!(direction.first_lost(3), None);
    assert_eq!(direction.first_lost(44), Some(3));
    let burst = Burst {
        packets: 4,
        bytes: 6_000,
    };
    assert_eq!(direction.offer(Nanos(1), 7, burst), Offered::Lost(7));
    assert_eq!(direction.offer(Nanos(1), 8, burst), Offered::Accepted);
    direction.refuse(5);
    assert_eq!(direction.due(Nanos(1)), Some((Nanos(1), 8)));
    let counts = direction.counts();
    assert_eq!(
        (
            counts.packets,
            counts.lost,
            counts.dropped,
            counts.delivered
        ),
        (13, 4, 5, 4)
    );
}

#[test]
fn a_lost_packet_has_used_the_rate() {
    let link: Link = "rate=1gbit,loss=50%".parse().expect("a link");
    let mut direction = Direction::new(&link.up, 1, Way::Up);
    for number in 0..1_000 {
        let _ = direction.offer(Nanos::ZERO, number, Burst::one(1_500));
    }
    let arrived = drain_all(&mut direction);
    assert!(
        arrived
            .iter()
            .all(|&(due, number)| due == u64::from(number.cast_unsigned() + 1) * 12_000)
    );
    assert_eq!(direction.counts().bytes, 1_500_000);
    assert_eq!(arrived.len() as u64 + direction.counts().lost, 1_000);
}

#[test]
fn a_direct_path_passes_everything_at_once() {
    let mut direction = Direction::new(&Link::default().up, 1, Way::Up);
    assert_eq!(
        direction.offer(Nanos(7), "packet", Burst::one(u32::MAX)),
        Offered::Accepted
    );
    assert_eq!(direction.next_due(), Some(Nanos(7)));
    assert_eq!(direction.due(Nanos(6)), None);
    assert_eq!(direction.due(Nanos(7)), Some((Nanos(7), "packet")));
}

#[test]
fn loss_is_binomial_over_many_seeds() {
    const PACKETS: u64 = 10_000;
    for (percent, share) in [(0.1, 1_000_000), (1.0, 10_000_000), (30.0, 300_000_000)] {
        let share = Share::from_billionths(share).expect("below the whole");
        let lost = |seed| {
            let loss = Loss::new(share, seed, Way::Up);
            (0..PACKETS).filter(|number| loss.loses(*number)).count()
        };
        let counts: Vec<f64> = (0..400)
            .map(|seed| f64::from(u32::try_from(lost(seed)).expect("few")))
            .collect();
        let (packets, chance) = (10_000.0, percent / 100.0);
        let (mean, variance) = (packets * chance, packets * chance * (1.0 - chance));
        let seeds = 400.0;
        let found = counts.iter().sum::<f64>() / seeds;
        let spread = counts
            .iter()
            .map(|count| (count - mean).powi(2))
            .sum::<f64>()
            / seeds;
        // The mean of 400 counts is within four of its standard deviations; their variance within 30 % (its own deviation is 7 %).
        assert!(
            (found - mean).abs() < 4.0 * (variance / seeds).sqrt(),
            "{percent} %: mean {found}"
        );
        assert!(
            (spread / variance - 1.0).abs() < 0.3,
            "{percent} %: variance {spread} of {variance}"
        );
    }
}

#[test]
fn losses_are_independent_of_the_previous_packet_the_seed_and_the_way() {
    let half = Share::from_billionths(Share::WHOLE / 2).expect("below the whole");
    let fates = |seed, way| {
        let loss = Loss::new(half, seed, way);
        (0..10_000)
            .map(|number| loss.loses(number))
            .collect::<Vec<_>>()
    };
    let reference = fates(1, Way::Up);
    let agreeing = |others: &[bool]| {
        let pairs = reference.iter().zip(others);
        pairs.filter(|(one, other)| one == other).count()
    };
    // 5,000 expected of 10,000, standard deviation 50: tolerance of four.
    for (name, others) in [
        ("the next packet", &reference[1..]),
        ("the next seed", &fates(2, Way::Up)),
        ("the other way", &fates(1, Way::Down)),
    ] {
        assert!(
            (4_800..=5_200).contains(&agreeing(others)),
            "{name}: {}",
            agreeing(others)
        );
    }
}

#[test]
fn losses_never_change_between_versions() {
    let lost = |seed, way| {
        let loss = Loss::new(Share::from_billionths(10_000_000).expect("1 %"), seed, way);
        (0..1_000)
            .filter(|number| loss.loses(*number))
            .collect::<Vec<u64>>()
    };
    assert_eq!(
        lost(1, Way::Up),
        [3, 38, 166, 453, 458, 517, 606, 774, 813, 940]
    );
    assert_eq!(lost(1, Way::Down), [363, 472, 694, 785, 858, 942, 967]);
    assert_eq!(
        lost(u64::MAX, Way::Up),
        [3, 44, 100, 311, 551, 556, 618, 771, 895, 988]
    );
}
