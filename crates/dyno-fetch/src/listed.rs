//! A line of the list: its URL, and the origin and the target of its request.

use std::rc::Rc;

use dyno_client::Failure;
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

    /// Host and port as in the `Host` header.
    #[must_use]
    pub fn authority(&self) -> String {
        match (self.encrypted, self.port) {
            (true, 443) | (false, 80) => self.host.to_string(),
            (_, port) => format!("{}:{port}", self.host),
        }
    }
}

/// Parses the URL of a line.
///
/// # Errors
///
/// [`Failure::InvalidUrl`] if the line is not an absolute URL, [`Failure::UnsupportedScheme`] if its scheme is not
/// http or https.
pub fn parse(line: &[u8]) -> Result<Url, Failure> {
    let text = std::str::from_utf8(line)
        .map_err(|_| Failure::InvalidUrl)?
        .trim();
    // The URL parser is made for browsers: it repairs invalid URLs and removes whitespace.
    if text.contains(|character: char| character.is_whitespace() || character.is_control()) {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            let parsed = parse(line).map(String::from);
            assert_eq!(
                parsed.as_deref().map_err(|failure| *failure),
                expected,
                "{}",
                String::from_utf8_lossy(line)
            );
        }
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
