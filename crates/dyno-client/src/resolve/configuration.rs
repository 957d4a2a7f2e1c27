//! `/etc/resolv.conf` and `RES_OPTIONS`: the name servers, their timeout, their number of attempts and their order.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use super::name_server::{NameServer, PORT, Transport, parse_address};

/// Defaults of the C library.
const TIMEOUT_S: u64 = 5;
const ATTEMPTS: u32 = 2;
/// Upper limits on the values in the file, also those of the C library.
const MAX_TIMEOUT_S: u64 = 30;
const MAX_ATTEMPTS: u32 = 5;

/// Name servers to query, and the timeouts.
///
/// Search domains and `ndots` are ignored on purpose: the names in URLs are absolute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    /// Servers in the order of preference; never empty.
    pub servers: Vec<NameServer>,
    /// Timeout of the last attempt at a server.
    pub timeout: Duration,
    /// Number of attempts per server.
    pub attempts: u32,
    /// Whether each lookup starts with the next server.
    pub rotate: bool,
    /// Whether the servers of the file are queried over TCP only.
    over_tcp: bool,
}

impl Default for Configuration {
    /// Returns the name server on this machine, which the C library uses without a file.
    fn default() -> Self {
        Self {
            servers: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, PORT)).into()],
            timeout: Duration::from_secs(TIMEOUT_S),
            attempts: ATTEMPTS,
            rotate: false,
            over_tcp: false,
        }
    }
}

impl Configuration {
    /// Reads the file of this machine and the variable `RES_OPTIONS`, whose options count more; returns the default server if
    /// the file is missing or names none.
    #[must_use]
    pub fn of_machine() -> Self {
        let file = std::fs::read(Path::new("/etc/resolv.conf")).unwrap_or_default();
        let options = std::env::var_os("RES_OPTIONS").unwrap_or_default();
        Self::parse(&String::from_utf8_lossy(&file), &options.to_string_lossy())
    }

    /// Parses the file, and more options. Unknown lines are ignored, as by every resolver.
    #[must_use]
    pub fn parse(text: &str, options: &str) -> Self {
        let mut found = Self {
            servers: Vec::new(),
            ..Self::default()
        };
        for line in text.lines() {
            let line = line.split(['#', ';']).next().unwrap_or_default();
            let mut words = line.split_whitespace();
            match words.next() {
                Some("nameserver") => {
                    let address = words.next().and_then(|text| parse_address(text, PORT));
                    found.servers.extend(address.map(NameServer::from));
                }
                Some("options") => words.for_each(|option| found.set(option)),
                _ => {}
            }
        }
        if found.servers.is_empty() {
            found.servers = Self::default().servers;
        }
        options
            .split_whitespace()
            .for_each(|option| found.set(option));
        if found.over_tcp {
            for server in &mut found.servers {
                server.transport = Transport::Tcp;
            }
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
            // As the C libraries of Linux and of OpenBSD call it.
            ("use-vc" | "tcp", _) => self.over_tcp = true,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn resolver_options_are_read() {
        let read = Configuration::parse(
            "# made by hand\nsearch example.test\nnameserver 192.0.2.1 # first\n nameserver\t2001:db8::1\n\
             nameserver fe80::1%2\nnameserver nonsense\noptions timeout:2 attempts:3 rotate edns0 ndots:5\n",
            "",
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
            "nameserver tls://192.0.2.1\n",
            "nameserver 192.0.2.1:5353\n",
        ];
        for text in cases {
            assert_eq!(
                Configuration::parse(text, ""),
                Configuration::default(),
                "{text:?}"
            );
        }
    }

    #[test]
    fn values_have_the_limits_of_the_c_library_and_the_last_counts() {
        let options = |file: &str, variable: &str| {
            let read = Configuration::parse(&format!("options {file}"), variable);
            (read.timeout.as_secs(), read.attempts)
        };
        for (file, variable, expected) in [
            ("timeout:4000000000 attempts:99", "", (30, 5)),
            ("timeout:30 attempts:5", "", (30, 5)),
            ("timeout:1 attempts:1", "timeout:7", (7, 1)),
            ("timeout:1", "attempts:3 nonsense :", (1, 3)),
            ("timeout:1 timeout:2\noptions timeout:3", "", (3, 2)),
            ("timeout:5000000000", "timeout:-1 attempts:0", (5, 2)),
        ] {
            assert_eq!(options(file, variable), expected, "{file} {variable}");
        }
    }

    #[test]
    fn all_servers_are_queried_over_tcp_if_the_options_say_so() {
        for (file, variable) in [
            ("options use-vc\nnameserver 192.0.2.1", ""),
            ("nameserver 192.0.2.1\noptions tcp", ""),
            ("nameserver 192.0.2.1", "rotate use-vc"),
        ] {
            let read = Configuration::parse(file, variable);
            assert_eq!(read.servers, ["tcp://192.0.2.1".parse().unwrap()]);
        }
    }

    proptest! {
        #[test]
        fn no_file_is_a_crash_or_without_a_server(file in "(nameserver|options|[a-z0-9.:%# \n-]){0,40}", variable in ".{0,40}") {
            let read = Configuration::parse(&file, &variable);
            prop_assert!(!read.servers.is_empty());
            prop_assert!((1..=MAX_ATTEMPTS).contains(&read.attempts));
            prop_assert!((1..=MAX_TIMEOUT_S).contains(&read.timeout.as_secs()));
        }
    }
}
