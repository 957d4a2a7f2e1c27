//! Cookies (RFC 6265, with the limits and prefixes of its revision 6265bis): those of one chain of redirects, and those
//! of a file.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use cookie::Cookie;
use url::{Host, Url};

/// Longest cookie: name and value, in bytes. Browsers ignore a longer one, too.
const MAX_COOKIE_BYTES: usize = 4096;
/// Most cookies of a chain, and their bytes; then the oldest are dropped.
const MAX_COOKIES: usize = 64;
const MAX_JAR_BYTES: usize = 32 << 10;

/// A cookie, and where it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stored {
    name: Box<[u8]>,
    value: Box<[u8]>,
    /// In lower case, without a leading dot.
    domain: Box<str>,
    /// Whether subdomains do not get it.
    host_only: bool,
    path: Box<[u8]>,
    /// Whether only https gets it.
    secure: bool,
    /// Whether it was deleted: then it also hides one of the file.
    gone: bool,
}

impl Stored {
    fn bytes(&self) -> usize {
        self.name.len() + self.value.len() + self.domain.len() + self.path.len()
    }

    /// Whether it replaces the other one (RFC 6265, 5.3).
    fn is_same(&self, other: &Self) -> bool {
        (&self.name, &self.domain, &self.path) == (&other.name, &other.domain, &other.path)
    }

    /// Whether it is sent to a URL, if its domain fits.
    fn fits(&self, to: &Url, host: &str) -> bool {
        (!self.host_only || *self.domain == *host)
            && (!self.secure || to.scheme() == "https")
            && path_matches(to.path().as_bytes(), &self.path)
    }
}

/// The cookies of one chain of redirects.
#[derive(Debug, Default)]
pub struct Jar {
    cookies: Vec<Stored>,
}

impl Jar {
    /// Stores a `Set-Cookie` of an answer. Returns false if it is ignored: malformed, too long, or not this site's to set.
    pub fn store(&mut self, at: &Url, line: &[u8], now: SystemTime) -> bool {
        let Some(new) = received(at, line, now) else {
            return false;
        };
        match self.cookies.iter_mut().find(|old| old.is_same(&new)) {
            // It keeps its place in the order.
            Some(old) => *old = new,
            None => self.cookies.push(new),
        }
        let mut bytes: usize = self.cookies.iter().map(Stored::bytes).sum();
        while self.cookies.len() > MAX_COOKIES || bytes > MAX_JAR_BYTES {
            bytes -= self.cookies.remove(0).bytes();
        }
        true
    }
}

/// The cookie of a `Set-Cookie`, unless it must be ignored.
fn received(at: &Url, line: &[u8], now: SystemTime) -> Option<Stored> {
    if line
        .iter()
        .any(|byte| byte.is_ascii_control() && *byte != b'\t')
    {
        return None;
    }
    // Each byte becomes a character and back, because values are bytes of any encoding.
    let text: String = line.iter().copied().map(char::from).collect();
    let cookie = Cookie::parse(text).ok()?;
    let (name, value) = (bytes(cookie.name()), bytes(cookie.value()));
    if name.len() + value.len() > MAX_COOKIE_BYTES {
        return None;
    }
    let host = at.host_str()?;
    let wanted = cookie.domain().filter(|domain| !domain.is_empty());
    let domain = match wanted.map(str::to_ascii_lowercase) {
        Some(domain) if domain == host => Some(domain),
        Some(domain) if is_suffix(&domain) || !is_below(at, host, &domain) => return None,
        other => other,
    };
    // A host that is itself a suffix, or an address, has no subdomains to send it to.
    let host_only = domain.as_deref().is_none_or(is_suffix) || !has_name(at);
    let is_https = at.scheme() == "https";
    let secure = cookie.secure() == Some(true);
    let path = cookie.path().filter(|path| path.starts_with('/'));
    let prefix = name.to_ascii_lowercase();
    let is_host_prefix = prefix.starts_with(b"__host-");
    if (secure && !is_https)
        || ((is_host_prefix || prefix.starts_with(b"__secure-")) && !secure)
        || (is_host_prefix && (wanted.is_some() || path != Some("/")))
    {
        return None;
    }
    Some(Stored {
        name,
        value,
        domain: domain.unwrap_or_else(|| host.to_owned()).into(),
        host_only,
        path: path.map_or_else(|| default_path(at), bytes),
        secure,
        gone: is_gone(&cookie, now),
    })
}

fn bytes(text: &str) -> Box<[u8]> {
    text.chars()
        .map(|character| u8::try_from(character).unwrap_or(b'?'))
        .collect()
}

/// Whether a cookie has expired; `Max-Age` wins over `Expires`.
fn is_gone(cookie: &Cookie<'_>, now: SystemTime) -> bool {
    match (cookie.max_age(), cookie.expires_datetime()) {
        (Some(age), _) => !age.is_positive(),
        (None, Some(end)) => end.unix_timestamp() <= unix_time(now),
        (None, None) => false,
    }
}

fn unix_time(time: SystemTime) -> i64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Whether the host has a name, and not an address.
fn has_name(url: &Url) -> bool {
    matches!(url.host(), Some(Host::Domain(_)))
}

/// Whether a host is below a domain (RFC 6265, 5.1.3).
fn is_below(url: &Url, host: &str, domain: &str) -> bool {
    let rest = host.strip_suffix(domain);
    has_name(url) && rest.is_some_and(|rest| rest.ends_with('.'))
}

/// Whether many sites are below this domain, by the public suffix list, so that no cookie may be for all of it.
fn is_suffix(domain: &str) -> bool {
    let domain = domain.trim_end_matches('.');
    psl::suffix_str(domain) == Some(domain)
}

/// The path of a cookie that names none: that of the URL, up to the last slash (RFC 6265, 5.1.4).
fn default_path(url: &Url) -> Box<[u8]> {
    let path = url.path();
    let end = path.rfind('/').unwrap_or(0);
    path.as_bytes()[..end.max(1).min(path.len())].into()
}

fn path_matches(path: &[u8], of_cookie: &[u8]) -> bool {
    let rest = path.strip_prefix(of_cookie);
    rest.is_some_and(|rest| rest.is_empty() || of_cookie.ends_with(b"/") || rest[0] == b'/')
}

/// Cookies of a file, in the Netscape format of browsers, curl and wget.
#[derive(Debug, Default)]
pub struct CookieFile {
    by_domain: HashMap<Box<str>, Vec<Stored>>,
}

impl CookieFile {
    /// Parses the file: seven columns between tabs (domain, whether subdomains get it, path, whether only https gets it,
    /// expiry in seconds since 1970 or 0, name, value). Cookies that have expired are left out.
    ///
    /// # Errors
    ///
    /// The number of the first line that is not a cookie, from 1.
    pub fn parse(text: &[u8], now: SystemTime) -> Result<Self, usize> {
        let mut file = Self::default();
        for (index, line) in text.split(|byte| *byte == b'\n').enumerate() {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let line = line.strip_prefix(b"#HttpOnly_").unwrap_or(line);
            if line.trim_ascii().is_empty() || line.starts_with(b"#") {
                continue;
            }
            let (cookie, end) = listed(line).ok_or(index + 1)?;
            if end == 0 || end > unix_time(now) {
                let of_domain = file.by_domain.entry(cookie.domain.clone()).or_default();
                of_domain.retain(|old| !old.is_same(&cookie));
                of_domain.push(cookie);
            }
        }
        Ok(file)
    }

    /// The cookies for a host and the domains above it.
    fn of_host<'f>(&'f self, url: &Url, host: &'f str) -> impl Iterator<Item = &'f Stored> {
        let dots = host.match_indices('.').filter(|_| has_name(url));
        let above: Vec<&str> = dots.map(|(at, _)| &host[at + 1..]).collect();
        let domains = std::iter::once(host).chain(above);
        domains.flat_map(|domain| self.by_domain.get(domain).into_iter().flatten())
    }
}

/// The cookie of a line of a file, and when it expires.
fn listed(line: &[u8]) -> Option<(Stored, i64)> {
    let mut columns = line.splitn(7, |byte| *byte == b'\t');
    let mut column = || columns.next();
    let (domain, subdomains, path, secure, end, name) = (
        column()?,
        column()?,
        column()?,
        column()?,
        column()?,
        column()?,
    );
    // A line ends after the name if the value is empty.
    let value = column().unwrap_or_default();
    let is_true = |text: &[u8]| match text.to_ascii_uppercase().as_slice() {
        b"TRUE" => Some(true),
        b"FALSE" => Some(false),
        _ => None,
    };
    let end: f64 = std::str::from_utf8(end).ok()?.trim().parse().ok()?;
    let domain = std::str::from_utf8(domain).ok()?;
    let domain = domain.strip_prefix('.').unwrap_or(domain);
    let is_sent = |text: &[u8]| !text.iter().any(u8::is_ascii_control);
    if domain.is_empty()
        || name.is_empty()
        || !path.starts_with(b"/")
        || !is_sent(name)
        || !is_sent(value)
    {
        return None;
    }
    let cookie = Stored {
        name: name.into(),
        value: value.into(),
        domain: domain.to_ascii_lowercase().into(),
        host_only: !is_true(subdomains)?,
        path: path.into(),
        secure: is_true(secure)?,
        gone: false,
    };
    #[expect(
        clippy::cast_possible_truncation,
        reason = "some programs write fractions, which do not matter"
    )]
    Some((cookie, end as i64))
}

/// The value of `Cookie` for a URL, longer paths first (RFC 6265, 5.4); empty if there are no cookies for it. Those of
/// the chain win over those of the file.
#[must_use]
pub fn cookies_for(to: &Url, jar: Option<&Jar>, file: Option<&CookieFile>) -> Vec<u8> {
    let Some(host) = to.host_str().filter(|_| jar.is_some() || file.is_some()) else {
        return Vec::new();
    };
    let own = || jar.into_iter().flat_map(|jar| &jar.cookies);
    let of_file = file.into_iter().flat_map(|file| file.of_host(to, host));
    let of_file = of_file.filter(|cookie| !own().any(|newer| newer.is_same(cookie)));
    let of_chain =
        own().filter(|cookie| *cookie.domain == *host || is_below(to, host, &cookie.domain));
    let mut cookies: Vec<&Stored> = of_file
        .chain(of_chain)
        .filter(|cookie| !cookie.gone && cookie.fits(to, host))
        .collect();
    cookies.sort_by_key(|cookie| std::cmp::Reverse(cookie.path.len()));
    let pairs = cookies
        .iter()
        .map(|cookie| [&*cookie.name, b"=", &*cookie.value].concat());
    pairs.collect::<Vec<_>>().join(&b"; "[..])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const NOW: i64 = 1_800_000_000;

    fn now() -> SystemTime {
        UNIX_EPOCH + Duration::from_secs(NOW.unsigned_abs())
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    /// What is sent to a URL after an answer of another set a cookie.
    fn sent(at: &str, line: &str, to: &str) -> String {
        let mut jar = Jar::default();
        jar.store(&url(at), line.as_bytes(), now());
        String::from_utf8(cookies_for(&url(to), Some(&jar), None)).unwrap()
    }

    /// URL that sets a cookie | `Set-Cookie` | URL of the next request | `Cookie` that it sends
    const CASES: &str = "\
http://a.test/ | a=b | http://a.test/x | a=b
http://a.test/ |  a = b ; HttpOnly | http://a.test/ | a=b
http://a.test/ | a= | http://a.test/ | a=
http://a.test/ | a=b=c | http://a.test:81/ | a=b=c
http://a.test/ | =b | http://a.test/ | -
http://a.test/ | b | http://a.test/ | -
# Hosts
http://a.test/ | a=b | http://b.test/ | -
http://a.test/ | a=b | http://x.a.test/ | -
http://x.a.test/ | a=b; Domain=a.test | http://y.a.test/ | a=b
http://x.a.test/ | a=b; domain=.A.TEST | http://a.test/ | a=b
http://x.a.test/ | a=b; Domain=a.test | http://xa.test/ | -
http://a.test/ | a=b; Domain=x.a.test | http://x.a.test/ | -
http://a.test/ | a=b; Domain=b.test | http://b.test/ | -
http://a.test/ | a=b; Domain= | http://a.test/ | a=b
http://a.test/ | a=b; Domain=test | http://b.test/ | -
http://a.co.uk/ | a=b; Domain=co.uk | http://b.co.uk/ | -
http://a.co.uk/ | a=b; Domain=a.co.uk | http://x.a.co.uk/ | a=b
http://a.co.de.test/ | a=b; Domain=co.de.test | http://co.de.test/ | a=b
http://test/ | a=b; Domain=test | http://test/ | a=b
http://test/ | a=b; Domain=test | http://a.test/ | -
http://10.0.0.1/ | a=b; Domain=10.0.0.1 | http://10.0.0.1/ | a=b
http://10.0.0.1/ | a=b; Domain=0.0.1 | http://10.0.0.1/ | -
http://[::1]/ | a=b | http://[::1]/ | a=b
# Paths
http://a.test/b/c | a=b | http://a.test/b | a=b
http://a.test/b/c | a=b | http://a.test/b/d/e | a=b
http://a.test/b/c | a=b | http://a.test/bd | -
http://a.test/b/c | a=b; Path=/ | http://a.test/d | a=b
http://a.test/b/c | a=b; Path=d | http://a.test/d | -
http://a.test/ | a=b; Path=/b/ | http://a.test/b | -
http://a.test/ | a=b; Path=/b/ | http://a.test/b/c | a=b
# Schemes and prefixes
https://a.test/ | a=b; Secure | https://a.test/ | a=b
https://a.test/ | a=b; Secure | http://a.test/ | -
http://a.test/ | a=b; Secure | https://a.test/ | -
https://a.test/ | __Secure-a=b; Secure | https://a.test/ | __Secure-a=b
https://a.test/ | __Secure-a=b | https://a.test/ | -
https://a.test/ | __Host-a=b; Secure; Path=/ | https://a.test/ | __Host-a=b
https://a.test/ | __Host-a=b; Secure | https://a.test/ | -
https://a.test/ | __Host-a=b; Secure; Path=/; Domain=a.test | https://a.test/ | -
# Ends
http://a.test/ | a=b; Max-Age=1 | http://a.test/ | a=b
http://a.test/ | a=b; Max-Age=0 | http://a.test/ | -
http://a.test/ | a=b; Max-Age=-1 | http://a.test/ | -
http://a.test/ | a=b; Max-Age=soon | http://a.test/ | a=b
http://a.test/ | a=b; Expires=Thu, 01 Jan 1970 00:00:01 GMT | http://a.test/ | -
http://a.test/ | a=b; Expires=Thu, 01-Jan-1970 00:00:01 GMT | http://a.test/ | -
http://a.test/ | a=b; Expires=Fri, 01 Jan 2100 00:00:01 GMT | http://a.test/ | a=b
http://a.test/ | a=b; Expires=0 | http://a.test/ | a=b
http://a.test/ | a=b; Expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=9 | http://a.test/ | a=b
";

    #[test]
    fn cookies_are_sent_where_they_belong() {
        for case in CASES.lines().filter(|line| !line.starts_with('#')) {
            let parts: Vec<_> = case.split(" | ").collect();
            let [at, line, to, expected] = parts[..] else {
                panic!("{case}");
            };
            assert_eq!(
                sent(at, line, to),
                expected.trim_start_matches('-'),
                "{case}"
            );
        }
    }

    #[test]
    fn newer_cookies_replace_older_ones_and_long_paths_come_first() {
        let at = url("http://a.test/b/");
        let mut jar = Jar::default();
        for line in [
            "a=1; Path=/",
            "b=1",
            "a=2; Path=/",
            "c=1; Path=/",
            "b=; Max-Age=0",
            "d=\"x y\"",
        ] {
            assert!(jar.store(&at, line.as_bytes(), now()), "{line}");
        }
        assert!(jar.store(&at, b"e=\xff\xc3\xbc", now()));
        assert!(!jar.store(&at, b"f=\x01", now()));
        let expected = b"d=\"x y\"; e=\xff\xc3\xbc; a=2; c=1";
        assert_eq!(cookies_for(&at, Some(&jar), None), expected);
    }

    #[test]
    fn a_jar_has_limits() {
        let at = url("http://a.test/");
        let mut jar = Jar::default();
        assert!(!jar.store(
            &at,
            format!("a={}", "x".repeat(MAX_COOKIE_BYTES)).as_bytes(),
            now()
        ));
        for number in 0..500 {
            let line = format!("{number}={}", "x".repeat(4_000 - 8 * number));
            jar.store(&at, line.as_bytes(), now());
        }
        let bytes: usize = jar.cookies.iter().map(Stored::bytes).sum();
        assert!(jar.cookies.len() <= MAX_COOKIES && bytes <= MAX_JAR_BYTES);
        assert_eq!(&*jar.cookies.last().unwrap().name, b"499");
    }

    #[test]
    fn a_file_has_cookies_for_its_hosts() {
        let text = b"# Netscape HTTP Cookie File\r\n\n\
            a.test\tFALSE\t/\tFALSE\t0\tone\t1\r\n\
            #HttpOnly_.b.test\tTRUE\t/x\tTRUE\t1900000000.5\ttwo\t2\t2\n\
            .b.test\tTRUE\t/\tFALSE\t1700000000\told\t3\n\
            b.test\tTRUE\t/\tfalse\t0\tempty";
        // A tab in a value is refused.
        assert_eq!(CookieFile::parse(text, now()).unwrap_err(), 4);
        let text = String::from_utf8(text.to_vec())
            .unwrap()
            .replace("2\t2", "2");
        let file = CookieFile::parse(text.as_bytes(), now()).unwrap();
        let sent = |to| String::from_utf8(cookies_for(&url(to), None, Some(&file))).unwrap();
        let cases = [
            ("http://a.test/", "one=1"),
            ("http://x.a.test/", ""),
            ("http://b.test/x", "empty="),
            ("https://y.x.b.test/x", "two=2; empty="),
            ("https://b.test/y", "empty="),
            ("http://test/", ""),
        ];
        for (to, expected) in cases {
            assert_eq!(sent(to), expected, "{to}");
        }
        // A cookie of the chain replaces or deletes one of the file.
        for (line, expected) in [("one=9; Path=/", "one=9"), ("one=; Path=/; Max-Age=0", "")] {
            let (mut jar, at) = (Jar::default(), url("http://a.test/"));
            assert!(jar.store(&at, line.as_bytes(), now()));
            let found = cookies_for(&at, Some(&jar), Some(&file));
            assert_eq!(String::from_utf8(found).unwrap(), expected);
        }
        for (line, bad) in [
            ("a.test\tyes\t/\tFALSE\t0\ta\tb", 1),
            ("\n\na.test FALSE / FALSE 0 a b", 3),
            ("a.test\tTRUE\t/\tFALSE\tnever\ta\tb", 1),
            ("\tTRUE\t/\tFALSE\t0\ta\tb", 1),
            ("Set-Cookie: a=b", 1),
        ] {
            assert_eq!(
                CookieFile::parse(line.as_bytes(), now()).unwrap_err(),
                bad,
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_cookie_reaches_another_site(
            line in "[a-c]=[a-z]{0,3}(; (Domain=[.]?([ab][.])?(a.test|b.test|test|uk)|Path=/[ab/]{0,3}|Secure))*",
            at in "https?://([ab][.])?(a|b)[.]test/[ab/]{0,3}",
            to in "https?://([ab][.])?(a|b)[.]test/[ab/]{0,3}",
        ) {
            let (at, to) = (url(&at), url(&to));
            let site = |url: &Url| url.host_str().unwrap().rsplit('.').nth(1).map(str::to_owned);
            let mut jar = Jar::default();
            jar.store(&at, line.as_bytes(), now());
            if !cookies_for(&to, Some(&jar), None).is_empty() {
                prop_assert_eq!(site(&at), site(&to));
                let has_attribute = |name: &str| line.contains(name);
                prop_assert!(at.host() == to.host() || has_attribute("Domain="));
                prop_assert!(!has_attribute("Secure") || to.scheme() == "https");
            }
        }

        #[test]
        fn what_is_stored_is_sent_back_in_one_line(lines in prop::collection::vec(any::<Vec<u8>>(), 0..9)) {
            let at = url("https://a.test/");
            let mut jar = Jar::default();
            for line in &lines {
                jar.store(&at, line, now());
            }
            let value = cookies_for(&at, Some(&jar), None);
            prop_assert!(value.iter().all(|byte| !byte.is_ascii_control() || *byte == b'\t'));
        }
    }
}
