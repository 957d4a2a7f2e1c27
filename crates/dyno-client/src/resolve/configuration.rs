//! `/etc/resolv.conf`: the name servers, their timeout and their number of attempts.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

/// The port of name servers.
const PORT: u16 = 53;
/// Defaults of the C library.
const TIMEOUT_S: u64 = 5;
const ATTEMPTS: u32 = 2;
/// Upper limits on the values in the file, also those of the C library.
const MAX_TIMEOUT_S: u64 = 30;
const MAX_ATTEMPTS: u32 = 5;

/// Name servers to query, and the timeouts.
///
/// Search domains are ignored on purpose: the names in URLs are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Servers in the order of preference; never empty.
    pub servers: Vec<SocketAddr>,
    /// Timeout of the last attempt at a server.
    pub timeout: Duration,
    /// Number of attempts per server.
    pub attempts: u32,
    /// Whether each lookup starts with the next server.
    pub rotate: bool,
}

impl Default for Configuration {
    /// Returns the name server on this machine, which the C library uses without a file.
    fn default() -> Self {
        Self {
            servers: vec![(Ipv4Addr::LOCALHOST, PORT).into()],
            timeout: Duration::from_secs(TIMEOUT_S),
            attempts: ATTEMPTS,
            rotate: false,
        }
    }
}

impl Configuration {
    /// Reads the file of this machine; returns the default if it is missing or names no server.
    #[must_use]
    pub fn of_machine() -> Self {
        Self::of_file(Path::new("/etc/resolv.conf"))
    }

    fn of_file(path: &Path) -> Self {
        std::fs::read(path)
            .map(|bytes| Self::parse(&String::from_utf8_lossy(&bytes)))
            .unwrap_or_default()
    }

    /// Parses the file. Unknown lines are ignored, as by every resolver.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut found = Self {
            servers: Vec::new(),
            ..Self::default()
        };
        for line in text.lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => found.servers.extend(words.next().and_then(server)),
                Some("options") => words.for_each(|option| found.set(option)),
                _ => {}
            }
        }
        if found.servers.is_empty() {
            found.servers = Self::default().servers;
        }
        found
    }

    fn set(&mut self, option: &str) {
        let (name, value) = option.split_once(':').unwrap_or((option, ""));
        match (name, value.parse::<u32>()) {
            ("timeout", Ok(seconds @ 1..)) => {
                self.timeout = Duration::from_secs(u64::from(seconds).min(MAX_TIMEOUT_S));
            }
            ("attempts", Ok(attempts @ 1..)) => self.attempts = attempts.min(MAX_ATTEMPTS),
            ("rotate", _) => self.rotate = true,
            _ => {}
        }
    }
}

/// Parses an address; a link-local one may name its interface by number.
fn server(text: &str) -> Option<SocketAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some((address, PORT).into());
    }
    let (address, scope) = text.split_once('%')?;
    let address = std::net::SocketAddrV6::new(address.parse().ok()?, PORT, 0, scope.parse().ok()?);
    Some(address.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolver_options_are_read() {
        let read = Configuration::parse(
            "# made by hand\nsearch example.test\nnameserver 192.0.2.1 # first\n nameserver\t2001:db8::1\n\
             nameserver fe80::1%2\nnameserver nonsense\noptions timeout:2 attempts:3 rotate edns0\n",
        );
        let servers = ["192.0.2.1:53", "[2001:db8::1]:53", "[fe80::1%2]:53"];
        assert_eq!(read.servers, servers.map(|text| text.parse().unwrap()));
        assert_eq!(
            (read.timeout.as_secs(), read.attempts, read.rotate),
            (2, 3, true)
        );
    }

    #[test]
    fn what_makes_no_sense_is_passed_over() {
        let cases = [
            "",
            "nameserver\n",
            "options timeout:0 attempts:x\n",
            "\u{0}\n;;\noptions",
        ];
        for text in cases {
            assert_eq!(
                Configuration::parse(text),
                Configuration::default(),
                "{text:?}"
            );
        }
        let capped = Configuration::parse("options timeout:4000000000 attempts:99");
        assert_eq!(
            (capped.timeout.as_secs(), capped.attempts),
            (MAX_TIMEOUT_S, MAX_ATTEMPTS)
        );
    }
}
