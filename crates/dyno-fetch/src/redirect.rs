//! Target of a redirect.

use dyno_client::Failure;
use url::Url;

/// Whether an answer with this status and a `Location` is a redirect.
#[must_use]
pub const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Resolves a `Location` against the URL of the answer.
///
/// # Errors
///
/// [`Failure::InvalidRedirect`] if the result is not a URL, [`Failure::UnsupportedScheme`] if its scheme is not
/// http or https.
pub fn resolve(at: &Url, location: &[u8]) -> Result<Url, Failure> {
    // Bytes above 127 have no defined meaning here; in practice they are UTF-8, which the URL parser encodes.
    let text = std::str::from_utf8(location).map_err(|_| Failure::InvalidRedirect)?;
    let mut next = at.join(text.trim()).map_err(|_| Failure::InvalidRedirect)?;
    if !matches!(next.scheme(), "http" | "https") {
        return Err(Failure::UnsupportedScheme);
    }
    if next.host_str().is_none_or(str::is_empty) {
        return Err(Failure::InvalidRedirect);
    }
    // The fragment of the requested URL remains, unless the location has its own (RFC 9110, 10.2.2).
    if next.fragment().is_none() {
        next.set_fragment(at.fragment());
    }
    Ok(next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_are_relative_to_where_they_were_found() {
        let at = Url::parse("https://a.test/b/c?d#e").unwrap();
        let cases: [(&[u8], Result<&str, Failure>); 12] = [
            (b"https://b.test/", Ok("https://b.test/#e")),
            (b"http://b.test", Ok("http://b.test/#e")),
            (b"//b.test/x", Ok("https://b.test/x#e")),
            (b"/x", Ok("https://a.test/x#e")),
            (b"x#y", Ok("https://a.test/b/x#y")),
            (b"?x", Ok("https://a.test/b/c?x#e")),
            (b"", Ok("https://a.test/b/c?d#e")),
            (b"  /x  ", Ok("https://a.test/x#e")),
            ("/\u{fc}".as_bytes(), Ok("https://a.test/%C3%BC#e")),
            (b"https://b.test:99999/", Err(Failure::InvalidRedirect)),
            (b"/\xff", Err(Failure::InvalidRedirect)),
            (b"mailto:a@b.test", Err(Failure::UnsupportedScheme)),
        ];
        for (location, expected) in cases {
            let next = resolve(&at, location).map(String::from);
            assert_eq!(
                next.as_deref().map_err(|failure| *failure),
                expected,
                "{}",
                String::from_utf8_lossy(location)
            );
        }
    }

    #[test]
    fn only_five_statuses_send_elsewhere() {
        let sends: Vec<u16> = (100..600).filter(|status| is_redirect(*status)).collect();
        assert_eq!(sends, [301, 302, 303, 307, 308]);
    }
}
