//! The correct result of a URL.

mod walk;

use url::Url;

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
        self.walk_on(terms, url).0
    }

    /// The correct result of `url`, and the URL at which it ends, if it is valid.
    pub(crate) fn walk_on(&self, terms: &Terms<'_>, url: &str) -> (Expectation, Option<Url>) {
        if let Some(first) = parse(url) {
            let (expectation, last) = walk::walk(self, terms, first);
            return (expectation, Some(last));
        }
        let invalid = Expectation {
            outcome: Outcome::Error {
                cause: "invalid_url",
            },
            arrives: false,
            request_url: None,
            requests: 0,
            handshakes: Vec::new(),
            planned: Some(Nanos::ZERO),
            hazard: None,
        };
        (invalid, None)
    }
}

#[cfg(test)]
mod tests;
