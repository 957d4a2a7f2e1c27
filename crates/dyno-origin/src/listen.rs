//! The sockets of an origin, bound in the network namespace of the calling thread.

use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};

use socket2::{Domain, Protocol, Socket, Type};

use crate::error::Error;

/// Length of the listen queue: more than any crawl opens at once; the kernel limits it to `net.core.somaxconn`.
const BACKLOG: i32 = 65_535;
/// Attempts to find a port that is free for both TCP and UDP, if any port will do.
const ATTEMPTS: u32 = 16;
/// Buffer for the datagrams of a burst of lookups; the kernel limits it to `net.core.rmem_max`.
const DATAGRAM_BUFFER_BYTES: usize = 4 << 20;

/// Congestion control of every origin, if the kernel has it, so that results of two machines are more comparable.
const CONGESTION_CONTROL: &[u8] = b"cubic";

/// Opens TCP listeners on `address`, one for each of `threads`; returns the bound address.
pub(crate) fn tcp(
    address: SocketAddr,
    threads: usize,
) -> Result<(SocketAddr, Vec<TcpListener>), Error> {
    let failed = |error| Error::listening("TCP", address, error);
    let address = free(address, Type::STREAM).map_err(failed)?;
    let mut listeners = Vec::with_capacity(threads);
    for _ in 0..threads {
        let socket = bound(address, Type::STREAM, threads > 1).map_err(failed)?;
        // Accepted sockets inherit this, which saves a system call per connection.
        socket.set_tcp_nodelay(true).map_err(failed)?;
        // A kernel without it keeps its default; the record contains the value that the socket reports.
        drop(socket.set_tcp_congestion(CONGESTION_CONTROL));
        socket.listen(BACKLOG).map_err(failed)?;
        listeners.push(socket.into());
    }
    Ok((address, listeners))
}

/// The congestion control that an origin's connections use on this machine.
pub(crate) fn congestion_control() -> io::Result<String> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    drop(socket.set_tcp_congestion(CONGESTION_CONTROL));
    let name = socket.tcp_congestion()?;
    let end = name
        .iter()
        .position(|&byte| byte == 0)
        .unwrap_or(name.len());
    Ok(String::from_utf8_lossy(&name[..end]).into_owned())
}

/// Opens UDP sockets on `address`, one for each of `threads`; returns the bound address.
pub(crate) fn udp(
    address: SocketAddr,
    threads: usize,
) -> Result<(SocketAddr, Vec<UdpSocket>), Error> {
    let failed = |error| Error::listening("UDP", address, error);
    let address = free(address, Type::DGRAM).map_err(failed)?;
    let mut sockets = Vec::with_capacity(threads);
    for _ in 0..threads {
        let socket = bound(address, Type::DGRAM, threads > 1).map_err(failed)?;
        // A smaller buffer also works, except in a burst.
        drop(socket.set_recv_buffer_size(DATAGRAM_BUFFER_BYTES));
        sockets.push(socket.into());
    }
    Ok((address, sockets))
}

/// Sockets for DNS.
pub(crate) struct NameSockets {
    pub(crate) address: SocketAddr,
    pub(crate) udp: Vec<UdpSocket>,
    pub(crate) tcp: Vec<TcpListener>,
}

/// Opens UDP and TCP sockets on one port.
pub(crate) fn dns(address: SocketAddr, threads: usize) -> Result<NameSockets, Error> {
    let mut attempt = 1;
    loop {
        let (bound, udp) = udp(address, threads)?;
        match tcp(bound, threads) {
            Ok((_, tcp)) => {
                return Ok(NameSockets {
                    address: bound,
                    udp,
                    tcp,
                });
            }
            Err(Error::AddressInUse { .. }) if address.port() == 0 && attempt < ATTEMPTS => {
                attempt += 1;
            }
            Err(error) => return Err(error),
        }
    }
}

/// Returns `address` with a free port.
///
/// Sockets that share a port could bind to the port of another program of the same user, and each would receive a part
/// of the connections. So a socket that does not share the port tests it first.
fn free(address: SocketAddr, kind: Type) -> io::Result<SocketAddr> {
    let probe = bound(address, kind, false)?;
    if kind == Type::STREAM {
        // Listening on the port of another listener fails here at the latest.
        probe.listen(1)?;
    }
    Ok(probe.local_addr()?.as_socket().unwrap_or(address))
}

fn bound(address: SocketAddr, kind: Type, shared: bool) -> io::Result<Socket> {
    let protocol = if kind == Type::STREAM {
        Protocol::TCP
    } else {
        Protocol::UDP
    };
    let socket = Socket::new(
        Domain::for_address(address),
        kind.nonblocking().cloexec(),
        Some(protocol),
    )?;
    if address.is_ipv6() {
        socket.set_only_v6(true)?;
    }
    if kind == Type::STREAM {
        // Allows listening on a port that has connections in TIME_WAIT.
        socket.set_reuse_address(true)?;
    }
    if shared {
        socket.set_reuse_port(true)?;
    }
    socket.bind(&address.into())?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any() -> SocketAddr {
        "127.0.0.1:0".parse().unwrap()
    }

    #[test]
    fn a_port_in_use_is_an_error_with_its_address() {
        for threads in [1, 2] {
            let (address, _listeners) = tcp(any(), threads).unwrap();
            for again in [1, 2] {
                let error = tcp(address, again).unwrap_err();
                assert!(
                    matches!(error, Error::AddressInUse { address: at, .. } if at == address),
                    "{error}"
                );
            }
        }
        let (address, _sockets) = udp(any(), 2).unwrap();
        assert!(matches!(
            udp(address, 2),
            Err(Error::AddressInUse {
                protocol: "UDP",
                ..
            })
        ));
    }

    #[test]
    fn threads_share_a_port_and_accepted_sockets_send_at_once() {
        let (address, listeners) = tcp(any(), 3).unwrap();
        assert_eq!(listeners.len(), 3);
        assert!(
            listeners
                .iter()
                .all(|listener| listener.local_addr().unwrap() == address)
        );
        let (address, one) = tcp(any(), 1).unwrap();
        one[0].set_nonblocking(false).unwrap();
        let _client = std::net::TcpStream::connect(address).unwrap();
        let (accepted, _) = one[0].accept().unwrap();
        assert!(accepted.nodelay().unwrap());
    }

    #[test]
    fn names_are_served_on_one_port() {
        let names = dns(any(), 1).unwrap();
        assert_eq!(names.udp[0].local_addr().unwrap(), names.address);
        assert_eq!(names.tcp[0].local_addr().unwrap(), names.address);
    }

    #[test]
    fn an_address_of_another_machine_cannot_be_listened_on() {
        let elsewhere = "192.0.2.1:0".parse().unwrap();
        assert!(matches!(tcp(elsewhere, 1), Err(Error::CannotListen { .. })));
    }
}
