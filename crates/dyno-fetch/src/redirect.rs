//! Target of a redirect.

use std::borrow::Cow;

use dyno_client::Failure;
use percent_encoding::{AsciiSet, percent_encode};
use url::Url;

/// Only bytes above 127 are encoded: the parser of URLs treats the rest.
const NON_ASCII: &AsciiSet = &AsciiSet::EMPTY;

/// Whether an answer with this status and a `Location` is a redirect.
#[must_use]
pub const fn is_redirect(status: u16) -> bool {
    matches!(status, 301 | 302 | 303 | 307 | 308)
}

/// Returns the target of a redirect, from the values of all its `Location` fields and the URL of the answer; `None` if
/// there is none, or an empty one.
///
/// # Errors
///
/// [`Failure::InvalidRedirect`] if two fields differ (browsers refuse this, because one may be injected), or if the
/// result is not a URL; [`Failure::UnsupportedScheme`] if its scheme is not http or https.
pub fn target<'v>(
    at: &Url,
    mut locations: impl Iterator<Item = &'v [u8]>,
) -> Result<Option<Url>, Failure> {
    let Some(location) = locations.next() else {
        return Ok(None);
    };
    if locations.any(|other| other != location) {
        return Err(Failure::InvalidRedirect);
    }
    if location.trim_ascii().is_empty() {
        return Ok(None);
    }
    resolve(at, location).map(Some)
}

/// Resolves a `Location` against the URL of the answer, as browsers do (WHATWG URL).
///
/// # Errors
///
/// See [`target`].
fn resolve(at: &Url, location: &[u8]) -> Result<Url, Failure> {
    // Bytes above 127 have no defined meaning here: UTF-8 and Latin-1 are both found, and both are sent back as they came.
    let text = percent_encode(location, NON_ASCII);
    let text = Cow::from(text);
    let mut next = at.join(&text).map_err(|_| Failure::InvalidRedirect)?;
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
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn locations_are_relative_to_where_they_were_found() {
        let at = Url::parse("https://a.test/b/c?d#e").unwrap();
        let cases: [(&[u8], Result<&str, Failure>); 23] = [
            (b"https://b.test/", Ok("https://b.test/#e")),
            (b"http://b.test", Ok("http://b.test/#e")),
            (b"//b.test/x", Ok("https://b.test/x#e")),
            (b"/x", Ok("https://a.test/x#e")),
            (b"x#y", Ok("https://a.test/b/x#y")),
            (b"?x", Ok("https://a.test/b/c?x#e")),
            (b"#", Ok("https://a.test/b/c?d#")),
            (b"../../x/./y/..", Ok("https://a.test/x/#e")),
            (b"/a b?c d", Ok("https://a.test/a%20b?c%20d#e")),
            (b"\\x\\y", Ok("https://a.test/x/y#e")),
            (b"/\\b.test/x", Ok("https://b.test/x#e")),
            (b"/a\tb\r\nc", Ok("https://a.test/abc#e")),
            (b"https:/x", Ok("https://a.test/x#e")),
            (b"http:///b.test/x", Ok("http://b.test/x#e")),
            (b"HTTPS://B.TEST:443/x", Ok("https://b.test/x#e")),
            (b"/%zz%", Ok("https://a.test/%zz%#e")),
            (b"  /x  ", Ok("https://a.test/x#e")),
            ("/\u{fc}".as_bytes(), Ok("https://a.test/%C3%BC#e")),
            (b"https://b.test:99999/", Err(Failure::InvalidRedirect)),
            (b"/caf\xe9?\xe9", Ok("https://a.test/caf%E9?%E9#e")),
            (
                "//b\u{fc}cher.test/".as_bytes(),
                Ok("https://xn--bcher-kva.test/#e"),
            ),
            (b"//b\xfccher.test/", Err(Failure::InvalidRedirect)),
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
    fn only_one_location_counts() {
        let at = Url::parse("https://a.test/").unwrap();
        let to_x = || Ok(Some("https://a.test/x"));
        let cases = [
            (&[][..], Ok(None)),
            (&[""], Ok(None)),
            (&["  "], Ok(None)),
            (&["/x"], to_x()),
            (&["/x", "/x"], to_x()),
            (&["/x", "/y"], Err(Failure::InvalidRedirect)),
        ];
        for (locations, expected) in cases {
            let next = target(&at, locations.iter().map(|value| value.as_bytes()));
            let next = next.map(|next| next.map(String::from));
            let next = next.as_ref().map(Option::as_deref);
            assert_eq!(next.map_err(|failure| *failure), expected, "{locations:?}");
        }
    }

    #[test]
    fn only_five_statuses_send_elsewhere() {
        let sends: Vec<u16> = (100..600).filter(|status| is_redirect(*status)).collect();
        assert_eq!(sends, [301, 302, 303, 307, 308]);
    }

    proptest! {
        #[test]
        fn any_location_is_a_url_or_refused(location: Vec<u8>) {
            let at = Url::parse("https://a.test/b/c?d#e").unwrap();
            if let Ok(Some(next)) = target(&at, std::iter::once(&location[..])) {
                prop_assert!(matches!(next.scheme(), "http" | "https"));
                prop_assert!(next.fragment().is_some());
                prop_assert!(next.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }

        #[test]
        fn bytes_above_127_arrive_as_they_are(bytes in prop::collection::vec(128_u8.., 1..9)) {
            let at = Url::parse("https://a.test/b").unwrap();
            let next = resolve(&at, &[b"/", &bytes[..], b"?", &bytes[..]].concat()).unwrap();
            let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
            prop_assert_eq!(decoded(&next.path()[1..]), &bytes[..]);
            prop_assert_eq!(decoded(next.query().unwrap()), &bytes[..]);
        }
    }
}
