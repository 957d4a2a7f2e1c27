//! Rules that connect to other addresses than those of the URL: `--resolve` and `--connect-to`.

use std::net::IpAddr;
use std::str::FromStr;

/// Rules that replace hosts, ports and addresses. The first matching rule of each kind applies, with the later ones for
/// the same host and port; no rule changes the request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reroute {
    /// Rules for hosts and ports, which apply first.
    pub connect_to: Vec<ConnectTo>,
    /// Addresses of the resulting hosts.
    pub resolve: Vec<Resolve>,
}

/// `HOST:PORT:ADDRESS[,ADDRESS...]`: the addresses of a host at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolve {
    host: String,
    port: u16,
    addresses: Vec<IpAddr>,
}

/// `HOST1:PORT1:HOST2:PORT2`: an empty part on the left matches everything, on the right it changes nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectTo {
    from: (Option<String>, Option<u16>),
    to: (Option<String>, Option<u16>),
}

/// Where to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The name to look up.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Its addresses, if a rule has them: then nothing is looked up.
    pub addresses: Vec<IpAddr>,
    /// Whether a rule applied.
    pub is_rerouted: bool,
}

impl FromStr for Resolve {
    /// A message with the correct form.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a HOST:PORT:ADDRESS, as a.example:443:127.0.0.1 or a.example:443:192.0.2.1,192.0.2.2"
            )
        };
        let (host, rest) = host(text).ok_or_else(wrong)?;
        let (port, addresses) = rest.split_once(':').ok_or_else(wrong)?;
        let addresses: Option<Vec<IpAddr>> = addresses
            .split(',')
            .map(|address| bare(address).parse().ok())
            .collect();
        if host.is_empty() {
            return Err(wrong());
        }
        Ok(Self {
            host: normal(host),
            port: port.parse().map_err(|_| wrong())?,
            addresses: addresses.ok_or_else(wrong)?,
        })
    }
}

impl FromStr for ConnectTo {
    /// A message with the correct form.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?} is not a HOST1:PORT1:HOST2:PORT2, as a.example:443:127.0.0.1:8443")
        };
        let port = |text: &str| match text {
            "" => Ok(None),
            text => text.parse().map(Some).map_err(|_| wrong()),
        };
        let name = |text: &str| (!text.is_empty()).then(|| normal(text));
        let (from, rest) = host(text).ok_or_else(wrong)?;
        let (from_port, rest) = rest.split_once(':').ok_or_else(wrong)?;
        let (to, to_port) = host(rest).ok_or_else(wrong)?;
        Ok(Self {
            from: (name(from), port(from_port)?),
            to: (name(to), port(to_port)?),
        })
    }
}

impl Reroute {
    /// Returns where to connect for a host and port: the first of [`Reroute::places`].
    #[must_use]
    pub fn place(&self, host: &str, port: u16) -> Place {
        self.places(host, port).swap_remove(0)
    }

    /// Returns all places to connect to for a host and port, in the order of the rules: several if `connect_to` has
    /// several rules for the same host and port; never none.
    #[must_use]
    pub fn places(&self, host: &str, port: u16) -> Vec<Place> {
        let host = normal(host);
        let fits = |rule: &&ConnectTo| {
            rule.from.0.as_ref().is_none_or(|from| *from == host)
                && rule.from.1.is_none_or(|from| from == port)
        };
        let first = self.connect_to.iter().find(fits);
        let same = self.connect_to.iter();
        let same = same.filter(|rule| first.is_some_and(|first| first.from == rule.from));
        let mut places: Vec<Place> = same
            .map(|rule| {
                let (to, to_port) = rule.to.clone();
                self.addressed(to.unwrap_or(host.clone()), to_port.unwrap_or(port), true)
            })
            .collect();
        if places.is_empty() {
            places.push(self.addressed(host, port, false));
        }
        places
    }

    /// A place with the addresses of all rules for it, each address once.
    fn addressed(&self, host: String, port: u16, is_rerouted: bool) -> Place {
        let mut addresses = Vec::new();
        let given = self.resolve.iter();
        let given = given.filter(|rule| rule.host == host && rule.port == port);
        for address in given.flat_map(|rule| &rule.addresses) {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        let is_rerouted = is_rerouted || !addresses.is_empty();
        if addresses.is_empty() {
            addresses.extend(host.parse::<IpAddr>());
        }
        Place {
            host,
            port,
            addresses,
            is_rerouted,
        }
    }
}

/// Splits a host, possibly in brackets, from the text after its colon.
fn host(text: &str) -> Option<(&str, &str)> {
    match text.strip_prefix('[') {
        Some(rest) => rest.split_once("]:"),
        None => text.split_once(':'),
    }
}

/// Normalises a host, so that rules and URLs compare equal: lower case, ASCII (IDNA), without brackets and the final
/// dot.
fn normal(host: &str) -> String {
    let host = bare(host);
    let host = host.strip_suffix('.').unwrap_or(host);
    match url::Host::parse(host) {
        Ok(url::Host::Domain(name)) => name,
        _ => host.to_ascii_lowercase(),
    }
}

fn bare(address: &str) -> &str {
    address
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(host: &str, port: u16, addresses: &[&str]) -> Place {
        Place {
            host: host.to_owned(),
            port,
            addresses: addresses.iter().map(|text| text.parse().unwrap()).collect(),
            is_rerouted: false,
        }
    }

    fn elsewhere(host: &str, port: u16, addresses: &[&str]) -> Place {
        Place {
            is_rerouted: true,
            ..place(host, port, addresses)
        }
    }

    #[test]
    fn rules_lead_elsewhere() {
        let mut reroute = Reroute::default();
        for rule in [
            "a.test:80:127.0.0.1",
            "B.test:443:[::1],127.0.0.2",
            "c.test:80:::1",
            "bücher.test.:80:127.0.0.3",
        ] {
            reroute.resolve.push(rule.parse().unwrap());
        }
        for rule in ["d.test:80:a.test:", "e.test::[::1]:8080", ":99:a.test:80"] {
            reroute.connect_to.push(rule.parse().unwrap());
        }
        let cases = [
            ("a.test", 80, elsewhere("a.test", 80, &["127.0.0.1"])),
            ("A.TEST", 80, elsewhere("a.test", 80, &["127.0.0.1"])),
            ("A.test.", 80, elsewhere("a.test", 80, &["127.0.0.1"])),
            ("a.test", 81, place("a.test", 81, &[])),
            (
                "xn--bcher-kva.test",
                80,
                elsewhere("xn--bcher-kva.test", 80, &["127.0.0.3"]),
            ),
            (
                "b.test",
                443,
                elsewhere("b.test", 443, &["::1", "127.0.0.2"]),
            ),
            ("c.test", 80, elsewhere("c.test", 80, &["::1"])),
            ("d.test", 80, elsewhere("a.test", 80, &["127.0.0.1"])),
            ("e.test", 1, elsewhere("::1", 8080, &["::1"])),
            ("f.test", 99, elsewhere("a.test", 80, &["127.0.0.1"])),
            ("127.0.0.9", 80, place("127.0.0.9", 80, &["127.0.0.9"])),
            ("[::2]", 80, place("::2", 80, &["::2"])),
        ];
        for (host, port, expected) in cases {
            assert_eq!(reroute.place(host, port), expected);
        }
    }

    #[test]
    fn rules_for_the_same_host_and_port_add_up() {
        let mut reroute = Reroute::default();
        for rule in [
            "a.test:80:127.0.0.1,127.0.0.2",
            "a.test:443:127.0.0.9",
            "A.test:80:127.0.0.3,127.0.0.1",
        ] {
            reroute.resolve.push(rule.parse().unwrap());
        }
        let all = ["127.0.0.1", "127.0.0.2", "127.0.0.3"];
        assert_eq!(reroute.place("a.test", 80), elsewhere("a.test", 80, &all));
        for rule in ["b.test:80:a.test:", "::c.test:", "B.test:80:127.0.0.4:81"] {
            reroute.connect_to.push(rule.parse().unwrap());
        }
        let both = [
            elsewhere("a.test", 80, &all),
            elsewhere("127.0.0.4", 81, &["127.0.0.4"]),
        ];
        assert_eq!(reroute.places("b.test", 80), both);
        assert_eq!(reroute.place("b.test", 80), both[0]);
        assert_eq!(reroute.places("b.test", 81), [elsewhere("c.test", 81, &[])]);
    }

    #[test]
    fn what_is_no_rule_is_refused() {
        for text in [
            "",
            "a.test",
            "a.test:80",
            "a.test:x:127.0.0.1",
            "a.test:80:b.test",
            ":80:::1",
            "a.test:80:",
            "a.test:80:127.0.0.1,",
            "a.test:80:127.0.0.1,127.0.0.1:80",
        ] {
            assert!(text.parse::<Resolve>().is_err(), "{text}");
        }
        for text in [
            "",
            "a:80",
            "a:80:b",
            "a:x:b:80",
            "a:80:b:70000",
            "[::1:80:b:1",
        ] {
            assert!(text.parse::<ConnectTo>().is_err(), "{text}");
        }
    }
}
