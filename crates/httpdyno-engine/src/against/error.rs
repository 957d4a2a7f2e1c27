//! Failures of a measurement against another machine's origin, one line each, with advice.

use std::io;

use dyno_web::OneOrigin;

/// A failure of another machine's origin, or of the network to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgainstError {
    origin: String,
    reason: String,
}

impl std::fmt::Display for AgainstError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {}", self.origin, self.reason)
    }
}

impl std::error::Error for AgainstError {}

impl AgainstError {
    pub fn new(origin: &OneOrigin, reason: impl Into<String>) -> Self {
        Self {
            origin: origin.to_string(),
            reason: reason.into(),
        }
    }

    /// The host name has no address.
    pub fn no_address(origin: &OneOrigin) -> Self {
        Self::new(
            origin,
            "cannot be found: its name has no address here; write its address, or add the name to /etc/hosts",
        )
    }

    /// No connection was established.
    pub fn no_connection(origin: &OneOrigin, error: &io::Error) -> Self {
        let port = origin.port();
        let reason = match error.kind() {
            io::ErrorKind::ConnectionRefused => format!(
                "refuses connections; start an origin there: httpdyno origin --web plain --listen 0.0.0.0:{port}"
            ),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => format!(
                "does not answer; check the address, and that the firewall allows port {port}"
            ),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                "cannot be reached: no route from this machine; check the address and `ip route`"
                    .to_owned()
            }
            _ => format!("connection failed: {error}"),
        };
        Self::new(origin, reason)
    }

    /// The other side is not an origin that can be measured against.
    pub fn not_an_origin(origin: &OneOrigin, what: &str) -> Self {
        Self::new(
            origin,
            format!(
                "cannot be measured against: {what}; start an origin there: httpdyno origin --web plain --listen 0.0.0.0"
            ),
        )
    }

    /// The connection was lost during an exchange.
    pub fn lost(origin: &OneOrigin, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => "it closed the connection".to_owned(),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                "it stopped answering".to_owned()
            }
            io::ErrorKind::InvalidData => "its answers are not HTTP".to_owned(),
            _ => error.to_string(),
        };
        Self::new(
            origin,
            format!("was lost: {why}; check that the origin still runs there, and the network"),
        )
    }
}
