//! Proxies: the one on the way to a server, from an option or the environment, and the hosts without one. No I/O.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use url::{Host, Url};

use crate::reroute::{Place, Reroute};

/// The port of a proxy that names none, as in curl.
const DEFAULT_PORT: u16 = 1080;
const FORM: &str = "write http://host:port, socks5://host:port or socks5h://host:port, with user:password@ before the host if needed";
/// The longest user name or password of SOCKS, in bytes (RFC 1929).
const LONGEST_OF_SOCKS: usize = 255;

/// The protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// HTTP/1.1: forwards requests, and opens tunnels by CONNECT.
    Http,
    /// SOCKS 5; this client looks up names.
    Socks5,
    /// SOCKS 5; the proxy looks up names.
    Socks5h,
}

impl Kind {
    const fn scheme(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Socks5 => "socks5",
            Self::Socks5h => "socks5h",
        }
    }
}

/// User name and password of a proxy. They are never printed.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) user: Vec<u8>,
    pub(crate) password: Vec<u8>,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("***")
    }
}

/// A proxy. Its text has no credentials.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proxy {
    /// Its protocol.
    pub kind: Kind,
    /// Name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    pub(crate) credentials: Option<Credentials>,
}

impl fmt::Display for Proxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let authority = authority(&self.host, self.port);
        write!(formatter, "{}://{authority}", self.kind.scheme())
    }
}

impl FromStr for Proxy {
    /// What is wrong, and the cure, without the credentials.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = |reason: &str| format!("{:?}: {reason}; {FORM}", without_user_info(text));
        let (scheme, rest) = text.split_once("://").unwrap_or(("http", text));
        let kind = match scheme.to_ascii_lowercase().as_str() {
            "http" => Kind::Http,
            "socks5" => Kind::Socks5,
            "socks5h" => Kind::Socks5h,
            "https" => return Err(wrong("TLS to the proxy itself is not supported")),
            _ => return Err(wrong("the scheme is unknown")),
        };
        let typed = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let place = typed.rsplit_once('@').map_or(typed, |(_, place)| place);
        if place.ends_with(':') {
            return Err(wrong("the port is missing after the colon"));
        }
        let url = Url::parse(&format!("http://{rest}")).map_err(|error| match error {
            url::ParseError::InvalidPort => {
                wrong("the port is not a number from 1 to 65535 (in a password, / is %2F)")
            }
            url::ParseError::EmptyHost => wrong("the host is missing"),
            _ => wrong("the host is not a name or an address"),
        })?;
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(wrong(
                "a proxy has no path (in a password, / is %2F, ? is %3F, # is %23)",
            ));
        }
        let host = match url.host() {
            Some(Host::Domain(name)) => name.trim_end_matches('.').to_owned(),
            Some(Host::Ipv4(address)) => address.to_string(),
            Some(Host::Ipv6(address)) => address.to_string(),
            None => return Err(wrong("the host is missing")),
        };
        // The parser of URLs drops port 80, which is the default of http.
        let port = match place.rsplit_once(':') {
            Some((_, port)) if !port.contains(']') => port.parse().unwrap_or(0),
            _ => DEFAULT_PORT,
        };
        if port == 0 {
            return Err(wrong("the port is not a number from 1 to 65535"));
        }
        let credentials = match typed.rsplit_once('@') {
            Some((info, _)) => Some(credentials(kind, info).map_err(|reason| wrong(&reason))?),
            None => None,
        };
        Ok(Self {
            kind,
            host,
            port,
            credentials,
        })
    }
}

impl Proxy {
    /// The value of `Proxy-Authorization` (RFC 7617).
    #[must_use]
    pub fn authorization(&self) -> Option<String> {
        let Credentials { user, password } = self.credentials.as_ref()?;
        Some(basic(user, password))
    }
}

/// The value of `Authorization` for a user and a password (RFC 7617).
#[must_use]
pub fn basic(user: &[u8], password: &[u8]) -> String {
    let pair = [user, b":", password].concat();
    format!("Basic {}", STANDARD.encode(pair))
}

/// Decodes `user:password`.
fn credentials(kind: Kind, info: &str) -> Result<Credentials, String> {
    let (user, password) = info.split_once(':').unwrap_or((info, ""));
    let decoded = |text: &str| {
        let mut escapes = text.split('%').skip(1);
        let are_valid = escapes.all(|escape| {
            let digits = escape.as_bytes().get(..2);
            digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        });
        if !are_valid {
            return Err("after % in the user's name or password come two hexadecimal digits (% itself is %25)".to_owned());
        }
        let bytes: Vec<u8> = percent_decode_str(text).collect();
        if bytes.iter().any(u8::is_ascii_control) {
            return Err("the user's name or password has a control character".to_owned());
        }
        Ok(bytes)
    };
    let found = Credentials {
        user: decoded(user)?,
        password: decoded(password)?,
    };
    if found.user.is_empty() {
        return Err("the user's name before @ is empty".to_owned());
    }
    if kind == Kind::Http {
        if found.user.contains(&b':') {
            return Err("a user's name of HTTP has no colon".to_owned());
        }
        return Ok(found);
    }
    let longest = found.user.len().max(found.password.len());
    if longest > LONGEST_OF_SOCKS || found.password.is_empty() {
        return Err("SOCKS has user names and passwords of 1 to 255 bytes".to_owned());
    }
    Ok(found)
}

/// The text of a proxy with `***` in place of its user name and password.
#[must_use]
pub fn without_user_info(text: &str) -> String {
    let (scheme, rest) = text.split_once("://").map_or(("", text), |(scheme, rest)| {
        (&text[..scheme.len() + 3], rest)
    });
    match rest.rsplit_once('@') {
        Some((_, place)) => format!("{scheme}***@{place}"),
        None => text.to_owned(),
    }
}

/// `host:port`, an IPv6 address in brackets.
pub(crate) fn authority(host: &str, port: u16) -> String {
    if host.contains(':') {
        format!("[{host}]:{port}")
    } else {
        format!("{host}:{port}")
    }
}

/// A proxy, and the option or variable that names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProxy {
    /// The proxy.
    pub proxy: Proxy,
    /// `--proxy`, or the name of a variable.
    pub source: &'static str,
}

impl fmt::Display for NamedProxy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} (from {})", self.proxy, self.source)
    }
}

/// Proxies, each once, with the option or variable that names it; `None` without one.
pub fn names<'p>(proxies: impl Iterator<Item = &'p Arc<NamedProxy>>) -> Option<String> {
    let mut names: Vec<String> = Vec::new();
    for proxy in proxies {
        let name = proxy.to_string();
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(", "))
}

/// The proxies of a command, by the scheme of a URL, and the hosts without one.
#[derive(Debug, Clone, Default)]
pub struct Proxies {
    http: Option<Arc<NamedProxy>>,
    https: Option<Arc<NamedProxy>>,
    without: NoProxy,
    /// Hosts to connect to in place of others: then a proxy must open a tunnel, as in curl.
    reroute: Reroute,
}

/// The way to a server through a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The proxy.
    pub by: Arc<NamedProxy>,
    /// The end of the tunnel, host without brackets and port; `None`: the proxy forwards requests with absolute targets.
    pub tunnel: Option<(String, u16)>,
}

impl Proxies {
    /// Chooses the proxies as curl does: the option, or `http_proxy` (lower case only), `https_proxy`, `all_proxy`. An
    /// empty option means none, an empty variable is none. `without` is the text of an option in place of `no_proxy`.
    ///
    /// # Errors
    ///
    /// The line to print: the option or the variable, what is wrong, the cure.
    pub fn choose(
        option: Option<&str>,
        without: Option<&str>,
        reroute: Reroute,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let value = |name: &str| variable(name).filter(|value| !value.is_empty());
        let without = match without {
            Some(text) => {
                NoProxy::parse_strictly(text).map_err(|why| format!("--no-proxy: {why}"))?
            }
            None => NoProxy::parse(
                &value("no_proxy")
                    .or_else(|| value("NO_PROXY"))
                    .unwrap_or_default(),
            ),
        };
        let read = |source, text: &str| {
            let proxy = text.trim().parse();
            let proxy = proxy.map_err(|why| format!("{source}: {why}"))?;
            Ok::<_, String>(Some(Arc::new(NamedProxy { proxy, source })))
        };
        // Programs that a server starts may have `HTTP_PROXY` from a field of the request's header, so curl ignores it.
        let first = |names: &[&'static str]| {
            let mut set = names.iter().filter_map(|name| Some((*name, value(name)?)));
            set.next()
                .map_or(Ok(None), |(name, text)| read(name, &text))
        };
        let (http, https) = match option {
            Some("") => (None, None),
            Some(text) => {
                let proxy = read("--proxy", text)?;
                (proxy.clone(), proxy)
            }
            // Nothing is read where no host has a proxy.
            None if without.is_all => (None, None),
            None => (
                first(&["http_proxy", "all_proxy", "ALL_PROXY"])?,
                first(&["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])?,
            ),
        };
        Ok(Self {
            http,
            https,
            without,
            reroute,
        })
    }

    /// The proxies, each once, with the option or variable that names it; `None` without one.
    #[must_use]
    pub fn names(&self) -> Option<String> {
        names([&self.http, &self.https].into_iter().flatten())
    }

    /// Where to connect for a proxy. `--connect-to` is about servers, as in curl.
    #[must_use]
    pub fn place(&self, proxy: &Proxy) -> Place {
        let only_addresses = Reroute {
            connect_to: Vec::new(),
            resolve: self.reroute.resolve.clone(),
        };
        only_addresses.place(&proxy.host, proxy.port)
    }

    /// Whether no host has a proxy.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.http.is_none() && self.https.is_none()
    }

    /// The way to a server; `None`: no proxy. `is_multiplexed` says whether requests are those of HTTP/2, which a proxy
    /// does not forward.
    #[must_use]
    pub fn route(
        &self,
        host: &str,
        port: u16,
        is_tls: bool,
        is_multiplexed: bool,
    ) -> Option<Route> {
        let by = if is_tls { &self.https } else { &self.http };
        let by = by.as_ref().filter(|_| !self.without.has(host))?.clone();
        let host = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
            .unwrap_or(host);
        let host = host.strip_suffix('.').unwrap_or(host);
        let place = self.reroute.place(host, port);
        let is_moved = place.port != port || !place.host.eq_ignore_ascii_case(host);
        let is_forwarded = by.proxy.kind == Kind::Http && !is_tls && !is_multiplexed && !is_moved;
        Some(Route {
            by,
            tunnel: (!is_forwarded).then_some((place.host, place.port)),
        })
    }
}

/// Hosts without a proxy, as in curl's `no_proxy`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct NoProxy {
    is_all: bool,
    /// Names, which include their subdomains.
    names: Vec<String>,
    /// Addresses with the number of leading bits that must agree.
    networks: Vec<(IpAddr, u32)>,
}

impl NoProxy {
    /// Entries that are neither a name nor an address, such as one with a port, match no host, as in curl.
    fn parse(text: &str) -> Self {
        let mut all = Self {
            is_all: text.trim() == "*",
            ..Self::default()
        };
        for entry in entries(text) {
            let (address, bits) = match entry.split_once('/') {
                Some((address, bits)) => (address, Some(bits)),
                None => (entry, None),
            };
            let bare = address.trim_start_matches('[').trim_end_matches(']');
            let Ok(address) = bare.parse::<IpAddr>() else {
                let name = entry.strip_prefix('.').unwrap_or(entry);
                let name = name.strip_suffix('.').unwrap_or(name);
                if let Ok(Host::Domain(name)) = Host::parse(name) {
                    all.names.push(name);
                }
                continue;
            };
            let most = if address.is_ipv4() { 32 } else { 128 };
            let bits = bits.map_or(Some(most), |bits| bits.parse().ok());
            if let Some(bits) = bits.filter(|bits| *bits <= most) {
                all.networks.push((address, bits));
            }
        }
        all
    }

    /// Refuses what [`Self::parse`] ignores.
    fn parse_strictly(text: &str) -> Result<Self, String> {
        let all = Self::parse(text);
        if !all.is_all {
            let is_ignored = |entry: &&str| {
                let one = Self::parse(entry);
                one.is_all || one.names.is_empty() && one.networks.is_empty()
            };
            if let Some(entry) = entries(text).find(is_ignored) {
                return Err(format!(
                    "{entry:?} is not a host; write names, addresses or networks without ports, as a.example,192.0.2.0/24, or * alone"
                ));
            }
        }
        Ok(all)
    }

    fn has(&self, host: &str) -> bool {
        if self.is_all {
            return true;
        }
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse::<IpAddr>() {
            let mut networks = self.networks.iter();
            return networks.any(|(network, bits)| are_alike(address, *network, *bits));
        }
        let host = host.strip_suffix('.').unwrap_or(host).to_ascii_lowercase();
        self.names.iter().any(|name| {
            host.strip_suffix(name.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        })
    }
}

fn entries(text: &str) -> impl Iterator<Item = &str> {
    text.split([',', ' ', '\t'])
        .filter(|entry| !entry.is_empty())
}

/// Whether two addresses have the same leading bits.
fn are_alike(one: IpAddr, other: IpAddr, bits: u32) -> bool {
    match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => {
            (one.to_bits() ^ other.to_bits()).leading_zeros() >= bits
        }
        (IpAddr::V6(one), IpAddr::V6(other)) => {
            (one.to_bits() ^ other.to_bits()).leading_zeros() >= bits
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_has_curls_forms() {
        for (text, expected, authorization) in [
            ("http://a.test:3128", "http://a.test:3128", None),
            ("http://a.test:3128/", "http://a.test:3128", None),
            ("a.test", "http://a.test:1080", None),
            ("a.test:80", "http://a.test:80", None),
            ("HTTP://A.TEST:80", "http://a.test:80", None),
            ("127.0.0.1:8080", "http://127.0.0.1:8080", None),
            ("http://[::1]", "http://[::1]:1080", None),
            ("http://[::1]:81", "http://[::1]:81", None),
            ("socks5://a.test", "socks5://a.test:1080", None),
            ("Socks5h://a.test.:9", "socks5h://a.test:9", None),
            ("http://me:pw@a.test:1", "http://a.test:1", Some("me:pw")),
            ("me:pw@a.test", "http://a.test:1080", Some("me:pw")),
            ("http://me@a.test:1", "http://a.test:1", Some("me:")),
            (
                "http://m%40e:p%3Aw%25@%e2%82%ac@a.test:1",
                "http://a.test:1",
                Some("m@e:p:w%@\u{20ac}"),
            ),
        ] {
            let proxy: Proxy = text.parse().unwrap();
            assert_eq!(proxy.to_string(), expected, "{text}");
            let encoded = authorization.map(|pair| format!("Basic {}", STANDARD.encode(pair)));
            assert_eq!(proxy.authorization(), encoded, "{text}");
            assert!(!format!("{proxy:?}").contains("pw"));
        }
        let proxy: Proxy = "socks5://me:planted@a.test".parse().unwrap();
        let Credentials { user, password } = proxy.credentials.unwrap();
        assert_eq!((&user[..], &password[..]), (&b"me"[..], &b"planted"[..]));
    }

    #[test]
    fn what_is_no_proxy_is_refused_without_its_credentials() {
        for (text, shown, reason) in [
            ("https://a.test:1", "https://a.test:1", "TLS to the proxy"),
            ("ftp://a.test:1", "ftp://a.test:1", "scheme is unknown"),
            (
                "socks4://a.test:1",
                "socks4://a.test:1",
                "scheme is unknown",
            ),
            ("http://a.test:", "http://a.test:", "port is missing"),
            ("http://a.test:x", "http://a.test:x", "port is not a number"),
            ("http://a.test:0", "http://a.test:0", "port is not a number"),
            (
                "http://a.test:70000",
                "http://a.test:70000",
                "port is not a number",
            ),
            ("http://", "http://", "host is missing"),
            ("http://:80", "http://:80", "host is missing"),
            ("http://a b:1", "http://a b:1", "host is not a name"),
            ("http://a.test/x", "http://a.test/x", "has no path"),
            ("http://me:planted/x@a.test:1", "http://***@a.test:1", "%2F"),
            (
                "http://me:80/planted@a.test:1",
                "http://***@a.test:1",
                "%2F",
            ),
            (
                "http://me:planted%2@a.test:1",
                "http://***@a.test:1",
                "after %",
            ),
            (
                "http://me:planted%0a@a.test",
                "http://***@a.test",
                "control",
            ),
            (
                "http://m%3Ae:planted@a.test",
                "http://***@a.test",
                "no colon",
            ),
            ("http://:planted@a.test", "http://***@a.test", "is empty"),
            ("socks5://planted@a.test", "socks5://***@a.test", "1 to 255"),
            (
                "me:planted@a.test:x",
                "***@a.test:x",
                "port is not a number",
            ),
        ] {
            let refused = text.parse::<Proxy>().unwrap_err();
            assert!(refused.starts_with(&format!("{shown:?}: ")), "{refused}");
            assert!(refused.contains(reason), "{text}: {refused}");
            assert!(!refused.contains("planted"), "{refused}");
        }
        let long = format!("socks5h://me:{}@a.test", "p".repeat(256));
        assert!(long.parse::<Proxy>().unwrap_err().contains("1 to 255"));
    }

    #[test]
    fn hosts_without_a_proxy_are_matched_as_in_curl() {
        for (list, host, expected) in [
            ("", "a.test", false),
            ("*", "a.test", true),
            (" * ", "::1", true),
            ("b.test,*", "a.test", false),
            ("a.test", "a.test", true),
            ("a.test", "A.TEST", true),
            ("a.test", "a.test.", true),
            ("a.test.", "a.test", true),
            ("a.test", "x.a.test", true),
            ("a.test", "xa.test", false),
            ("a.test", "a.test.org", false),
            (".a.test", "a.test", true),
            (".a.test", "x.a.test", true),
            (".a.test", "xa.test", false),
            ("b\u{fc}cher.test", "xn--bcher-kva.test", true),
            ("b.test, ,a.test", "a.test", true),
            ("b.test a.test", "a.test", true),
            // A port matches no host.
            ("a.test:80", "a.test", false),
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("0.0.1", "127.0.0.1", false),
            ("127.0.0.0/8", "127.9.9.9", true),
            ("127.0.0.0/8", "128.0.0.1", false),
            ("10.0.0.0/0", "128.0.0.1", true),
            ("10.0.0.0/33", "10.0.0.0", false),
            ("10.0.0.0/x", "10.0.0.0", false),
            ("10.0.0.0/8", "::1", false),
            ("::1", "[::1]", true),
            ("[::1]", "::1", true),
            ("2001:db8::/33", "2001:db8:7fff::1", true),
            ("2001:db8::/33", "2001:db8:8000::1", false),
            ("localhost", "127.0.0.1", false),
        ] {
            assert_eq!(NoProxy::parse(list).has(host), expected, "{list} {host}");
        }
        for list in ["a.test:80", "a.test,10.0.0.0/33", "a.test,*", "a b,c d:1"] {
            assert!(NoProxy::parse_strictly(list).is_err(), "{list}");
        }
        for list in ["", "*", "a.test, .b.test ::1,10.0.0.0/8"] {
            assert_eq!(NoProxy::parse_strictly(list), Ok(NoProxy::parse(list)));
        }
    }

    type Variables = &'static [(&'static str, &'static str)];

    fn chosen(
        option: Option<&str>,
        without: Option<&str>,
        variables: Variables,
    ) -> Result<Proxies, String> {
        Proxies::choose(option, without, Reroute::default(), |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_option_comes_before_the_environment() {
        let all: Variables = &[
            ("http_proxy", "a:1"),
            ("HTTP_PROXY", "b:1"),
            ("https_proxy", "c:1"),
            ("HTTPS_PROXY", "d:1"),
            ("all_proxy", "socks5://e:1"),
            ("ALL_PROXY", "f:1"),
        ];
        let empty: Variables = &[
            ("http_proxy", ""),
            ("https_proxy", ""),
            ("ALL_PROXY", "f:1"),
        ];
        let upper: Variables = &[("HTTP_PROXY", "b:1"), ("HTTPS_PROXY", "d:1")];
        let lists: Variables = &[("http_proxy", "a:1"), ("NO_PROXY", "x.test")];
        for (option, without, variables, http, https) in [
            (None, None, &[][..], "", ""),
            (
                None,
                None,
                all,
                "http://a:1 (from http_proxy)",
                "http://c:1 (from https_proxy)",
            ),
            (
                None,
                None,
                &all[3..],
                "socks5://e:1 (from all_proxy)",
                "http://d:1 (from HTTPS_PROXY)",
            ),
            (
                None,
                None,
                &all[5..],
                "http://f:1 (from ALL_PROXY)",
                "http://f:1 (from ALL_PROXY)",
            ),
            (
                None,
                None,
                empty,
                "http://f:1 (from ALL_PROXY)",
                "http://f:1 (from ALL_PROXY)",
            ),
            (None, None, upper, "", "http://d:1 (from HTTPS_PROXY)"),
            (Some(""), None, all, "", ""),
            (
                Some("o:1"),
                None,
                all,
                "http://o:1 (from --proxy)",
                "http://o:1 (from --proxy)",
            ),
            (None, Some("*"), all, "", ""),
            (None, None, lists, "", ""),
            (Some("o:1"), None, lists, "", ""),
            (
                Some("o:1"),
                Some(""),
                lists,
                "http://o:1 (from --proxy)",
                "http://o:1 (from --proxy)",
            ),
        ] {
            let proxies = chosen(option, without, variables).unwrap();
            for (is_tls, expected) in [(false, http), (true, https)] {
                let found = proxies.route("x.test", 1, is_tls, false);
                let found = found.map_or_else(String::new, |route| route.by.to_string());
                assert_eq!(found, expected, "{option:?} {without:?} {variables:?}");
            }
        }
    }

    #[test]
    fn a_mistake_names_its_source() {
        let cases: [(Option<&str>, Option<&str>, Variables, &str); 5] = [
            (Some("ftp://a"), None, &[], "--proxy: \"ftp://a\": "),
            (
                None,
                None,
                &[("http_proxy", "http://a:x")],
                "http_proxy: \"http://a:x\": ",
            ),
            (
                None,
                None,
                &[("HTTPS_PROXY", "a:")],
                "HTTPS_PROXY: \"a:\": ",
            ),
            (
                None,
                None,
                &[("ALL_PROXY", "me:planted@a:")],
                "ALL_PROXY: \"***@a:\": ",
            ),
            (
                None,
                Some("a:1"),
                &[],
                "--no-proxy: \"a:1\" is not a host; ",
            ),
        ];
        for (option, without, variables, expected) in cases {
            let refused = chosen(option, without, variables).unwrap_err();
            assert!(refused.starts_with(expected), "{refused}");
        }
    }

    #[test]
    fn only_plain_http1_to_the_host_of_the_url_is_forwarded() {
        let reroute = || Reroute {
            connect_to: vec!["b.test:80:c.test:8080".parse().unwrap()],
            resolve: vec!["a.test:80:127.0.0.1".parse().unwrap()],
        };
        let tunnel = |host: &str, port| Some((host.to_owned(), port));
        for (proxy, host, port, is_tls, is_multiplexed, expected) in [
            ("http://p", "a.test", 80, false, false, None),
            (
                "http://p",
                "a.test",
                443,
                true,
                false,
                tunnel("a.test", 443),
            ),
            ("http://p", "a.test", 80, false, true, tunnel("a.test", 80)),
            (
                "http://p",
                "b.test",
                80,
                false,
                false,
                tunnel("c.test", 8080),
            ),
            ("socks5://p", "[::1]", 80, false, false, tunnel("::1", 80)),
            (
                "socks5h://p",
                "a.test",
                80,
                false,
                false,
                tunnel("a.test", 80),
            ),
        ] {
            let proxies = Proxies::choose(Some(proxy), None, reroute(), |_| None).unwrap();
            let route = proxies.route(host, port, is_tls, is_multiplexed).unwrap();
            assert_eq!(route.tunnel, expected, "{proxy} {host}");
        }
    }
}
