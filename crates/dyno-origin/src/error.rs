//! Errors that prevent an origin from starting.

use std::io;
use std::net::SocketAddr;

/// The reason why an origin did not start, in one line: what, where, what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Another program listens on the address.
    #[error(
        "{protocol} {address}: another program listens there already; stop it, or choose another port"
    )]
    AddressInUse {
        /// `TCP` or `UDP`.
        protocol: &'static str,
        /// The requested address.
        address: SocketAddr,
    },
    /// The address requires a privilege that this process lacks.
    #[error("{protocol} {address}: not permitted; choose a port from 1024 on, or run as root")]
    NotPermitted {
        /// `TCP` or `UDP`.
        protocol: &'static str,
        /// The requested address.
        address: SocketAddr,
    },
    /// The address does not belong to this machine, or listening fails for another reason.
    #[error("{protocol} {address}: cannot listen: {source}; choose an address of this machine")]
    CannotListen {
        /// `TCP` or `UDP`.
        protocol: &'static str,
        /// The requested address.
        address: SocketAddr,
        /// The kernel's error.
        source: io::Error,
    },
    /// Compressing a content failed.
    #[error("cannot compress the contents of the web: {0}")]
    Coding(#[source] io::Error),
    /// A thread or its reactor could not be created.
    #[error("cannot start a thread of the origin: {0}; see the limits of this process: ulimit -a")]
    Thread(#[source] io::Error),
    /// The CPU does not exist, or this process may not use it.
    #[error(
        "cannot pin a thread to CPU {cpu}: {source}; choose one of the CPUs that this process may use"
    )]
    Pin {
        /// The requested CPU.
        cpu: usize,
        /// The kernel's error.
        source: io::Error,
    },
    /// The certificate authority could not be created.
    #[error("cannot create a certificate: {0}")]
    Certificate(#[from] rcgen::Error),
    /// TLS could not be set up.
    #[error("cannot set up TLS: {0}")]
    Tls(#[from] rustls::Error),
}

impl Error {
    /// Converts the error of a socket call for `address`.
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
