//! Packets per second through a direction, on one CPU: offered and taken out, with a bandwidth-delay product in flight.

use std::hint::black_box;
use std::time::Instant;

use dyno_link::{Burst, Direction, Link, Nanos, Offered, Way};

fn main() {
    for spec in [
        "rtt=40ms,rate=1gbit",
        "rtt=40ms,rate=1gbit,loss=1%",
        "rtt=558ms,rate=10gbit",
    ] {
        let link: Link = spec.parse().expect("a link");
        let mut direction = Direction::new(&link.down, 1, Way::Down);
        let rate = link.down.rate().expect("a rate").bits_per_second();
        let step = 1_500 * 8 * 1_000_000_000 / rate + 1;
        let packets = 20_000_000_u64;
        let started = Instant::now();
        let mut delivered = 0_u64;
        for number in 0..packets {
            let now = Nanos(number * step);
            if let Offered::Lost(packet) = direction.offer(now, number, Burst::one(1_500)) {
                black_box(packet);
            }
            while let Some(packet) = direction.due(now) {
                black_box(packet);
                delivered += 1;
            }
        }
        let elapsed = started.elapsed();
        let nanos = elapsed.as_nanos() / u128::from(packets);
        println!("{spec}: {nanos} ns a packet, {delivered} delivered");
    }
}
