//! What can keep another machine's origin from being measured against: one line each, with what to do.

use std::io;

use dyno_web::OneOrigin;

/// Something is wrong with the origin of another machine, or with the way to it.
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

    /// Its name has no address.
    pub fn unnamed(origin: &OneOrigin) -> Self {
        Self::new(
            origin,
            "cannot be found: its name has no address here; write its address, or add the name to /etc/hosts",
        )
    }

    /// No connection came about.
    pub fn unconnected(origin: &OneOrigin, error: &io::Error) -> Self {
        let port = origin.port();
        let reason = match error.kind() {
            io::ErrorKind::ConnectionRefused => format!(
                "refuses connections; start an origin there: httpdyno origin --web plain --listen 0.0.0.0:{port}"
            ),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => format!(
                "does not answer; is the address right, and does a firewall let port {port} through?"
            ),
            io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => {
                "cannot be reached: no way leads there from this machine; look at the address and at `ip route`"
                    .to_owned()
            }
            _ => format!("cannot be connected to: {error}"),
        };
        Self::new(origin, reason)
    }

    /// Whoever answers is no origin that can be measured against.
    pub fn stranger(origin: &OneOrigin, what: &str) -> Self {
        Self::new(
            origin,
            format!(
                "is no origin that can be measured against: {what}; start one there: httpdyno origin --web plain --listen 0.0.0.0"
            ),
        )
    }

    /// The connection was lost while something was asked.
    pub fn lost(origin: &OneOrigin, error: &io::Error) -> Self {
        let why = match error.kind() {
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::BrokenPipe => "it closed the connection".to_owned(),
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                "it does not answer any more".to_owned()
            }
            io::ErrorKind::InvalidData => "it answers something else than HTTP".to_owned(),
            _ => error.to_string(),
        };
        Self::new(
            origin,
            format!("was lost: {why}; is the origin still running there, and the network up?"),
        )
    }
}
