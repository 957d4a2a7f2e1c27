//! The protocol version of a start line.

use crate::{Error, Problem};

/// HTTP/1.0 or HTTP/1.1, as which later minor versions are read, too (RFC 9110, section 2.5); others are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// `HTTP/1.0`
    Http10,
    /// `HTTP/1.1`
    Http11,
}

impl Version {
    /// As it stands in a start line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
        }
    }
}

impl std::fmt::Display for Version {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}

/// Reads the version at `at` and says where it ends. `None`: it has not arrived.
#[inline]
pub(crate) fn parse(bytes: &[u8], at: usize) -> Result<Option<(Version, usize)>, Error> {
    match bytes.get(at..at + 8) {
        Some(b"HTTP/1.1") => Ok(Some((Version::Http11, at + 8))),
        Some(b"HTTP/1.0") => Ok(Some((Version::Http10, at + 8))),
        _ => other(bytes, at),
    }
}

#[cold]
fn other(bytes: &[u8], at: usize) -> Result<Option<(Version, usize)>, Error> {
    for (byte, shape) in bytes[at..].iter().zip(b"HTTP/0.0") {
        let fits = if *shape == b'0' {
            byte.is_ascii_digit()
        } else {
            byte == shape
        };
        if !fits {
            return Err(Error::new(at, Problem::InvalidVersion));
        }
    }
    let found = &bytes[at..];
    if found.len() < 8 {
        Ok(None)
    } else if found.starts_with(b"HTTP/1.") {
        Ok(Some((Version::Http11, at + 8)))
    } else {
        Err(Error::new(at, Problem::UnsupportedVersion))
    }
}
