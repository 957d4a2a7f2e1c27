//! Failures of a request; reports and rows use their names.

use std::io;
use std::sync::LazyLock;

use rustls::{AlertDescription, CertificateError};
use thiserror::Error;

macro_rules! alerts {
    ($($alert:ident $name:literal,)*) => {
        /// Alerts, with their names in the registry of TLS.
        const ALERTS: &[(AlertDescription, &str)] =
            &[$((AlertDescription::$alert, concat!("TlsAlert: ", $name))),*];
    };
}

alerts! {
    CloseNotify "close_notify",
    UnexpectedMessage "unexpected_message",
    BadRecordMac "bad_record_mac",
    RecordOverflow "record_overflow",
    HandshakeFailure "handshake_failure",
    BadCertificate "bad_certificate",
    UnsupportedCertificate "unsupported_certificate",
    CertificateRevoked "certificate_revoked",
    CertificateExpired "certificate_expired",
    CertificateUnknown "certificate_unknown",
    IllegalParameter "illegal_parameter",
    UnknownCA "unknown_ca",
    AccessDenied "access_denied",
    DecodeError "decode_error",
    DecryptError "decrypt_error",
    ProtocolVersion "protocol_version",
    InsufficientSecurity "insufficient_security",
    InternalError "internal_error",
    InappropriateFallback "inappropriate_fallback",
    UserCanceled "user_canceled",
    NoRenegotiation "no_renegotiation",
    MissingExtension "missing_extension",
    UnsupportedExtension "unsupported_extension",
    UnrecognisedName "unrecognized_name",
    BadCertificateStatusResponse "bad_certificate_status_response",
    UnknownPSKIdentity "unknown_psk_identity",
    CertificateRequired "certificate_required",
}

/// The alert in an error that came through the h2 crate, which keeps only the text of it.
fn alert(error: &io::Error) -> Option<AlertDescription> {
    let text = error.to_string();
    let known = ALERTS.iter().map(|(alert, _)| *alert);
    known
        .into_iter()
        .find(|alert| text == rustls::Error::AlertReceived(*alert).to_string())
}

/// Reason for a missing or incomplete answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The name has no address.
    #[error("the host has no address")]
    HostNotFound,
    /// The name server failed.
    #[error("the resolver failed")]
    ResolverFailed,
    /// The name server did not answer.
    #[error("the resolver did not answer in time")]
    ResolveTimeout,
    /// The port is closed.
    #[error("the connection was refused")]
    ConnectionRefused,
    /// The peer did not answer the attempt to connect.
    #[error("no connection in time")]
    ConnectTimeout,
    /// No route to the address.
    #[error("the network or the host cannot be reached")]
    NetworkUnreachable,
    /// Connections to the host failed so often that no further one was attempted.
    #[error("several connections to the host failed just before")]
    HostDown,
    /// `robots.txt` of the host forbids the URL.
    #[error("robots.txt of the host forbids it")]
    Disallowed,
    /// The peer reset the connection.
    #[error("the connection was reset")]
    ConnectionReset,
    /// The handshake did not end in time.
    #[error("the TLS handshake did not end in time")]
    TlsTimeout,
    /// The peer ended the handshake with an alert.
    #[error("the peer sent a TLS alert")]
    TlsAlert(AlertDescription),
    /// The peer sent bytes that violate TLS.
    #[error("the peer violated TLS")]
    TlsProtocol,
    /// The certificate has expired.
    #[error("the certificate has expired")]
    CertificateExpired,
    /// The certificate is not valid yet.
    #[error("the certificate is not valid yet")]
    CertificateNotYetValid,
    /// The certificate is for another host.
    #[error("the certificate is not for this host")]
    CertificateWrongName,
    /// The certificate is not signed by a trusted authority.
    #[error("the certificate is not signed by a trusted authority")]
    CertificateUntrusted,
    /// Another fault of the certificate.
    #[error("the certificate is not valid")]
    CertificateInvalid,
    /// The caller requires HTTP/2, and the server did not negotiate it.
    #[error("the server does not offer HTTP/2")]
    Http2NotOffered,
    /// The connection ended before the first byte of the answer.
    #[error("the connection was closed before an answer")]
    ClosedBeforeAnswer,
    /// The head of the answer is not HTTP.
    #[error("malformed head: {0}")]
    MalformedHead(dyno_http::Error),
    /// The head of the answer is too long, or has too many fields.
    #[error("the head is too long")]
    HeadTooLong,
    /// Too many interim answers.
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
    /// The connection ended before the end of the answer.
    #[error("the connection ended before the end of the answer")]
    BodyCutShort,
    /// The peer reset the HTTP/2 stream.
    #[error("the stream was reset")]
    StreamReset,
    /// The peer reset the HTTP/2 stream before it processed the request (RFC 9113, section 8.7).
    #[error("the stream was refused")]
    StreamRefused,
    /// The peer accepted no further streams on the connection.
    #[error("the connection accepts no further streams")]
    GoAway,
    /// The peer violated HTTP/2.
    #[error("the peer violated HTTP/2")]
    Http2Protocol,
    /// A file that is the body of a request got another length while requests were sent.
    #[error("the file of the body changed its length")]
    BodyFileChanged,
    /// The content is longer than the limit.
    #[error("the content is longer than the limit")]
    ContentTooLong,
    /// The content cannot be decoded.
    #[error("the content cannot be decoded")]
    MalformedCoding,
    /// More redirects than the limit.
    #[error("too many redirects")]
    TooManyRedirects,
    /// A redirect without a valid location.
    #[error("a redirect without a valid location")]
    InvalidRedirect,
    /// A redirect from a public host into a private network.
    #[error("a redirect from a public host to a private address")]
    PrivateRedirect,
    /// The line is not a URL.
    #[error("not a URL")]
    InvalidUrl,
    /// The scheme of the URL is neither http nor https.
    #[error("the scheme is neither http nor https")]
    UnsupportedScheme,
    /// This process, or the machine, cannot open further files.
    #[error("too many open files")]
    TooManyOpenFiles,
    /// All local ports to the server are in use, usually by connections in `TIME_WAIT`.
    #[error("no local port is free")]
    NoLocalPort,
    /// The proxy cannot be reached, for this reason.
    #[error("{0}")]
    ProxyUnreachable(&'static str),
    /// The proxy refused to open a tunnel, for this reason.
    #[error("{0}")]
    ProxyRefused(&'static str),
    /// The proxy did not accept the connection, or open the tunnel, in time.
    #[error("no connection through the proxy in time")]
    ProxyTimeout,
    /// The proxy closed the connection in the handshake, or violated its protocol.
    #[error("the proxy violated its protocol")]
    ProxyProtocol,
    /// Another error of the system.
    #[error("{0}")]
    Io(io::ErrorKind),
}

impl Failure {
    /// The name in reports and rows.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::HostNotFound => "HostNotFound",
            Self::ResolverFailed => "ResolverFailed",
            Self::ResolveTimeout => "ResolveTimeout",
            Self::ConnectionRefused => "ConnectionRefused",
            Self::ConnectTimeout => "ConnectTimeout",
            Self::NetworkUnreachable => "NetworkUnreachable",
            Self::HostDown => "HostDown",
            Self::Disallowed => "Disallowed",
            Self::ConnectionReset => "ConnectionReset",
            Self::TlsTimeout => "TlsTimeout",
            Self::TlsAlert(_) => "TlsAlert",
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
            Self::StreamRefused => "StreamRefused",
            Self::GoAway => "GoAway",
            Self::Http2Protocol => "Http2Protocol",
            Self::BodyFileChanged => "BodyFileChanged",
            Self::ContentTooLong => "ContentTooLong",
            Self::MalformedCoding => "MalformedCoding",
            Self::TooManyRedirects => "TooManyRedirects",
            Self::InvalidRedirect => "InvalidRedirect",
            Self::PrivateRedirect => "PrivateRedirect",
            Self::InvalidUrl => "InvalidUrl",
            Self::UnsupportedScheme => "UnsupportedScheme",
            Self::TooManyOpenFiles => "TooManyOpenFiles",
            Self::NoLocalPort => "NoLocalPort",
            Self::ProxyUnreachable(_) => "ProxyUnreachable",
            Self::ProxyRefused(_) => "ProxyRefused",
            Self::ProxyTimeout => "ProxyTimeout",
            Self::ProxyProtocol => "ProxyProtocol",
            Self::Io(_) => "Io",
        }
    }

    /// The word, and behind it the name of an alert or a proxy's reason: `TlsAlert: certificate_required`,
    /// `ProxyRefused: 403`.
    #[must_use]
    pub fn full_name(self) -> &'static str {
        let alert = match self {
            Self::TlsAlert(alert) => alert,
            Self::ProxyUnreachable(full) | Self::ProxyRefused(full) => return full,
            _ => return self.name(),
        };
        let known = ALERTS.iter().find(|(known, _)| *known == alert);
        known.map_or(self.name(), |(_, name)| name)
    }

    /// A failure on the way to a proxy, which is not the server's. Limits of this machine stay as they are.
    #[must_use]
    pub const fn of_proxy(self) -> Self {
        Self::ProxyUnreachable(match self {
            Self::HostNotFound => "ProxyUnreachable: HostNotFound",
            Self::ResolverFailed => "ProxyUnreachable: ResolverFailed",
            Self::ResolveTimeout => "ProxyUnreachable: ResolveTimeout",
            Self::ConnectionRefused => "ProxyUnreachable: ConnectionRefused",
            Self::ConnectTimeout => "ProxyUnreachable: ConnectTimeout",
            Self::ConnectionReset => "ProxyUnreachable: ConnectionReset",
            Self::NetworkUnreachable => "ProxyUnreachable: NetworkUnreachable",
            other => return other,
        })
    }

    /// The answer of a proxy to CONNECT with this status.
    #[must_use]
    pub fn refused_by_proxy(status: u16) -> Self {
        // Names are kept for the whole run; those of all statuses are made once.
        static NAMES: LazyLock<Vec<String>> = LazyLock::new(|| {
            (0..1000)
                .map(|status| format!("ProxyRefused: {status}"))
                .collect()
        });
        let known = NAMES.get(usize::from(status));
        Self::ProxyRefused(known.map_or("ProxyRefused", String::as_str))
    }

    /// Converts an error of a socket.
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

    /// Converts an error of a handshake, or of an encrypted connection.
    #[must_use]
    pub fn from_tls(error: &rustls::Error) -> Self {
        match error {
            rustls::Error::AlertReceived(rustls::AlertDescription::NoApplicationProtocol) => {
                Self::Http2NotOffered
            }
            rustls::Error::AlertReceived(alert) => Self::TlsAlert(*alert),
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

    /// Converts a parser's error in a head.
    #[must_use]
    pub const fn from_head(error: dyno_http::Error) -> Self {
        match error.problem {
            dyno_http::Problem::HeadTooLong { .. } | dyno_http::Problem::TooManyFields { .. } => {
                Self::HeadTooLong
            }
            _ => Self::MalformedHead(error),
        }
    }

    /// Converts a parser's error in the framing of a content.
    #[must_use]
    pub const fn from_body(error: dyno_http::Error) -> Self {
        match error.problem {
            dyno_http::Problem::BodyCutShort => Self::BodyCutShort,
            _ => Self::MalformedBody(error),
        }
    }

    /// Converts an error of an HTTP/2 connection or stream.
    #[must_use]
    pub fn from_http2(error: &h2::Error) -> Self {
        if let Some(io) = error.get_io() {
            return match io.kind() {
                io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
                    Self::ClosedBeforeAnswer
                }
                _ => alert(io).map_or_else(|| Self::from_io(io), Self::TlsAlert),
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
            return match (error.is_remote(), error.reason()) {
                (true, Some(h2::Reason::REFUSED_STREAM)) => Self::StreamRefused,
                (true, _) => Self::StreamReset,
                (false, _) => Self::Http2Protocol,
            };
        }
        Self::Http2Protocol
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_alert_has_a_name_also_behind_http2() {
        for (alert, name) in ALERTS {
            let received = rustls::Error::AlertReceived(*alert);
            assert_eq!(Failure::from_tls(&received).full_name(), *name);
            let as_text = io::Error::new(io::ErrorKind::InvalidData, received.to_string());
            assert_eq!(super::alert(&as_text), Some(*alert));
        }
        let unknown = Failure::TlsAlert(AlertDescription::Unknown(255));
        assert_eq!(unknown.full_name(), "TlsAlert");
        assert_eq!(Failure::TlsTimeout.full_name(), "TlsTimeout");
    }
}
