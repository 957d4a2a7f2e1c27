//! `--control`: the machines that may begin and end trials on an origin.

use std::net::IpAddr;
use std::str::FromStr;

/// The machines that may control an origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Allowed {
    /// No machine: the reserved paths belong to the web, like all others.
    Off,
    /// Every machine.
    Any,
    /// Machines with one of these addresses.
    Only(Vec<IpAddr>),
}

impl Allowed {
    /// Whether a machine may control the origin.
    pub fn has(&self, address: IpAddr) -> bool {
        match self {
            Self::Off => false,
            Self::Any => true,
            Self::Only(addresses) => addresses.contains(&address.to_canonical()),
        }
    }
}

impl FromStr for Allowed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(Self::Off),
            "any" => Ok(Self::Any),
            _ => text
                .split(',')
                .map(|one| {
                    one.trim().parse().map_err(|_| {
                        format!("{one:?} is not an address; write off, any, or addresses such as 192.0.2.7,192.0.2.8")
                    })
                })
                .collect::<Result<_, _>>()
                .map(Self::Only),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_parsed_and_applied() {
        let cases = [
            ("off", "192.0.2.7", false),
            ("any", "192.0.2.7", true),
            ("192.0.2.7", "192.0.2.7", true),
            ("192.0.2.6, 192.0.2.7", "192.0.2.7", true),
            ("192.0.2.6", "192.0.2.7", false),
            ("192.0.2.7", "::ffff:192.0.2.7", true),
            ("2001:db8::1", "2001:db8::1", true),
        ];
        for (text, address, expected) in cases {
            let allowed: Allowed = text.parse().expect(text);
            let address = address.parse().expect(address);
            assert_eq!(allowed.has(address), expected, "{text} {address}");
        }
        for wrong in ["", "on", "other", "192.0.2.7,", "192.0.2.0/24"] {
            assert!(wrong.parse::<Allowed>().is_err(), "{wrong}");
        }
    }
}
