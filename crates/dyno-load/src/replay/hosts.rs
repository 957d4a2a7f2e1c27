//! Where the requests of a recording go: nowhere, unless the user says so. No I/O.

use std::collections::HashMap;

use url::Url;

use super::{Options, Target};

/// Scheme, host and port of a server, as the beginning of a URL: `http://127.0.0.1:8080`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin(String);

/// Where the requests of recorded hosts go.
#[derive(Debug, Clone, Default)]
pub struct Hosts {
    named: HashMap<String, Place>,
    others: Option<Place>,
}

/// Where the requests of a host go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// To this server.
    Server(Origin),
    /// They are left out.
    Skip,
}

/// What is done with a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// It is sent.
    Send {
        /// The recorded host.
        host: Option<String>,
        /// The server, for the report.
        to: String,
        /// The whole URL.
        url: String,
    },
    /// It is left out.
    Skip,
    /// This host is not mapped.
    Unmapped(String),
    /// Neither the line nor the user names a host.
    NoServer,
}

impl Origin {
    /// Reads a URL that has no path.
    ///
    /// # Errors
    ///
    /// The correct form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("{text:?} is not a server: write http://127.0.0.1:8080, without a path");
        let url = Url::parse(text).map_err(|_| wrong())?;
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.host().is_some()
            && matches!(url.path(), "" | "/")
            && url.query().is_none()
            && url.fragment().is_none()
            && url.username().is_empty()
            && url.password().is_none();
        if !is_plain {
            return Err(wrong());
        }
        Ok(Self(url.as_str().trim_end_matches('/').to_owned()))
    }

    fn of(url: &Url) -> Self {
        Self(url.origin().ascii_serialization())
    }
}

impl Hosts {
    /// Adds `OLD=NEW`: OLD is a host, a host with port, or `*` for all others; NEW is a server, or `skip`.
    ///
    /// # Errors
    ///
    /// The correct form.
    pub fn add(&mut self, text: &str) -> Result<(), String> {
        let form = || {
            format!(
                "{text:?} is not OLD=NEW; write old.example=http://127.0.0.1:8080, '*=http://127.0.0.1:8080' for all others, or old.example=skip"
            )
        };
        let (old, new) = text.split_once('=').ok_or_else(form)?;
        let (old, new) = (old.trim().to_ascii_lowercase(), new.trim());
        let place = if new == "skip" {
            Place::Skip
        } else {
            Place::Server(Origin::parse(new).map_err(|_| form())?)
        };
        let is_known = if old == "*" {
            self.others.replace(place).is_some()
        } else if recorded(&old).is_some() {
            self.named.insert(old.clone(), place).is_some()
        } else {
            return Err(form());
        };
        if is_known {
            return Err(format!("{old} is mapped twice; keep one"));
        }
        Ok(())
    }

    /// Whether nothing is mapped.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.others.is_none()
    }

    /// Where the requests of a host go.
    pub(super) fn of(&self, host: &str, port: Option<u16>) -> Option<&Place> {
        if self.is_empty() {
            return None;
        }
        let host = host.to_ascii_lowercase();
        let with_port = port.and_then(|port| self.named.get(&format!("{host}:{port}")));
        let without_port = || {
            let (name, port) = host.rsplit_once(':')?;
            let is_port = port.bytes().all(|byte| byte.is_ascii_digit());
            self.named.get(name).filter(|_| is_port)
        };
        with_port
            .or_else(|| self.named.get(&host))
            .or_else(without_port)
            .or(self.others.as_ref())
    }
}

/// A recorded host, with its port, if it is one.
pub(super) fn recorded(text: &str) -> Option<String> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte);
    let has_name = text.bytes().any(|byte| byte.is_ascii_alphanumeric());
    (has_name && text.len() <= 261 && text.bytes().all(is_part)).then(|| text.to_owned())
}

/// Where a recorded request goes; an error if its URL cannot be read.
pub(super) fn destination(target: &Target, options: &Options<'_>) -> Result<Destination, String> {
    let Options { hosts, base, .. } = options;
    let send = |host: Option<String>, origin: &Origin, rest: &str| {
        let slash = if rest.starts_with('/') { "" } else { "/" };
        Destination::Send {
            host,
            to: origin.0.clone(),
            url: format!("{}{slash}{rest}", origin.0),
        }
    };
    match target {
        Target::Path { path, host } => {
            let mapped = match host {
                Some(host) => hosts.of(host, None),
                None => None,
            };
            let others = hosts
                .others
                .as_ref()
                .filter(|_| host.is_none() && base.is_none());
            Ok(match (mapped.or(others), base) {
                (Some(Place::Skip), _) => Destination::Skip,
                (Some(Place::Server(origin)), _) | (None, Some(origin)) => {
                    send(host.clone(), origin, path)
                }
                (None, None) => host
                    .clone()
                    .map_or(Destination::NoServer, Destination::Unmapped),
            })
        }
        Target::Url(text) => {
            let url = Url::parse(text).map_err(|error| format!("{text:?} is no URL: {error}"))?;
            let port = url.port_or_known_default();
            let (Some(name), Some(port)) = (url.host_str(), port) else {
                return Err(format!("{text:?} is no URL of a server"));
            };
            let origin = Origin::of(&url);
            let host = url
                .port()
                .map_or_else(|| name.to_owned(), |port| format!("{name}:{port}"));
            let rest = crate::marks::after_authority(text.trim());
            let is_own = base.as_ref() == Some(&origin) || (options.is_rerouted)(name, port);
            Ok(match hosts.of(name, Some(port)) {
                Some(Place::Skip) => Destination::Skip,
                Some(Place::Server(origin)) => send(Some(host), origin, rest),
                None if is_own => send(Some(host), &origin, rest),
                None => Destination::Unmapped(host),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(base: Option<&str>, hosts: &[&str]) -> Options<'static> {
        let mut map = Hosts::default();
        for text in hosts {
            map.add(text).unwrap();
        }
        Options {
            base: base.map(|base| Origin::parse(base).unwrap()),
            hosts: map,
            is_rerouted: &|host, port| (host, port) == ("rerouted.test", 443),
            speed: 100_000,
            is_loop: false,
        }
    }

    /// URL to send to, or what is done instead.
    fn found(target: &Target, options: &Options<'_>) -> String {
        match destination(target, options).unwrap() {
            Destination::Send { url, .. } => url,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn nothing_goes_anywhere_that_was_not_named() {
        const BASE: Option<&str> = Some("http://127.0.0.1:80/");
        let url = |url: &str| Target::Url(url.to_owned());
        let path = |host: Option<&str>| Target::Path {
            path: "/a?b".to_owned(),
            host: host.map(str::to_owned),
        };
        let unmapped = "Unmapped(\"a.test\")";
        for (target, base, hosts, expected) in [
            (path(None), BASE, &[][..], "http://127.0.0.1/a?b"),
            (path(None), None, &[], "NoServer"),
            (path(None), None, &["*=http://n.test"], "http://n.test/a?b"),
            (
                path(None),
                BASE,
                &["*=http://n.test"],
                "http://127.0.0.1/a?b",
            ),
            (path(Some("a.test")), BASE, &[], "http://127.0.0.1/a?b"),
            (path(Some("a.test")), None, &[], unmapped),
            (
                path(Some("A.test:81")),
                BASE,
                &["a.test=https://n.test"],
                "https://n.test/a?b",
            ),
            (path(Some("a.test")), BASE, &["a.test=skip"], "Skip"),
            (url("https://a.test/x/../y?q"), BASE, &[], unmapped),
            (
                url("https://a.test"),
                None,
                &["*=http://n.test:1"],
                "http://n.test:1/",
            ),
            (
                url("https://a.test?q"),
                None,
                &["a.test:443=http://n.test"],
                "http://n.test/?q",
            ),
            (
                url("https://a.test/"),
                None,
                &["a.test:80=http://n.test"],
                unmapped,
            ),
            (
                url("https://a.test/x/../y"),
                None,
                &["*=skip", "A.TEST=http://n.test"],
                "http://n.test/x/../y",
            ),
            (url("http://127.0.0.1/x"), BASE, &[], "http://127.0.0.1/x"),
            (
                url("http://127.0.0.1:81/x"),
                BASE,
                &[],
                "Unmapped(\"127.0.0.1:81\")",
            ),
            (
                url("https://rerouted.test/x"),
                None,
                &[],
                "https://rerouted.test/x",
            ),
            (
                url("http://rerouted.test/x"),
                None,
                &[],
                "Unmapped(\"rerouted.test\")",
            ),
        ] {
            let options = options(base, hosts);
            assert_eq!(
                found(&target, &options),
                expected,
                "{target:?} {base:?} {hosts:?}"
            );
        }
    }

    #[test]
    fn a_wrong_map_is_refused() {
        for text in [
            "a.test",
            "=http://n.test",
            "a.test=n.test",
            "a.test=http://n.test/path",
            "http://a.test=http://n.test",
            "a.test=ftp://n.test",
            "a.test=http://user@n.test",
            "a b=skip",
        ] {
            assert!(Hosts::default().add(text).is_err(), "{text}");
        }
        let mut twice = Hosts::default();
        twice.add("a.test=skip").unwrap();
        assert_eq!(
            twice.add("A.test=skip").unwrap_err(),
            "a.test is mapped twice; keep one"
        );
    }
}
