//! Whether a connection stays open after a message (RFC 9112, 9.3).

use crate::{Version, fields::members};

/// The connection options defined by HTTP/1.1 itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ConnectionOptions {
    /// `close`: this message is the last one.
    pub close: bool,
    /// `keep-alive`: HTTP/1.0's request for a persistent connection.
    pub keep_alive: bool,
    /// `upgrade`: an `Upgrade` field applies to this connection.
    pub upgrade: bool,
}

impl ConnectionOptions {
    #[inline]
    pub(crate) fn add(&mut self, value: &[u8]) {
        // Nearly every message with this field has exactly this value.
        if value.eq_ignore_ascii_case(b"keep-alive") {
            self.keep_alive = true;
        } else {
            self.add_list(value);
        }
    }

    fn add_list(&mut self, value: &[u8]) {
        for option in members(value) {
            match option.len() {
                5 => self.close |= option.eq_ignore_ascii_case(b"close"),
                7 => self.upgrade |= option.eq_ignore_ascii_case(b"upgrade"),
                10 => self.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive"),
                _ => {}
            }
        }
    }

    /// Return whether the sender of a message with these options keeps the connection: `close` takes precedence; HTTP/1.1 keeps it by
    /// default, HTTP/1.0 only on request.
    #[must_use]
    pub const fn keep_alive(self, version: Version) -> bool {
        !self.close && (matches!(version, Version::Http11) || self.keep_alive)
    }
}
