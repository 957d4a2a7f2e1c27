//! A file of URLs, with the requests of a correct client.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result};
use dyno_web::Expectation;

/// Requests and handshakes of a list.
#[derive(Debug, Default)]
pub struct ListForecast {
    /// Requests of a correct client for the whole list.
    pub requests: u64,
    /// Hosts that need a TLS handshake.
    pub handshakes: HashSet<String>,
}

impl ListForecast {
    /// Reads a file of URLs, one a line.
    pub fn read(path: &Path, expect: impl Fn(&str) -> Expectation) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("--stdin {}", path.display()))?;
        let mut forecast = Self::default();
        for line in String::from_utf8_lossy(&bytes)
            .lines()
            .filter(|line| !line.trim().is_empty())
        {
            let expectation = expect(line);
            forecast.requests += u64::from(expectation.requests);
            forecast.handshakes.extend(expectation.handshakes);
        }
        Ok(forecast)
    }
}
