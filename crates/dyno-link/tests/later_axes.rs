//! Jitter with reordering, and a rate from a trace, implemented as stages.

use dyno_link::{Burst, Delay, Direction, Gone, Nanos, Passing, Stage};

/// Every third packet is delayed.
#[derive(Debug)]
struct Jitter(Nanos);

impl Stage for Jitter {
    fn pass(&mut self, packet: Passing) -> Result<Nanos, Gone> {
        let late = packet.number.is_multiple_of(3);
        Ok(packet.at + if late { self.0 } else { Nanos::ZERO })
    }
}

/// Times at which one packet each may leave, as in recorded cellular traces.
#[derive(Debug)]
struct Trace(std::vec::IntoIter<u64>);

impl Stage for Trace {
    fn pass(&mut self, packet: Passing) -> Result<Nanos, Gone> {
        let chance = self.0.find(|chance| *chance >= packet.at.0);
        chance.map(Nanos).ok_or(Gone::Dropped)
    }
}

fn arrivals(direction: &mut Direction<u64>) -> Vec<(u64, u64)> {
    std::iter::from_fn(|| direction.due(Nanos(u64::MAX)))
        .map(|(due, packet)| (due.0, packet))
        .collect()
}

#[test]
fn a_packet_may_overtake_another() {
    let stages: Vec<Box<dyn Stage>> =
        vec![Box::new(Jitter(Nanos(250))), Box::new(Delay(Nanos(1_000)))];
    let mut direction = Direction::of_stages(stages);
    for number in 0..6 {
        let _ = direction.offer(Nanos(number * 100), number, Burst::one(1_500));
    }
    assert_eq!(direction.next_due(), Some(Nanos(1_100)));
    let expected = [
        (1_100, 1),
        (1_200, 2),
        (1_250, 0),
        (1_400, 4),
        (1_500, 5),
        (1_550, 3),
    ];
    assert_eq!(arrivals(&mut direction), expected);
}

#[test]
fn a_trace_determines_when_packets_leave() {
    let chances = vec![10, 20, 500, 510, 520];
    let stages: Vec<Box<dyn Stage>> = vec![
        Box::new(Trace(chances.into_iter())),
        Box::new(Delay(Nanos(1_000))),
    ];
    let mut direction = Direction::of_stages(stages);
    for number in 0..4 {
        let _ = direction.offer(Nanos(15 + number), number, Burst::one(1_500));
    }
    assert_eq!(
        arrivals(&mut direction),
        [(1_020, 0), (1_500, 1), (1_510, 2), (1_520, 3)]
    );
}
