//! `/etc/hosts`, and `localhost`, which needs no entry.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Addresses of names that need no query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Hosts {
    addresses: HashMap<Box<str>, Vec<IpAddr>>,
}

impl Hosts {
    /// Reads the file of this machine.
    #[must_use]
    pub fn of_machine() -> Self {
        std::fs::read("/etc/hosts")
            .map(|bytes| Self::parse(&String::from_utf8_lossy(&bytes)))
            .unwrap_or_default()
    }

    /// Parses the file; malformed lines are skipped.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        let mut hosts = Self::default();
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            let Some(Ok(address)) = words.next().map(str::parse::<IpAddr>) else {
                continue;
            };
            for name in words {
                hosts.add(name, address);
            }
        }
        hosts
    }

    fn add(&mut self, name: &str, address: IpAddr) {
        let name = name.trim_end_matches('.').to_ascii_lowercase();
        let known = self.addresses.entry(name.into()).or_default();
        if !known.contains(&address) {
            known.push(address);
        }
    }

    /// The addresses of a name in lower case; loopback addresses for `localhost` and names below it (RFC 6761, 6.3).
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Vec<IpAddr>> {
        if let Some(addresses) = self.addresses.get(name) {
            return Some(addresses.clone());
        }
        (name == "localhost" || name.ends_with(".localhost"))
            .then(|| vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_aliases_have_the_addresses_of_all_their_lines() {
        let hosts = Hosts::parse(
            "192.0.2.1 One.test alias.test # comment.test\n2001:db8::1 one.test\nnonsense two.test\n\n192.0.2.1 one.test",
        );
        let both: Vec<IpAddr> = ["192.0.2.1", "2001:db8::1"]
            .map(|text| text.parse().unwrap())
            .into();
        assert_eq!(hosts.get("one.test"), Some(both.clone()));
        assert_eq!(hosts.get("alias.test"), Some(both[..1].to_vec()));
        for name in ["two.test", "comment.test", "test"] {
            assert_eq!(hosts.get(name), None, "{name}");
        }
    }

    #[test]
    fn localhost_is_this_machine_unless_the_file_says_otherwise() {
        let loopback = Hosts::default().get("a.localhost").unwrap();
        assert!(loopback.iter().all(IpAddr::is_loopback));
        let hosts = Hosts::parse("192.0.2.7 localhost");
        assert_eq!(
            hosts.get("localhost"),
            Some(vec!["192.0.2.7".parse().unwrap()])
        );
        assert_eq!(Hosts::default().get("notlocalhost"), None);
    }
}
