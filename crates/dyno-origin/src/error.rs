//! Errors that keep an origin from starting.

use std::io;
use std::net::SocketAddr;

/// The reason why an origin did not start, as one line: what, where, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another program holds the address.
    #[error(
        "{protocol} {address}: another program listens there already; stop it, or choose another port"
    )]
    AddressInUse {
        /// `TCP` or `UDP`.
        protocol: &'static str,
        /// The requested address.
        address: SocketAddr,
    },
    /// The address needs a privilege that this process does not have.
    #[error("{protocol} {address}: not permitted; choose a port from 1024 on, or run as root")]
    NotPermitted {
        /// `TCP` or `UDP`.
        protocol: &'static str,
        /// The requested address.
        address: SocketAddr,
    },
    /// The address is none of this machine, or cannot be listened on for another reason.
    #[error("{protocol} {address}: cannot listen: {source}; choose an address of this machine")]
    CannotListen {
        /// `TCP` or `UDP`.
        protocol: &'static str,
        /// The requested address.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// A content coding failed.
    #[error("cannot code the contents of the web: {0}")]
    Coding(#[source] io::Error),
    /// A thread or its reactor could not be made.
    #[error("cannot start a thread of the origin: {0}; see the limits of this process: ulimit -a")]
    Thread(#[source] io::Error),
    /// The CPU does not exist, or is not allowed to this process.
    #[error(
        "cannot pin a thread to CPU {cpu}: {source}; choose one of the CPUs that this process may use"
    )]
    Pin {
        /// The requested CPU.
        cpu: usize,
        /// The kernel's error.
        source: io::Error,
    },
    /// The certificate authority could not be made.
    #[error("cannot make a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS could not be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

impl Error {
    /// The error of a socket call for `address`.
    pub(crate) fn listening(
        protocol: &'static str,
        address: SocketAddr,
        source: io::Error,
    ) -> Self {
        match source.kind() {
            io::ErrorKind::AddrInUse => Self::AddressInUse { protocol, address },
            io::ErrorKind::PermissionDenied => Self::NotPermitted { protocol, address },
            _ => Self::CannotListen {
                protocol,
                address,
                source,
            },
        }
    }
}
