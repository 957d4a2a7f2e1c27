//! When a request came, and where that stands in the log.

use std::time::Instant;

use crate::arrivals::Place;
use crate::clock::Moment;

/// A request that has come.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Arrived {
    pub(crate) place: Place,
    pub(crate) at_ns: u64,
    pub(crate) at: Instant,
}

impl Arrived {
    pub(crate) fn new(place: Place, Moment { at, unix_ns }: Moment) -> Self {
        Self {
            place,
            at_ns: unix_ns,
            at,
        }
    }
}
