//! Hosts that are reached elsewhere than their name says.

use std::net::IpAddr;

/// One such host, as `--resolve` and `--connect-to` name it. What is asked of the server stays the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Override {
    /// The host of the URL; `None`: any.
    host: Option<String>,
    port: Option<u16>,
    to_host: Option<String>,
    to_port: Option<u16>,
}

impl Override {
    /// Reads `HOST:PORT:ADDRESS`.
    ///
    /// # Errors
    ///
    /// What to write instead.
    pub fn resolve(text: &str) -> Result<Self, String> {
        let wrong = || format!("{text:?}: write HOST:PORT:ADDRESS, such as a.test:443:192.0.2.1");
        let (host, rest) = host(text).ok_or_else(wrong)?;
        let (port, address) = rest.split_once(':').ok_or_else(wrong)?;
        let bare = address
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(address);
        let to: IpAddr = bare.parse().map_err(|_| wrong())?;
        let port = port.parse().map_err(|_| wrong())?;
        Ok(Self {
            host: Some(host.filter(|host| !host.is_empty()).ok_or_else(wrong)?),
            port: Some(port),
            to_host: Some(to.to_string()),
            to_port: None,
        })
    }

    /// Reads `HOST1:PORT1:HOST2:PORT2`, where what is empty matches anything, or stays what it is.
    ///
    /// # Errors
    ///
    /// What to write instead.
    pub fn connect_to(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("{text:?}: write HOST1:PORT1:HOST2:PORT2, such as a.test:443:127.0.0.1:8443")
        };
        let port = |text: &str| match text {
            "" => Ok(None),
            digits => digits.parse().map(Some).map_err(|_| wrong()),
        };
        let (from, rest) = host(text).ok_or_else(wrong)?;
        let (from_port, rest) = rest.split_once(':').ok_or_else(wrong)?;
        let (to, to_port) = host(rest).ok_or_else(wrong)?;
        Ok(Self {
            host: from,
            port: port(from_port)?,
            to_host: to,
            to_port: port(to_port)?,
        })
    }

    /// Where to connect for this host and port, if this is about them.
    fn apply<'o>(&'o self, host: &'o str, port: u16) -> Option<(&'o str, u16)> {
        let about = self.host.as_deref().is_none_or(|own| own == host)
            && self.port.is_none_or(|own| own == port);
        about.then(|| {
            (
                self.to_host.as_deref().unwrap_or(host),
                self.to_port.unwrap_or(port),
            )
        })
    }
}

/// Where to connect for a host and a port: as the first override that is about them says.
pub(super) fn destination<'o>(
    overrides: &'o [Override],
    host: &'o str,
    port: u16,
) -> (&'o str, u16) {
    overrides
        .iter()
        .find_map(|one| one.apply(host, port))
        .unwrap_or((host, port))
}

/// A host, perhaps in brackets or empty, and what is behind its colon.
fn host(text: &str) -> Option<(Option<String>, &str)> {
    let (host, rest) = match text.strip_prefix('[') {
        Some(_) => {
            let end = text.find("]:")?;
            (&text[..=end], &text[end + 2..])
        }
        None => text.split_once(':')?,
    };
    Some(((!host.is_empty()).then(|| host.to_ascii_lowercase()), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_are_about_their_host_and_port() {
        let overrides = [
            Override::resolve("A.test:443:[2001:db8::1]").unwrap(),
            Override::connect_to("b.test:80:c.test:8080").unwrap(),
            Override::connect_to("b.test::[::1]:").unwrap(),
            Override::connect_to(":9::").unwrap(),
        ];
        let cases = [
            (("a.test", 443), ("2001:db8::1", 443)),
            (("a.test", 80), ("a.test", 80)),
            (("b.test", 80), ("c.test", 8080)),
            (("b.test", 81), ("[::1]", 81)),
            (("x.test", 9), ("x.test", 9)),
        ];
        for ((host, port), expected) in cases {
            assert_eq!(
                destination(&overrides, host, port),
                expected,
                "{host}:{port}"
            );
        }
    }

    #[test]
    fn what_names_no_host_is_refused() {
        for text in [
            "",
            "a.test",
            "a.test:443",
            "a.test:x:192.0.2.1",
            "a.test:443:name",
            ":443:192.0.2.1",
        ] {
            assert!(Override::resolve(text).is_err(), "{text}");
        }
        for text in ["", "a:1", "a:1:b", "a:x:b:1", "a:1:b:70000", "[::1:1:b:1"] {
            assert!(Override::connect_to(text).is_err(), "{text}");
        }
    }
}
