//! What requests say about the client: headers of the options, logins in URLs, cookies.

use std::rc::Rc;
use std::time::SystemTime;

use dyno_client::coding::ACCEPTED;
use dyno_client::{Failure, proxy};
use http::{HeaderMap, HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use url::Url;

use crate::cookies::{Jar, cookies_for};
use crate::listed::Origin;
use crate::options::Options;

/// Headers of the options, with those that every request has.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// For HTTP/1.1, with the ends of lines.
    pub lines: Vec<u8>,
    /// For HTTP/2.
    pub map: HeaderMap,
    first: FirstOrigin,
}

/// Headers that only the origin of the list gets, and no other host after a redirect.
#[derive(Debug, Default)]
struct FirstOrigin {
    host: Option<String>,
    authorization: Option<String>,
    cookie: Option<String>,
}

impl FirstOrigin {
    const fn is_empty(&self) -> bool {
        self.host.is_none() && self.authorization.is_none() && self.cookie.is_none()
    }
}

impl Headers {
    pub(crate) fn new(options: &Options) -> Self {
        let mut headers = Self::default();
        let has = |wanted: &str| {
            let mut names = options.headers.iter().map(|(name, _)| name);
            names.any(|name| name.eq_ignore_ascii_case(wanted))
        };
        for (name, value) in [
            ("User-Agent", &*options.user_agent),
            ("Accept", "*/*"),
            ("Accept-Encoding", ACCEPTED),
        ] {
            if !has(name) {
                headers.add(name, value);
            }
        }
        for (name, value) in &options.headers {
            match &*name.to_ascii_lowercase() {
                "host" => headers.first.host = Some(value.clone()),
                "authorization" => headers.first.authorization = Some(value.clone()),
                "cookie" => headers.first.cookie = Some(value.clone()),
                _ => headers.add(name, value),
            }
        }
        headers
    }

    fn add(&mut self, name: &str, value: &str) {
        for part in [name, ": ", value, "\r\n"] {
            self.lines.extend_from_slice(part.as_bytes());
        }
        let name = name.parse::<HeaderName>();
        let value = HeaderValue::from_bytes(value.as_bytes());
        if let (Ok(name), Ok(value)) = (name, value) {
            self.map.append(name, value);
        }
    }
}

/// State of one chain of redirects that decides what its requests say.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    /// The origin of the list; only if there are headers for it alone.
    first: Option<Rc<Origin>>,
    /// The value of `Authorization` from the last URL with a user's name, for its origin.
    login: Option<(Rc<Origin>, String)>,
    jar: Option<Box<Jar>>,
    /// Whether its requests are for `robots.txt`.
    pub is_robots: bool,
}

/// What one request says in addition to [`Headers`].
#[derive(Debug, Default)]
pub(crate) struct Extra<'i> {
    pub host: Option<&'i str>,
    pub authorization: Option<&'i str>,
    /// Value of `Cookie`; empty: none.
    pub cookie: Vec<u8>,
    /// Whether the method is HEAD.
    pub is_head: bool,
}

impl Identity {
    /// Prepares for the next URL of the chain, and takes its login out of it.
    pub(crate) fn enter(&mut self, headers: &Headers, url: &mut Url) -> Result<(), Failure> {
        if let Some(login) = take_login(url) {
            self.login = Some((Origin::of(url)?, login));
        }
        if self.first.is_none() && !headers.first.is_empty() {
            self.first = Some(Origin::of(url)?);
        }
        Ok(())
    }

    /// The identity of requests for `robots.txt`, which no login and no cookie of a URL changes.
    pub(crate) fn for_robots(&self) -> Self {
        Self {
            first: self.first.clone(),
            is_robots: true,
            ..Self::default()
        }
    }

    /// Stores the cookies of a redirect.
    pub(crate) fn store(&mut self, at: &Url, cookies: &[Box<[u8]>]) {
        let now = SystemTime::now();
        for line in cookies {
            self.jar.get_or_insert_default().store(at, line, now);
        }
    }

    /// What a request to this URL says.
    pub(crate) fn extra<'i>(
        &'i self,
        headers: &'i Headers,
        options: &Options,
        origin: &Origin,
        url: &Url,
    ) -> Extra<'i> {
        let mut extra = Extra {
            cookie: cookies_for(url, self.jar.as_deref(), options.cookies.as_ref()),
            is_head: options.is_head && !self.is_robots,
            ..Extra::default()
        };
        if let Some((_, login)) = self.login.as_ref().filter(|(of, _)| **of == *origin) {
            extra.authorization = Some(login);
        }
        if self.first.as_deref() == Some(origin) {
            let own = &headers.first;
            extra.host = own.host.as_deref();
            extra.authorization = own.authorization.as_deref().or(extra.authorization);
            if let Some(cookie) = &own.cookie {
                let rest = std::mem::take(&mut extra.cookie);
                let parts = [cookie.as_bytes(), &rest];
                let parts = parts.into_iter().filter(|part| !part.is_empty());
                extra.cookie = parts.collect::<Vec<_>>().join(&b"; "[..]);
            }
        }
        extra
    }
}

/// Removes user and password from a URL, and returns the value of `Authorization` for them (RFC 7617).
fn take_login(url: &mut Url) -> Option<String> {
    if url.username().is_empty() && url.password().is_none() {
        return None;
    }
    let decoded = |text: &str| percent_decode_str(text).collect::<Vec<u8>>();
    let (user, password) = (url.username(), url.password().unwrap_or_default());
    let login = proxy::basic(&decoded(user), &decoded(password));
    // These fail only for URLs without a host.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    Some(login)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_login_is_taken_out_of_a_url() {
        let cases = [
            ("http://a.test/x", None, "http://a.test/x"),
            // printf 'me:secret' | base64
            (
                "http://me:secret@a.test/x",
                Some("bWU6c2VjcmV0"),
                "http://a.test/x",
            ),
            ("http://me@a.test/", Some("bWU6"), "http://a.test/"),
            (
                "http://:secret@a.test/",
                Some("OnNlY3JldA=="),
                "http://a.test/",
            ),
            // printf 'm@:s:\xfc' | base64
            (
                "http://m%40:s%3A%FC@a.test/",
                Some("bUA6czr8"),
                "http://a.test/",
            ),
        ];
        for (text, login, rest) in cases {
            let mut url = Url::parse(text).unwrap();
            let expected = login.map(|login| format!("Basic {login}"));
            assert_eq!(
                (take_login(&mut url), url.as_str()),
                (expected, rest),
                "{text}"
            );
        }
    }

    #[test]
    fn headers_of_the_options_replace_those_of_every_request() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let options = Options {
            headers: vec![
                pair("user-agent", "me"),
                pair("X-A", "1"),
                pair("x-a", "2"),
                pair("Cookie", "a=b"),
            ],
            ..Options::default()
        };
        let headers = Headers::new(&options);
        let expected = format!(
            "Accept: */*\r\nAccept-Encoding: {ACCEPTED}\r\nuser-agent: me\r\nX-A: 1\r\nx-a: 2\r\n"
        );
        assert_eq!(String::from_utf8(headers.lines).unwrap(), expected);
        assert_eq!(headers.map.len(), 5);
        assert_eq!(headers.first.cookie.as_deref(), Some("a=b"));
    }
}
