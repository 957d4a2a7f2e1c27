//! The correct result of a URL.

mod walk;

use crate::expectation::{Expectation, Outcome, Terms};
use crate::listed_url::parse;
use crate::units::Nanos;
use crate::web::Web;

impl Web {
    /// The correct result of `url`, a line of a URL list, for a client with this timeout.
    #[must_use]
    pub fn expect(&self, url: &str, timeout: Nanos) -> Expectation {
        self.expect_on(&Terms::within(timeout), url)
    }

    /// The correct result of `url`, a line of a URL list, for a client with these settings.
    #[must_use]
    pub fn expect_on(&self, terms: &Terms<'_>, url: &str) -> Expectation {
        match parse(url) {
            Some(first) => walk::walk(self, terms, first),
            None => Expectation {
                outcome: Outcome::Error {
                    cause: "invalid_url",
                },
                arrives: false,
                request_url: None,
                requests: 0,
                handshakes: Vec::new(),
                planned: Some(Nanos::ZERO),
                hazard: None,
            },
        }
    }
}

#[cfg(test)]
mod tests;
