//! Failures of a request, each with a name that is counted and printed.

use std::io;

use rustls::CertificateError;
use thiserror::Error;

/// The reason of a missing or incomplete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The name has no address.
    #[error("the host has no address")]
    HostNotFound,
    /// The name server failed.
    #[error("the resolver failed")]
    ResolverFailed,
    /// No answer to the question for the name.
    #[error("the resolver did not answer in time")]
    ResolveTimeout,
    /// The port is not open.
    #[error("the connection was refused")]
    ConnectionRefused,
    /// No answer to the attempt to connect.
    #[error("no connection in time")]
    ConnectTimeout,
    /// No way to the address.
    #[error("the network or the host cannot be reached")]
    NetworkUnreachable,
    /// The peer reset the connection.
    #[error("the connection was reset")]
    ConnectionReset,
    /// The handshake did not end in time.
    #[error("the TLS handshake did not end in time")]
    TlsTimeout,
    /// The peer ended the handshake with an alert.
    #[error("the peer sent a TLS alert")]
    TlsAlert,
    /// The peer sent bytes that are not TLS, or break its rules.
    #[error("TLS was not spoken as it should be")]
    TlsProtocol,
    /// The certificate's time is over.
    #[error("the certificate has expired")]
    CertificateExpired,
    /// The certificate's time has not come.
    #[error("the certificate is not valid yet")]
    CertificateNotYetValid,
    /// The certificate is another host's.
    #[error("the certificate is not for this host")]
    CertificateWrongName,
    /// The certificate is not signed by a trusted authority.
    #[error("the certificate is not signed by a trusted authority")]
    CertificateUntrusted,
    /// Anything else about the certificate.
    #[error("the certificate is not valid")]
    CertificateInvalid,
    /// The caller requires HTTP/2, and the server did not agree to it.
    #[error("the server does not offer HTTP/2")]
    Http2NotOffered,
    /// The connection ended before any of the answer came.
    #[error("the connection was closed before an answer")]
    ClosedBeforeAnswer,
    /// The head of the answer is not HTTP.
    #[error("malformed head: {0}")]
    MalformedHead(dyno_http::Error),
    /// The head of the answer is longer, or has more fields, than is accepted.
    #[error("the head is too long")]
    HeadTooLong,
    /// More interim answers than are accepted.
    #[error("too many interim answers")]
    InterimFlood,
    /// The head of the answer did not come in time.
    #[error("no head in time")]
    HeadTimeout,
    /// The content did not come in time.
    #[error("no end of the content in time")]
    BodyTimeout,
    /// The framing of the content is not HTTP.
    #[error("malformed framing of the content: {0}")]
    MalformedBody(dyno_http::Error),
    /// The connection ended within the answer.
    #[error("the connection ended within the answer")]
    BodyCutShort,
    /// The peer reset the stream of HTTP/2.
    #[error("the stream was reset")]
    StreamReset,
    /// The peer took no further streams of the connection.
    #[error("the connection takes no further streams")]
    GoAway,
    /// The peer broke the rules of HTTP/2.
    #[error("HTTP/2 was not spoken as it should be")]
    Http2Protocol,
    /// More content than is accepted.
    #[error("more content than is accepted")]
    ContentTooLong,
    /// The content cannot be decoded.
    #[error("the content cannot be decoded")]
    MalformedCoding,
    /// More redirects than are followed.
    #[error("too many redirects")]
    TooManyRedirects,
    /// A redirect without a usable location.
    #[error("a redirect to nowhere")]
    InvalidRedirect,
    /// A redirect from a public host into a private network.
    #[error("a redirect from a public host to a private address")]
    PrivateRedirect,
    /// Not a URL.
    #[error("not a URL")]
    InvalidUrl,
    /// A URL of a scheme other than http and https.
    #[error("a scheme other than http and https")]
    UnsupportedScheme,
    /// This process, or the machine, has no further descriptors.
    #[error("too many open files")]
    TooManyOpenFiles,
    /// All local ports towards the server are taken, mostly by connections just closed.
    #[error("no local port is free")]
    NoLocalPort,
    /// Anything else that the system said.
    #[error("{0}")]
    Io(io::ErrorKind),
}

impl Failure {
    /// The word that is counted and printed.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostNotFound => "HostNotFound",
            Self::ResolverFailed => "ResolverFailed",
            Self::ResolveTimeout => "ResolveTimeout",
            Self::ConnectionRefused => "ConnectionRefused",
            Self::ConnectTimeout => "ConnectTimeout",
            Self::NetworkUnreachable => "NetworkUnreachable",
            Self::ConnectionReset => "ConnectionReset",
            Self::TlsTimeout => "TlsTimeout",
            Self::TlsAlert => "TlsAlert",
            Self::TlsProtocol => "TlsProtocol",
            Self::CertificateExpired => "CertificateExpired",
            Self::CertificateNotYetValid => "CertificateNotYetValid",
            Self::CertificateWrongName => "CertificateWrongName",
            Self::CertificateUntrusted => "CertificateUntrusted",
            Self::CertificateInvalid => "CertificateInvalid",
            Self::Http2NotOffered => "Http2NotOffered",
            Self::ClosedBeforeAnswer => "ClosedBeforeAnswer",
            Self::MalformedHead(_) => "MalformedHead",
            Self::HeadTooLong => "HeadTooLong",
            Self::InterimFlood => "InterimFlood",
            Self::HeadTimeout => "HeadTimeout",
            Self::BodyTimeout => "BodyTimeout",
            Self::MalformedBody(_) => "MalformedBody",
            Self::BodyCutShort => "BodyCutShort",
            Self::StreamReset => "StreamReset",
            Self::GoAway => "GoAway",
            Self::Http2Protocol => "Http2Protocol",
            Self::ContentTooLong => "ContentTooLong",
            Self::MalformedCoding => "MalformedCoding",
            Self::TooManyRedirects => "TooManyRedirects",
            Self::InvalidRedirect => "InvalidRedirect",
            Self::PrivateRedirect => "PrivateRedirect",
            Self::InvalidUrl => "InvalidUrl",
            Self::UnsupportedScheme => "UnsupportedScheme",
            Self::TooManyOpenFiles => "TooManyOpenFiles",
            Self::NoLocalPort => "NoLocalPort",
            Self::Io(_) => "Io",
        }
    }

    /// Returns the failure that an error of a socket means.
    #[must_use]
    pub fn from_io(error: &io::Error) -> Self {
        if let Some(tls) = error.get_ref().and_then(|inner| inner.downcast_ref()) {
            return Self::from_tls(tls);
        }
        match error.kind() {
            io::ErrorKind::ConnectionRefused => Self::ConnectionRefused,
            io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::BrokenPipe => Self::ConnectionReset,
            io::ErrorKind::TimedOut => Self::ConnectTimeout,
            io::ErrorKind::NetworkUnreachable
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkDown => Self::NetworkUnreachable,
            io::ErrorKind::AddrNotAvailable => Self::NoLocalPort,
            kind => match error
                .raw_os_error()
                .map(rustix::io::Errno::from_raw_os_error)
            {
                Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => Self::TooManyOpenFiles,
                _ => Self::Io(kind),
            },
        }
    }

    /// Returns the failure that an error of a handshake, or of an encrypted connection, means.
    #[must_use]
    pub fn from_tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => {
                Self::Http2NotOffered
            }
            rustls::Error::AlertReceived(_) => Self::TlsAlert,
            rustls::Error::InvalidCertificate(why) => match why {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    Self::CertificateExpired
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    Self::CertificateNotYetValid
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => Self::CertificateWrongName,
                CertificateError::UnknownIssuer => Self::CertificateUntrusted,
                _ => Self::CertificateInvalid,
            },
            _ => Self::TlsProtocol,
        }
    }

    /// Returns the failure that a refused head means.
    #[must_use]
    pub const fn from_head(error: dyno_http::Error) -> Self {
        match error.problem {
            dyno_http::Problem::HeadTooLong { .. } | dyno_http::Problem::TooManyFields { .. } => {
                Self::HeadTooLong
            }
            _ => Self::MalformedHead(error),
        }
    }

    /// Returns the failure that refused framing means.
    #[must_use]
    pub const fn from_body(error: dyno_http::Error) -> Self {
        match error.problem {
            dyno_http::Problem::BodyCutShort => Self::BodyCutShort,
            _ => Self::MalformedBody(error),
        }
    }

    /// Returns the failure that an error of a connection or stream of HTTP/2 means.
    #[must_use]
    pub fn from_http2(error: &h2::Error) -> Self {
        if let Some(io) = error.get_io() {
            return match io.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
                    Self::ClosedBeforeAnswer
                }
                _ => Self::from_io(io),
            };
        }
        if error.is_go_away() {
            return if error.is_remote() {
                Self::GoAway
            } else {
                Self::Http2Protocol
            };
        }
        if error.is_reset() {
            return if error.is_remote() {
                Self::StreamReset
            } else {
                Self::Http2Protocol
            };
        }
        Self::Http2Protocol
    }
}
