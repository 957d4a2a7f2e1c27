//! A URL list in a file, with what a correct client makes of it.

use std::collections::HashSet;
use std::path::Path;

use anyhow::{Context, Result};
use dyno_web::Expectation;

/// What a list will ask of the web.
#[derive(Debug, Default)]
pub struct Foreseen {
    /// Requests that a correct client sends for the whole list.
    pub requests: u64,
    /// Hosts that it shakes hands with.
    pub handshakes: HashSet<String>,
}

impl Foreseen {
    /// Reads a file of URLs, one a line.
    pub fn read(path: &Path, expect: impl Fn(&str) -> Expectation) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| format!("--stdin {}", path.display()))?;
        let mut foreseen = Self::default();
        for line in String::from_utf8_lossy(&bytes)
            .lines()
            .filter(|line| !line.trim().is_empty())
        {
            let expectation = expect(line);
            foreseen.requests += u64::from(expectation.requests);
            foreseen.handshakes.extend(expectation.handshakes);
        }
        Ok(foreseen)
    }
}
