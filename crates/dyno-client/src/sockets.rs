//! Sockets of connections: their source addresses, Nagle's algorithm, and Unix sockets in place of TCP.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use dyno_io::Alarm;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tokio::net::{TcpSocket, TcpStream};

use crate::failure::Failure;
use crate::link::{Link, Reach, Traffic, Wire};

/// The longest path of a Unix socket, in bytes.
const LONGEST_PATH: usize = 108;

/// How often a Unix socket whose queue is full is tried again.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// How the sockets of connections are made.
#[derive(Debug, Default)]
pub struct Sockets {
    unix: Option<UnixSocket>,
    sources: Vec<IpAddr>,
    collects: bool,
    next_source: AtomicUsize,
}

/// The address of a Unix socket: a path, or an abstract name after an `@`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnixSocket(SocketAddrUnix);

impl FromStr for UnixSocket {
    /// What is wrong, and the cure.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let address = match text.strip_prefix('@') {
            Some("") => return Err(format!("{text:?} has no name; write it like @app")),
            Some(name) => SocketAddrUnix::new_abstract_name(name.as_bytes()),
            None if text.is_empty() => {
                return Err(format!("{text:?} is no path; write it like /run/app.sock"));
            }
            None => SocketAddrUnix::new(text),
        };
        address.map(Self).map_err(|_| {
            format!(
                "{text:?} has {} bytes, and the address of a socket at most {LONGEST_PATH}; use a shorter path, such as a symbolic link",
                text.len()
            )
        })
    }
}

impl fmt::Display for UnixSocket {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at, bytes) = match self.0.abstract_name() {
            Some(name) => ("@", name),
            None => ("", self.0.path_bytes().unwrap_or_default()),
        };
        write!(formatter, "{at}{}", String::from_utf8_lossy(bytes))
    }
}

impl UnixSocket {
    async fn connect(&self) -> io::Result<TcpStream> {
        let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        while let Err(error) = connect(&socket, &self.0) {
            // The server's queue is full. With TCP the kernel would wait.
            if error != Errno::AGAIN {
                return Err(error.into());
            }
            Alarm::new()?.after(RETRY_INTERVAL).await?;
        }
        // Both kinds of stream have the same system calls: the code behind this has no second case.
        TcpStream::from_std(std::net::TcpStream::from(socket))
    }
}

impl Sockets {
    /// Of connections that go to a Unix socket instead of their addresses, or have one of these source addresses in turn (without
    /// any, the system chooses); if `collects`, small pieces wait until earlier ones are acknowledged (Nagle's algorithm).
    #[must_use]
    pub const fn new(unix: Option<UnixSocket>, sources: Vec<IpAddr>, collects: bool) -> Self {
        Self {
            unix,
            sources,
            collects,
            next_source: AtomicUsize::new(0),
        }
    }

    /// The Unix socket that all connections go to.
    #[must_use]
    pub const fn unix_socket(&self) -> Option<&UnixSocket> {
        self.unix.as_ref()
    }

    /// Connects to an address, or to the Unix socket in its place; the bytes of the connection are counted.
    ///
    /// # Errors
    ///
    /// The system's error as a failure. The caller sets the timeout.
    pub async fn open(
        self: Arc<Self>,
        address: SocketAddr,
        traffic: Arc<Traffic>,
    ) -> Result<Wire, Failure> {
        let begun = Instant::now();
        let stream = self.connect(address).await;
        let stream = stream.map_err(|error| Failure::from_io(&error))?;
        let reach = Reach {
            address: address.ip(),
            round_trip: begun.elapsed(),
        };
        Ok(Wire::new(stream, Link::new(reach, traffic)))
    }

    /// A connection to an address, or to the Unix socket.
    async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        if let Some(unix) = &self.unix {
            return unix.connect().await;
        }
        let stream = match self.source(address)? {
            Some(source) => from(source, address).await,
            None => TcpStream::connect(address).await,
        }?;
        if !self.collects {
            // A connection that has gone already says so at the first exchange.
            drop(stream.set_nodelay(true));
        }
        Ok(stream)
    }

    /// The source address of the next connection: one of the kind of its address.
    fn source(&self, address: SocketAddr) -> io::Result<Option<IpAddr>> {
        if self.sources.is_empty() {
            return Ok(None);
        }
        let is_usable = |source: &&IpAddr| source.is_ipv4() == address.is_ipv4();
        let usable: Vec<&IpAddr> = self.sources.iter().filter(is_usable).collect();
        if usable.is_empty() {
            return Err(io::ErrorKind::NetworkUnreachable.into());
        }
        let turn = self.next_source.fetch_add(1, Ordering::Relaxed);
        Ok(Some(*usable[turn % usable.len()]))
    }
}

async fn from(source: IpAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = match source {
        IpAddr::V4(_) => TcpSocket::new_v4(),
        IpAddr::V6(_) => TcpSocket::new_v6(),
    }?;
    // Otherwise a port is not used again for a minute, even towards another server.
    socket.set_reuseaddr(true)?;
    socket.bind((source, 0).into())?;
    socket.connect(address).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_a_unix_socket_has_at_most_108_bytes() {
        let path = |length: usize| format!("/{}", "a".repeat(length - 1));
        for text in ["/run/app.sock", "app.sock", "@app", &path(108)] {
            assert_eq!(text.parse::<UnixSocket>().unwrap().to_string(), text);
        }
        for (text, reason) in [
            ("", "is no path"),
            ("@", "has no name"),
            (&path(109), "has 109 bytes"),
            (&format!("@{}", path(108)), "has 109 bytes"),
        ] {
            let refused = text.parse::<UnixSocket>().unwrap_err();
            assert!(refused.contains(reason), "{refused}");
        }
    }

    #[test]
    fn source_addresses_take_turns_within_their_kind() {
        let sources = ["127.0.0.2", "::1", "127.0.0.3"];
        let sockets = Sockets {
            sources: sources.map(|text| text.parse().unwrap()).to_vec(),
            ..Sockets::default()
        };
        let mut next = |address: &str| {
            let source = sockets.source(address.parse().unwrap()).unwrap();
            source.unwrap().to_string()
        };
        assert_eq!(
            ["127.0.0.1:1"; 3].map(&mut next),
            ["127.0.0.2", "127.0.0.3", "127.0.0.2"]
        );
        assert_eq!(["[::1]:1"; 2].map(&mut next), ["::1", "::1"]);
        let none = Sockets::default();
        assert_eq!(none.source("127.0.0.1:1".parse().unwrap()).unwrap(), None);
        let other = Sockets {
            sources: vec!["::1".parse().unwrap()],
            ..Sockets::default()
        };
        let refused = other.source("127.0.0.1:1".parse().unwrap()).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::NetworkUnreachable);
    }
}
