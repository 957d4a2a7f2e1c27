//! A request, copied from its head before the buffer is reused.

use dyno_http::body::Framing;
use dyno_http::{Method, RequestHead, Version};
use dyno_web::{Accepted, Scheme};

/// The parts of a head that determine the answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) method: Method<'static>,
    pub(crate) version: Version,
    pub(crate) framing: Framing,
    pub(crate) keep_alive: bool,
    pub(crate) expects_continue: bool,
    pub(crate) codings: Accepted,
}

/// The cookie, as a client sends it.
const COOKIE: &str = "visited=1";

/// Whether the value of a `Cookie` field has the cookie.
pub(crate) fn has_cookie(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|value| value.split(';').any(|pair| pair.trim() == COOKIE))
}

/// The host, target and cookie of a request, in buffers that are reused for the next one.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// In lower case, without port, final dot or the brackets of an IPv6 address.
    pub(crate) host: String,
    /// In lower case, with the port unless it is the scheme's default.
    pub(crate) authority: String,
    /// Path with query, or `*`.
    pub(crate) target: String,
    /// Whether it has the cookie of a host that redirects without one.
    pub(crate) has_cookie: bool,
}

/// Status and reason for refusing a method, whatever the URL.
pub(crate) fn refusal(method: Method<'_>) -> Option<(u16, &'static str)> {
    match method {
        Method::Get
        | Method::Head
        | Method::Post
        | Method::Put
        | Method::Patch
        | Method::Delete
        | Method::Options => None,
        Method::Trace => Some((405, "TRACE is not allowed\n")),
        Method::Connect => Some((501, "this is not a proxy: CONNECT is not supported\n")),
        Method::Other(_) => Some((501, "the method is not supported\n")),
    }
}

/// A method that is not refused, without the buffer of its request.
pub(crate) fn served(method: Method<'_>) -> Method<'static> {
    match method {
        Method::Head => Method::Head,
        Method::Post => Method::Post,
        Method::Put => Method::Put,
        Method::Patch => Method::Patch,
        Method::Delete => Method::Delete,
        Method::Options => Method::Options,
        _ => Method::Get,
    }
}

/// Body of a 421 response to a request for a host other than the connection's.
pub(crate) const MISDIRECTED: &str =
    "the request is for another host than the TLS handshake of this connection\n";

impl Asked {
    pub(crate) fn of(head: &RequestHead<'_>) -> Self {
        let mut codings = Accepted::NONE;
        for value in head.fields.get_all("accept-encoding") {
            codings = codings.and(Accepted::parse(value));
        }
        Self {
            method: served(head.method),
            version: head.version,
            framing: head.framing,
            keep_alive: head.keep_alive(),
            expects_continue: head.expects_continue,
            codings,
        }
    }

    pub(crate) fn is_head(&self) -> bool {
        self.method == Method::Head
    }

    /// Whether a body follows the head.
    pub(crate) fn has_body(&self) -> bool {
        !matches!(self.framing, Framing::None | Framing::Length(0))
    }
}

impl Names {
    /// Copies the names of a request that arrived over `scheme`.
    pub(crate) fn take(&mut self, head: &RequestHead<'_>, scheme: Scheme) {
        let target = match head.target.path_and_query() {
            "" => head.target.as_str(),
            path_and_query => path_and_query,
        };
        self.set(head.authority().unwrap_or_default(), target, scheme);
        self.has_cookie = head.fields.get_all("cookie").any(has_cookie);
    }

    /// Copies an authority and a target.
    pub(crate) fn set(&mut self, authority: &str, target: &str, scheme: Scheme) {
        self.authority.clear();
        self.authority.push_str(authority);
        self.authority.make_ascii_lowercase();
        let host_bytes = host_bytes(&self.authority);
        if self.authority[host_bytes..]
            .strip_prefix(':')
            .is_some_and(|port| is_default(port, scheme))
        {
            self.authority.truncate(host_bytes);
        }
        let host = &self.authority[..host_bytes];
        let host = host.strip_suffix('.').unwrap_or(host);
        let literal = host
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'));
        self.host.clear();
        self.host.push_str(literal.unwrap_or(host));
        self.target.clear();
        if target.starts_with('?') {
            // An absolute target with a query but no path.
            self.target.push('/');
        }
        self.target.push_str(target);
    }
}

/// Length of the host in an authority, which ends at the port.
fn host_bytes(authority: &str) -> usize {
    let after_literal = authority.rfind(']').unwrap_or(0);
    authority[after_literal..]
        .find(':')
        .map_or(authority.len(), |colon| after_literal + colon)
}

fn is_default(port: &str, scheme: Scheme) -> bool {
    // An empty port also means the scheme's default (RFC 3986, section 6.2.3).
    port.is_empty() || port.parse() == Ok(scheme.port())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_http::{Limits, Parse, request};

    fn take(target: &str, host: &str, scheme: Scheme) -> Names {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let Parse::Complete { head, .. } =
            request::parse(bytes.as_bytes(), &Limits::default()).unwrap()
        else {
            panic!("a whole head")
        };
        let mut names = Names::default();
        names.take(&head, scheme);
        names
    }

    #[test]
    fn names_are_normalised() {
        // Target, Host and scheme; the host, authority and path that they name.
        let cases = [
            "/ Example.ORG http | example.org example.org /",
            "/a?b=C example.org. http | example.org example.org. /a?b=C",
            "/ example.org:80 http | example.org example.org /",
            "/ example.org:443 https | example.org example.org /",
            "/ example.org:8080 http | example.org example.org:8080 /",
            "/ [2001:db8::1]:443 https | 2001:db8::1 [2001:db8::1] /",
            "/ [2001:db8::1] http | 2001:db8::1 [2001:db8::1] /",
            "http://Other.test:81/x example.org http | other.test other.test:81 /x",
            "http://other.test example.org http | other.test other.test /",
            "http://other.test?x example.org http | other.test other.test /?x",
        ];
        for case in cases {
            let (asked, expected) = case.split_once(" | ").unwrap();
            let asked: Vec<&str> = asked.split(' ').collect();
            let scheme = match asked[2] {
                "https" => Scheme::Https,
                _ => Scheme::Http,
            };
            let names = take(asked[0], asked[1], scheme);
            let seen = format!("{} {} {}", names.host, names.authority, names.target);
            assert_eq!(seen, expected, "{case}");
        }
    }
}
