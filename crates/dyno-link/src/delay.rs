//! Distance: every packet has the same delay.

use crate::stage::{Gone, Passing, Stage};
use crate::units::Nanos;

/// A constant one-way delay.
#[derive(Debug)]
pub struct Delay(pub Nanos);

impl Stage for Delay {
    fn pass(&mut self, packet: Passing) -> Result<Nanos, Gone> {
        Ok(packet.at + self.0)
    }
}
