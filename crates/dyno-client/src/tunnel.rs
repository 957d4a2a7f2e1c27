//! The handshake with a proxy that opens a tunnel to a server: CONNECT (RFC 9110, 9.3.6) or SOCKS 5 (RFC 1928, RFC 1929).

use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

use bytes::Bytes;
use dyno_http::{Parse, response};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::failure::Failure;
use crate::http1::LIMITS;
use crate::link::Wire;
use crate::proxy::{Kind, Route, authority};

const AGENT: &str = concat!("httpdyno/", env!("CARGO_PKG_VERSION"));
/// The longest piece of an answer to CONNECT that is read at once.
const PIECE_BYTES: usize = 4 << 10;
const SOCKS_VERSION: u8 = 5;
const NO_LOGIN: u8 = 0;
const LOGIN: u8 = 2;

/// The messages that open a tunnel, made once for all connections to a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tunnel {
    /// The request of an HTTP proxy.
    Connect(Bytes),
    /// The messages of a SOCKS proxy.
    Socks5 {
        /// The methods of login.
        greeting: Bytes,
        /// User name and password.
        login: Option<Bytes>,
        /// The server.
        request: Bytes,
    },
}

impl Route {
    /// Whether this client looks up the server's name: a proxy of `socks5://` gets an address.
    #[must_use]
    pub fn needs_address(&self) -> bool {
        self.by.proxy.kind == Kind::Socks5 && self.tunnel.is_some()
    }

    /// The tunnel to the server, at this address if it was looked up; `None`: requests are forwarded.
    ///
    /// # Errors
    ///
    /// [`Failure::InvalidUrl`] if the name is too long for SOCKS.
    pub fn tunnel(&self, address: Option<SocketAddr>) -> Result<Option<Tunnel>, Failure> {
        let Some((host, port)) = &self.tunnel else {
            return Ok(None);
        };
        let proxy = &self.by.proxy;
        if proxy.kind == Kind::Http {
            let server = authority(host, *port);
            let authorization = proxy.authorization().map_or_else(String::new, |value| {
                format!("Proxy-Authorization: {value}\r\n")
            });
            let head = format!(
                "CONNECT {server} HTTP/1.1\r\nHost: {server}\r\nUser-Agent: {AGENT}\r\n{authorization}\r\n"
            );
            return Ok(Some(Tunnel::Connect(head.into())));
        }
        let mut request = vec![SOCKS_VERSION, 1, 0];
        let literal = host.parse().ok().map(|ip: IpAddr| (ip, *port));
        match address.map(|at| (at.ip(), at.port())).or(literal) {
            Some((IpAddr::V4(address), _)) => {
                request.push(1);
                request.extend(address.octets());
            }
            Some((IpAddr::V6(address), _)) => {
                request.push(4);
                request.extend(address.octets());
            }
            None => {
                let length = u8::try_from(host.len()).map_err(|_| Failure::InvalidUrl)?;
                request.extend([3, length]);
                request.extend(host.as_bytes());
            }
        }
        request.extend(port.to_be_bytes());
        let login = proxy.credentials.as_ref().map(|credentials| {
            let mut login = vec![1];
            for text in [&credentials.user, &credentials.password] {
                login.push(u8::try_from(text.len()).expect("checked when the proxy was parsed"));
                login.extend(text);
            }
            Bytes::from(login)
        });
        let greeting: &'static [u8] = match login {
            Some(_) => &[SOCKS_VERSION, 2, NO_LOGIN, LOGIN],
            None => &[SOCKS_VERSION, 1, NO_LOGIN],
        };
        Ok(Some(Tunnel::Socks5 {
            greeting: greeting.into(),
            login,
            request: request.into(),
        }))
    }
}

impl Tunnel {
    /// Opens the tunnel over a connection to the proxy.
    ///
    /// # Errors
    ///
    /// The proxy's refusal, or the failure of the connection. The caller sets the timeout.
    pub async fn open(&self, mut wire: Wire) -> Result<Wire, Failure> {
        let failed = |error: std::io::Error| Failure::from_io(&error).of_proxy();
        let mut handshake = Handshake::new(self);
        let mut sent = Instant::now();
        loop {
            match handshake.step()? {
                Step::Send(bytes) => {
                    sent = Instant::now();
                    wire.write_all(bytes).await.map_err(failed)?;
                }
                Step::Receive(most) => {
                    let mut piece = [0; PIECE_BYTES];
                    let most = most.min(PIECE_BYTES);
                    match wire.read(&mut piece[..most]).await.map_err(failed)? {
                        0 => return Err(Failure::ProxyProtocol),
                        count => handshake.receive(&piece[..count]),
                    }
                }
                // The last answer came after the proxy had reached the server.
                Step::Open => return Ok(crate::link::with_way_on(wire, sent.elapsed())),
            }
        }
    }
}

/// The next action of a handshake.
#[derive(Debug, PartialEq, Eq)]
enum Step<'t> {
    Send(&'t [u8]),
    /// Receive at most so many bytes.
    Receive(usize),
    /// The tunnel is open; the next byte is the server's.
    Open,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Begin,
    Head,
    Method,
    Login,
    Reply,
}

/// A handshake in progress. No I/O.
struct Handshake<'t> {
    tunnel: &'t Tunnel,
    state: State,
    received: Vec<u8>,
}

impl<'t> Handshake<'t> {
    const fn new(tunnel: &'t Tunnel) -> Self {
        Self {
            tunnel,
            state: State::Begin,
            received: Vec::new(),
        }
    }

    fn receive(&mut self, bytes: &[u8]) {
        self.received.extend_from_slice(bytes);
    }

    fn step(&mut self) -> Result<Step<'t>, Failure> {
        match self.tunnel {
            Tunnel::Connect(request) => self.connect(request),
            Tunnel::Socks5 {
                greeting,
                login,
                request,
            } => self.socks(greeting, login.as_deref(), request),
        }
    }

    fn connect(&mut self, request: &'t [u8]) -> Result<Step<'t>, Failure> {
        if self.state == State::Begin {
            self.state = State::Head;
            return Ok(Step::Send(request));
        }
        loop {
            let parsed = response::parse(&self.received, &LIMITS);
            let (status, end) = match parsed.map_err(|_| Failure::ProxyProtocol)? {
                Parse::Partial => return Ok(Step::Receive(PIECE_BYTES)),
                Parse::Complete { head, bytes } => (head.status, bytes),
            };
            match status {
                101 => return Err(Failure::ProxyProtocol),
                // Interim.
                100..200 => drop(self.received.drain(..end)),
                // The client speaks first in TLS and in HTTP: further bytes are of neither.
                200..300 if end == self.received.len() => return Ok(Step::Open),
                200..300 => return Err(Failure::ProxyProtocol),
                _ => return Err(Failure::refused_by_proxy(status)),
            }
        }
    }

    fn socks(
        &mut self,
        greeting: &'t [u8],
        login: Option<&'t [u8]>,
        request: &'t [u8],
    ) -> Result<Step<'t>, Failure> {
        let received = &self.received[..];
        let next = match self.state {
            State::Begin => (State::Method, greeting),
            State::Method => match (received, login) {
                ([SOCKS_VERSION, NO_LOGIN], _) => (State::Reply, request),
                ([SOCKS_VERSION, LOGIN], Some(login)) => (State::Login, login),
                ([SOCKS_VERSION, 0xff], _) => {
                    return Err(Failure::ProxyRefused(match login {
                        None => "ProxyRefused: authentication_required",
                        Some(_) => "ProxyRefused: no_acceptable_authentication",
                    }));
                }
                ([_, _], _) => return Err(Failure::ProxyProtocol),
                _ => return Ok(Step::Receive(2 - received.len())),
            },
            // Some servers write another version.
            State::Login => match *received {
                [_, 0] => (State::Reply, request),
                [_, _] => {
                    return Err(Failure::ProxyRefused("ProxyRefused: authentication_failed"));
                }
                _ => return Ok(Step::Receive(2 - received.len())),
            },
            State::Reply | State::Head => return self.reply(),
        };
        self.received.clear();
        self.state = next.0;
        Ok(Step::Send(next.1))
    }

    /// The reply of SOCKS, whose length depends on the kind of the address in it.
    fn reply(&self) -> Result<Step<'t>, Failure> {
        let received = &self.received[..];
        let length = match *received {
            [SOCKS_VERSION, 0, _, kind, first, ..] => match kind {
                1 => 10,
                4 => 22,
                3 => 7 + usize::from(first),
                _ => return Err(Failure::ProxyProtocol),
            },
            [SOCKS_VERSION, code, ..] if code != 0 => {
                return Err(Failure::ProxyRefused(refusal(code)));
            }
            [version, ..] if version != SOCKS_VERSION => return Err(Failure::ProxyProtocol),
            _ => 5,
        };
        Ok(match length.saturating_sub(received.len()) {
            0 => Step::Open,
            missing => Step::Receive(missing),
        })
    }
}

/// The name of a refusal by its code (RFC 1928, section 6).
const fn refusal(code: u8) -> &'static str {
    match code {
        2 => "ProxyRefused: not_allowed",
        3 => "ProxyRefused: network_unreachable",
        4 => "ProxyRefused: host_unreachable",
        5 => "ProxyRefused: connection_refused",
        6 => "ProxyRefused: ttl_expired",
        7 => "ProxyRefused: command_not_supported",
        8 => "ProxyRefused: address_type_not_supported",
        _ => "ProxyRefused: general_failure",
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::proxy::Proxies;
    use crate::reroute::Reroute;

    fn tunnel(proxy: &str, host: &str, address: Option<&str>) -> Tunnel {
        let proxies = Proxies::choose(Some(proxy), None, Reroute::default(), |_| None).unwrap();
        let route = proxies.route(host, 8443, true, false).unwrap();
        let address = address.map(|text| SocketAddr::new(text.parse().unwrap(), 8443));
        assert!(!route.needs_address() || address.is_some() || host.contains(':'));
        route.tunnel(address).unwrap().unwrap()
    }

    /// The bytes that a handshake sends to a proxy with these answers, of which pieces of this length arrive; and its end.
    fn played(
        tunnel: &Tunnel,
        answers: &[&[u8]],
        piece: usize,
    ) -> (Vec<Vec<u8>>, Result<(), Failure>) {
        let (mut handshake, mut sent) = (Handshake::new(tunnel), Vec::new());
        let mut answers = answers.iter();
        let mut rest: &[u8] = &[];
        loop {
            match handshake.step() {
                Ok(Step::Send(bytes)) => {
                    sent.push(bytes.to_vec());
                    assert!(rest.is_empty(), "it left bytes unread: {rest:?}");
                    rest = answers.next().copied().unwrap_or_default();
                }
                Ok(Step::Receive(most)) => {
                    let count = most.min(piece).min(rest.len());
                    if count == 0 {
                        return (sent, Err(Failure::ProxyProtocol));
                    }
                    handshake.receive(&rest[..count]);
                    rest = &rest[count..];
                }
                Ok(Step::Open) => {
                    assert!(rest.is_empty(), "it left bytes unread: {rest:?}");
                    return (sent, Ok(()));
                }
                Err(failure) => return (sent, Err(failure)),
            }
        }
    }

    #[test]
    fn connect_has_the_server_and_the_credentials() {
        let head = |server: &str, more: &str| {
            format!(
                "CONNECT {server} HTTP/1.1\r\nHost: {server}\r\nUser-Agent: {AGENT}\r\n{more}\r\n"
            )
        };
        for (proxy, host, expected) in [
            ("http://p", "a.test", head("a.test:8443", "")),
            ("http://p", "[::1]", head("[::1]:8443", "")),
            (
                "http://me:planted@p",
                "a.test",
                head(
                    "a.test:8443",
                    "Proxy-Authorization: Basic bWU6cGxhbnRlZA==\r\n",
                ),
            ),
        ] {
            let made = tunnel(proxy, host, None);
            assert_eq!(made, Tunnel::Connect(expected.into()));
        }
    }

    #[test]
    fn an_answer_to_connect_opens_the_tunnel_or_is_a_failure() {
        let refused = |status| Err(Failure::refused_by_proxy(status));
        let broken = Err(Failure::ProxyProtocol);
        let cases: [(&[u8], Result<(), Failure>); 11] = [
            (b"HTTP/1.1 200 Connection established\r\n\r\n", Ok(())),
            (
                b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\nVia: a\r\n\r\n",
                Ok(()),
            ),
            (b"HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 204 OK\r\n\r\n", Ok(())),
            (
                b"HTTP/1.1 407 Who?\r\nContent-Length: 1\r\n\r\nx",
                refused(407),
            ),
            (b"HTTP/1.1 403 No\r\n\r\n", refused(403)),
            (b"HTTP/1.1 301 There\r\n\r\n", refused(301)),
            (b"HTTP/1.1 200 OK\r\n\r\nx", broken),
            (b"HTTP/1.1 101 Switching\r\n\r\n", broken),
            (b"HTTP/1.1 200", broken),
            (b"SSH-2.0-OpenSSH\r\n", broken),
            (b"", broken),
        ];
        for (answer, expected) in cases {
            let (sent, ended) = played(&tunnel("http://p", "a.test", None), &[answer], usize::MAX);
            assert_eq!((sent.len(), ended), (1, expected), "{answer:?}");
        }
        assert_eq!(
            Failure::refused_by_proxy(407).full_name(),
            "ProxyRefused: 407"
        );
    }

    const GREETING: &[u8] = &[5, 1, 0];
    const WITH_LOGIN: &[u8] = &[5, 2, 0, 2];
    const OPENED: &[u8] = &[5, 0, 0, 1, 127, 0, 0, 1, 0x1f, 0x90];

    #[test]
    fn socks_has_the_servers_name_or_address() {
        for (proxy, host, address, expected) in [
            ("socks5h://p", "a.test", None, &b"\x05\x01\x00\x03\x06a.test\x20\xfb"[..]),
            ("socks5://p", "a.test", Some("127.0.0.2"), b"\x05\x01\x00\x01\x7f\x00\x00\x02\x20\xfb"),
            ("socks5h://p", "127.0.0.2", None, b"\x05\x01\x00\x01\x7f\x00\x00\x02\x20\xfb"),
            (
                "socks5://p",
                "[::1]",
                None,
                b"\x05\x01\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01\x20\xfb",
            ),
        ] {
            let (sent, ended) = played(&tunnel(proxy, host, address), &[&[5, 0], OPENED], usize::MAX);
            assert_eq!(ended, Ok(()));
            assert_eq!(sent, [GREETING, expected]);
        }
        let proxies = Proxies::choose(Some("socks5h://p"), None, Reroute::default(), |_| None);
        let route = proxies.unwrap().route(&"a".repeat(256), 1, false, false);
        assert_eq!(route.unwrap().tunnel(None), Err(Failure::InvalidUrl));
    }

    #[test]
    fn socks_logs_in_if_the_proxy_wants_it() {
        let made = tunnel("socks5h://me:planted@p", "a.test", None);
        let login: &[u8] = b"\x01\x02me\x07planted";
        let request: &[u8] = b"\x05\x01\x00\x03\x06a.test\x20\xfb";
        let (sent, ended) = played(&made, &[&[5, 2], &[1, 0], OPENED], usize::MAX);
        assert_eq!(
            (sent, ended),
            (
                vec![WITH_LOGIN.to_vec(), login.to_vec(), request.to_vec()],
                Ok(())
            )
        );
        let (sent, ended) = played(&made, &[&[5, 0], OPENED], usize::MAX);
        assert_eq!(
            (sent, ended),
            (vec![WITH_LOGIN.to_vec(), request.to_vec()], Ok(()))
        );
    }

    #[test]
    fn a_refusal_of_socks_has_its_reason() {
        let open = tunnel("socks5h://p", "a.test", None);
        let with_login = tunnel("socks5h://me:planted@p", "a.test", None);
        let cases: [(&Tunnel, &[&[u8]], &str); 10] = [
            (
                &open,
                &[&[5, 0xff]],
                "ProxyRefused: authentication_required",
            ),
            (
                &with_login,
                &[&[5, 0xff]],
                "ProxyRefused: no_acceptable_authentication",
            ),
            (
                &with_login,
                &[&[5, 2], &[1, 1]],
                "ProxyRefused: authentication_failed",
            ),
            (&open, &[&[5, 2]], "ProxyProtocol"),
            (&open, &[b"HT"], "ProxyProtocol"),
            (&open, &[&[5, 0], &[5, 0, 0, 9, 1]], "ProxyProtocol"),
            (&open, &[&[5, 0], &[4]], "ProxyProtocol"),
            (&open, &[&[5, 0], &[]], "ProxyProtocol"),
            (
                &open,
                &[&[5, 0], &[5, 5]],
                "ProxyRefused: connection_refused",
            ),
            (&open, &[&[5, 0], &[5, 99]], "ProxyRefused: general_failure"),
        ];
        for (tunnel, answers, expected) in cases {
            let (_, ended) = played(tunnel, answers, usize::MAX);
            assert_eq!(ended.unwrap_err().full_name(), expected, "{answers:?}");
        }
    }

    proptest! {
        #[test]
        fn any_split_of_the_answers_reads_the_same(
            piece in 1..40_usize,
            name in "[a-z]{0,255}",
            end in prop::collection::vec(any::<u8>(), 0..30),
        ) {
            let http = tunnel("http://p", "a.test", None);
            let head = format!("HTTP/1.1 200 OK\r\nX: {name}\r\n\r\n");
            prop_assert_eq!(played(&http, &[head.as_bytes()], piece).1, Ok(()));
            let socks = tunnel("socks5h://me:planted@p", "a.test", None);
            let mut reply = vec![5, 0, 0, 3, u8::try_from(name.len()).unwrap()];
            reply.extend(name.as_bytes());
            reply.extend([1, 2]);
            prop_assert_eq!(played(&socks, &[&[5, 2], &[1, 0], &reply], piece).1, Ok(()));
            // Whatever a proxy sends, the handshake ends.
            for made in [http, socks] {
                prop_assert_eq!(played_to_the_end(&made, &end, piece), played_to_the_end(&made, &end, usize::MAX));
            }
        }
    }

    /// The end of a handshake whose answers are these bytes, without the check that all are read.
    fn played_to_the_end(tunnel: &Tunnel, mut rest: &[u8], piece: usize) -> Result<(), Failure> {
        let mut handshake = Handshake::new(tunnel);
        loop {
            match handshake.step()? {
                Step::Send(_) => {}
                Step::Receive(most) => {
                    let count = most.min(piece).min(rest.len());
                    if count == 0 {
                        return Err(Failure::ProxyProtocol);
                    }
                    handshake.receive(&rest[..count]);
                    rest = &rest[count..];
                }
                Step::Open => return Ok(()),
            }
        }
    }
}
