//! A name server: its address, and whether it is queried over UDP, TCP or TLS.

use std::fmt;
use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::str::FromStr;

use rustls::pki_types::ServerName;

/// The port of name servers.
pub(super) const PORT: u16 = 53;
/// Their port for TLS (RFC 7858).
const TLS_PORT: u16 = 853;

/// A name server and the way to query it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameServer {
    /// Its address.
    pub address: SocketAddr,
    /// The way to query it.
    pub transport: Transport,
}

/// The way to query a name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Transport {
    /// UDP, and TCP for answers that do not fit.
    Udp,
    /// TCP.
    Tcp,
    /// TLS; the certificate must be for this name or address.
    Tls(Box<str>),
}

impl From<SocketAddr> for NameServer {
    /// Returns the server that is queried over UDP.
    fn from(address: SocketAddr) -> Self {
        Self {
            address,
            transport: Transport::Udp,
        }
    }
}

impl fmt::Display for NameServer {
    /// Writes the form that is parsed.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { address, transport } = self;
        match transport {
            Transport::Udp => write!(formatter, "{address}"),
            Transport::Tcp => write!(formatter, "tcp://{address}"),
            Transport::Tls(name) if **name == *address.ip().to_string() => {
                write!(formatter, "tls://{address}")
            }
            Transport::Tls(name) => write!(formatter, "tls://{address}#{name}"),
        }
    }
}

impl FromStr for NameServer {
    type Err = String;

    /// Parses `ADDRESS[:PORT]`, `udp://ADDRESS[:PORT]`, `tcp://ADDRESS[:PORT]` or `tls://ADDRESS[:PORT][#NAME]`. The error is the
    /// text to print.
    fn from_str(text: &str) -> Result<Self, String> {
        let (scheme, rest) = text.split_once("://").unwrap_or(("udp", text));
        let (place, name) = match rest.split_once('#') {
            Some((place, name)) => (place, Some(name)),
            None => (rest, None),
        };
        let port = match scheme {
            "udp" | "tcp" => PORT,
            "tls" => TLS_PORT,
            _ => {
                return Err(format!(
                    "name servers are not queried over {scheme:?}; write udp://, tcp:// or tls:// before the address"
                ));
            }
        };
        let address = parse_place(place.strip_suffix('/').unwrap_or(place), port)?;
        let transport = match (scheme, name) {
            ("tls", None) => Transport::Tls(address.ip().to_string().into()),
            ("tls", Some(name)) if ServerName::try_from(name).is_ok() => {
                Transport::Tls(name.into())
            }
            ("tls", Some(name)) => {
                return Err(format!(
                    "{name:?} is not a name in a certificate; write it as in tls://192.0.2.1#dns.example"
                ));
            }
            (_, Some(name)) => {
                return Err(format!(
                    "{scheme}:// has no certificate with the name {name:?}; write tls://, or leave the name out"
                ));
            }
            ("tcp", None) => Transport::Tcp,
            _ => Transport::Udp,
        };
        Ok(Self { address, transport })
    }
}

fn parse_place(text: &str, port: u16) -> Result<SocketAddr, String> {
    let in_brackets = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    if let Some(address) = parse_address(in_brackets.unwrap_or(text), port) {
        return Ok(address);
    }
    if let Some(address) = text
        .parse()
        .ok()
        .filter(|address: &SocketAddr| address.port() != 0)
    {
        return Ok(address);
    }
    match text.rsplit_once(':') {
        // An address with another port than this would be right.
        Some((before, wrong)) if format!("{before}:1").parse::<SocketAddr>().is_ok() => {
            Err(format!(
                "the port {wrong:?} is not a whole number from 1 to 65535; write {before}:{port}"
            ))
        }
        _ => Err(format!(
            "{text:?} is not an address, and a name would need a name server; write 192.0.2.1, 192.0.2.1:53, [2001:db8::1]:53 or tls://192.0.2.1#dns.example"
        )),
    }
}

/// Parses an address without a port; a link-local one may name its interface by number.
pub(super) fn parse_address(text: &str, port: u16) -> Option<SocketAddr> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Some((address, port).into());
    }
    let (address, scope) = text.split_once('%')?;
    let address = SocketAddrV6::new(address.parse().ok()?, port, 0, scope.parse().ok()?);
    Some(address.into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_form_is_parsed_and_written_back() {
        for (text, written) in [
            ("192.0.2.1", "192.0.2.1:53"),
            ("192.0.2.1:5353", "192.0.2.1:5353"),
            ("udp://192.0.2.1/", "192.0.2.1:53"),
            ("::1", "[::1]:53"),
            ("[::1]", "[::1]:53"),
            ("[::1]:5353", "[::1]:5353"),
            ("fe80::1%2", "[fe80::1%2]:53"),
            ("tcp://192.0.2.1", "tcp://192.0.2.1:53"),
            ("tcp://[::1]:5353", "tcp://[::1]:5353"),
            ("tls://192.0.2.1", "tls://192.0.2.1:853"),
            (
                "tls://192.0.2.1#dns.example",
                "tls://192.0.2.1:853#dns.example",
            ),
            (
                "tls://[::1]:8853#dns.example",
                "tls://[::1]:8853#dns.example",
            ),
            ("tls://192.0.2.1#192.0.2.2", "tls://192.0.2.1:853#192.0.2.2"),
        ] {
            let parsed: NameServer = text.parse().unwrap();
            assert_eq!(parsed.to_string(), written);
            assert_eq!(written.parse(), Ok(parsed));
        }
    }

    #[test]
    fn every_mistake_has_its_cure() {
        for (text, part) in [
            ("", "is not an address"),
            ("dns.example", "a name would need a name server"),
            ("dns.example:53", "a name would need a name server"),
            ("tls://", "is not an address"),
            ("tls://dns.example", "tls://192.0.2.1#dns.example"),
            ("https://192.0.2.1", "not queried over \"https\""),
            ("192.0.2.1:", "the port \"\""),
            ("192.0.2.1:0", "the port \"0\""),
            ("192.0.2.1:dns", "the port \"dns\""),
            ("tls://192.0.2.1:65536", "write 192.0.2.1:853"),
            ("[::1]:99999", "write [::1]:53"),
            ("192.0.2.1#dns.example", "udp:// has no certificate"),
            ("tls://192.0.2.1#", "\"\" is not a name"),
            ("tls://192.0.2.1#two words", "is not a name"),
        ] {
            let refused = text.parse::<NameServer>().unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }

    proptest! {
        #[test]
        fn no_text_is_a_crash_and_what_is_parsed_is_parsed_again(text in "(udp|tcp|tls)?(://)?[0-9a-f.:%#\\[\\]/]{0,20}") {
            if let Ok(server) = text.parse::<NameServer>() {
                prop_assert_eq!(server.to_string().parse(), Ok(server));
            }
        }
    }
}
