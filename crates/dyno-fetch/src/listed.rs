//! A line of the list: its URL, and the origin and the target of its request.

use std::borrow::Cow;
use std::net::IpAddr;
use std::rc::Rc;

use dyno_client::Failure;
use percent_encoding::{AsciiSet, percent_encode};
use url::Url;

/// The peer of a connection: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Origin {
    /// Whether it uses TLS.
    pub encrypted: bool,
    /// The host as in a URL: lower case, an IPv6 address in brackets.
    pub host: Box<str>,
    /// The port.
    pub port: u16,
}

impl Origin {
    /// Returns the origin of an http or https URL.
    ///
    /// # Errors
    ///
    /// If the scheme is another, or there is no host.
    pub fn of(url: &Url) -> Result<Rc<Self>, Failure> {
        let encrypted = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(Failure::UnsupportedScheme),
        };
        let host = url
            .host_str()
            .filter(|host| !host.is_empty())
            .ok_or(Failure::InvalidUrl)?;
        let port = url.port_or_known_default().ok_or(Failure::InvalidUrl)?;
        Ok(Rc::new(Self {
            encrypted,
            host: host.into(),
            port,
        }))
    }

    /// The name that the certificate must have: without brackets and without the final dot.
    #[must_use]
    pub fn certified_name(&self) -> &str {
        let bare = self
            .host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        bare.unwrap_or_else(|| self.host.strip_suffix('.').unwrap_or(&self.host))
    }

    /// Host and port.
    #[must_use]
    pub fn place(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    /// Host and port as in the `Host` header.
    #[must_use]
    pub fn authority(&self) -> String {
        match (self.encrypted, self.port) {
            (true, 443) | (false, 80) => self.host.to_string(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }
}

/// Parses the URL of a line. Blanks, and bytes that are not UTF-8, are encoded as browsers do; with `strict`, such a
/// line is not a URL.
///
/// # Errors
///
/// [`Failure::InvalidUrl`] if the line is not an absolute URL, [`Failure::UnsupportedScheme`] if its scheme is not
/// http or https.
pub fn parse(line: &[u8], strict: bool) -> Result<Url, Failure> {
    let text: Cow<'_, str> = match std::str::from_utf8(line) {
        Ok(text) => text.trim().into(),
        Err(_) if strict => return Err(Failure::InvalidUrl),
        Err(_) => percent_encode(line.trim_ascii(), &AsciiSet::EMPTY).into(),
    };
    let text = &*text;
    // The URL parser is made for browsers: it removes tabs, which separate columns in a list.
    let is_wrong =
        |character: char| character.is_control() || (strict && character.is_whitespace());
    if text.contains(is_wrong) {
        return Err(Failure::InvalidUrl);
    }
    let (scheme, rest) = text.split_once("://").ok_or(Failure::InvalidUrl)?;
    if rest.starts_with(['/', '\\', '?', '#']) || rest.is_empty() {
        return Err(Failure::InvalidUrl);
    }
    let url = Url::parse(text).map_err(|_| Failure::InvalidUrl)?;
    if !["http", "https"]
        .iter()
        .any(|known| scheme.eq_ignore_ascii_case(known))
    {
        return Err(Failure::UnsupportedScheme);
    }
    Ok(url)
}

/// The path with the query, as in the request line.
#[must_use]
pub fn target(url: &Url) -> &str {
    &url[url::Position::BeforePath..url::Position::AfterQuery]
}

/// The part of a host that was registered, by the public suffix list: `a.example.co.uk` is of `example.co.uk`. An
/// address, and a name without a registered part, is its own domain.
#[must_use]
pub fn registered_domain(host: &str) -> &str {
    let name = host.strip_suffix('.').unwrap_or(host);
    if name.starts_with('[') || name.parse::<IpAddr>().is_ok() {
        return name;
    }
    psl::domain_str(name).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_is_the_registered_part_of_a_host() {
        let cases = [
            ("example.com", "example.com"),
            ("a.b.example.com", "example.com"),
            ("a.example.com.", "example.com"),
            ("a.example.co.uk", "example.co.uk"),
            ("one.github.io", "one.github.io"),
            ("b.one.github.io", "one.github.io"),
            ("co.uk", "co.uk"),
            ("localhost", "localhost"),
            ("a.b.test", "b.test"),
            ("127.0.0.1", "127.0.0.1"),
            ("[2001:db8::1]", "[2001:db8::1]"),
            ("xn--bcher-kva.example.de", "example.de"),
        ];
        for (host, domain) in cases {
            assert_eq!(registered_domain(host), domain, "{host}");
        }
    }

    #[test]
    fn lines_are_urls_or_say_why_not() {
        let cases: [(&[u8], Result<&str, Failure>); 14] = [
            (b"https://a.test", Ok("https://a.test/")),
            (
                b" \thttp://a.test/b,c?d=e#f \r",
                Ok("http://a.test/b,c?d=e#f"),
            ),
            (b"HTTPS://A.TEST/", Ok("https://a.test/")),
            (
                "https://b\u{fc}cher.test/".as_bytes(),
                Ok("https://xn--bcher-kva.test/"),
            ),
            (b"two words", Err(Failure::InvalidUrl)),
            (b"https://exa mple.test/", Err(Failure::InvalidUrl)),
            (b"plain.test", Err(Failure::InvalidUrl)),
            (b"https://plain.test:99999/", Err(Failure::InvalidUrl)),
            (b"https://", Err(Failure::InvalidUrl)),
            (b"https:///path", Err(Failure::InvalidUrl)),
            (b"https://?q", Err(Failure::InvalidUrl)),
            (b"https://\xff.test/", Err(Failure::InvalidUrl)),
            (b"https://a.test/\x00", Err(Failure::InvalidUrl)),
            (b"ftp://plain.test/", Err(Failure::UnsupportedScheme)),
        ];
        for (line, expected) in cases {
            let parsed = parse(line, true).map(String::from);
            assert_eq!(parse(line, false).map(String::from), parsed);
            assert_eq!(
                parsed.as_deref().map_err(|failure| *failure),
                expected,
                "{}",
                String::from_utf8_lossy(line)
            );
        }
    }

    #[test]
    fn urls_are_read_as_people_write_them() {
        let cases: [(&[u8], Result<&str, Failure>); 11] = [
            (
                b"http://a.test/a page?q=a b#c d",
                Ok("http://a.test/a%20page?q=a%20b#c%20d"),
            ),
            (
                "http://a.test/\u{a0}\u{fc}?\u{fc}".as_bytes(),
                Ok("http://a.test/%C2%A0%C3%BC?%C3%BC"),
            ),
            (b"http://a.test/caf\xe9 ", Ok("http://a.test/caf%E9")),
            (b"http://a_b.-c-.test/", Ok("http://a_b.-c-.test/")),
            (b"http://A.Test./", Ok("http://a.test./")),
            (b"http://a.test:/\\b", Ok("http://a.test//b")),
            (b"http://me:a b@a.test/", Ok("http://me:a%20b@a.test/")),
            (b"http://a b.test/", Err(Failure::InvalidUrl)),
            (b"http://a.test/\tb", Err(Failure::InvalidUrl)),
            (b"http://\xff.test/", Err(Failure::InvalidUrl)),
            (b"two words", Err(Failure::InvalidUrl)),
        ];
        for (line, expected) in cases {
            let parsed = parse(line, false).map(String::from);
            let shown = String::from_utf8_lossy(line);
            assert_eq!(
                parsed.as_deref().map_err(|failure| *failure),
                expected,
                "{shown}"
            );
        }
        assert_eq!(parse(b"http://a.test/a b", true), Err(Failure::InvalidUrl));
        assert_eq!(parse(b"http://a.test/\xe9", true), Err(Failure::InvalidUrl));
    }

    #[test]
    fn an_origin_knows_its_names() {
        let cases = [
            ("https://a.test/x", "a.test", "a.test"),
            ("https://a.test.:8443/", "a.test.:8443", "a.test"),
            (
                "http://[2001:db8::1]:81/",
                "[2001:db8::1]:81",
                "2001:db8::1",
            ),
            ("http://a.test:443/", "a.test:443", "a.test"),
        ];
        for (url, authority, certified) in cases {
            let origin = Origin::of(&Url::parse(url).unwrap()).unwrap();
            assert_eq!(
                (origin.authority().as_str(), origin.certified_name()),
                (authority, certified)
            );
        }
    }
}
