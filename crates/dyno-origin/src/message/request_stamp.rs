//! Arrival time of a request, and its entry in the access log.

use std::time::Instant;

use crate::access_log::Place;
use crate::clock::Moment;

/// Arrival time of a request, and its entry in the access log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestStamp {
    pub(crate) place: Place,
    pub(crate) at_ns: u64,
    pub(crate) at: Instant,
}

impl RequestStamp {
    pub(crate) fn new(place: Place, Moment { at, unix_ns }: Moment) -> Self {
        Self {
            place,
            at_ns: unix_ns,
            at,
        }
    }
}
