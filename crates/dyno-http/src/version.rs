//! Versions of HTTP: those of a start line, and all of them.

use std::ops::{Index, IndexMut};

use crate::{Error, Problem};

/// HTTP/1.0 or HTTP/1.1. Later minor versions are read as HTTP/1.1 (RFC 9110, section 2.5); all others are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    /// `HTTP/1.0`
    Http10,
    /// `HTTP/1.1`
    Http11,
}

impl Version {
    /// The text in a start line.
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

/// A version of HTTP, independent of its wire format.
///
/// To add a version, begin here: the compiler then names each `match` that lacks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HttpVersion {
    /// HTTP/1.0
    Http10,
    /// HTTP/1.1
    Http11,
    /// HTTP/2
    Http2,
}

impl HttpVersion {
    /// Every version, the oldest first.
    pub const ALL: [Self; 3] = [Self::Http10, Self::Http11, Self::Http2];

    /// The name: `HTTP/1.0`, `HTTP/1.1`, `HTTP/2`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
        }
    }

    /// The number alone: `1.0`, `1.1`, `2`.
    #[must_use]
    pub const fn number(self) -> &'static str {
        match self {
            Self::Http10 => "1.0",
            Self::Http11 => "1.1",
            Self::Http2 => "2",
        }
    }

    /// The name in ALPN (RFC 7301, section 6; RFC 9113, section 3.1).
    #[must_use]
    pub const fn alpn(self) -> &'static [u8] {
        match self {
            Self::Http10 => b"http/1.0",
            Self::Http11 => b"http/1.1",
            Self::Http2 => b"h2",
        }
    }

    /// The version with that name in ALPN.
    #[must_use]
    pub fn from_alpn(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.alpn() == name)
    }
}

impl From<Version> for HttpVersion {
    fn from(version: Version) -> Self {
        match version {
            Version::Http10 => Self::Http10,
            Version::Http11 => Self::Http11,
        }
    }
}

/// A value for each version of HTTP.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PerVersion<T>([T; HttpVersion::ALL.len()]);

impl<T> PerVersion<T> {
    /// Make the value of each version.
    #[must_use]
    pub fn from_fn(make: impl FnMut(HttpVersion) -> T) -> Self {
        Self(HttpVersion::ALL.map(make))
    }

    /// The versions with their values, the oldest first.
    pub fn iter(&self) -> impl Iterator<Item = (HttpVersion, &T)> {
        HttpVersion::ALL.into_iter().zip(&self.0)
    }
}

impl<T> Index<HttpVersion> for PerVersion<T> {
    type Output = T;

    #[inline]
    fn index(&self, version: HttpVersion) -> &T {
        &self.0[version as usize]
    }
}

impl<T> IndexMut<HttpVersion> for PerVersion<T> {
    #[inline]
    fn index_mut(&mut self, version: HttpVersion) -> &mut T {
        &mut self.0[version as usize]
    }
}

/// Parses the version at `at`; returns it with its end. `None`: it has not arrived completely.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_version_has_its_own_value_and_names() {
        let mut numbers = PerVersion::from_fn(HttpVersion::number);
        numbers[HttpVersion::Http2] = "two";
        let all: Vec<_> = numbers.iter().map(|(_, number)| *number).collect();
        assert_eq!(all, ["1.0", "1.1", "two"]);
        for (version, number) in numbers.iter() {
            assert_eq!(numbers[version], *number);
            assert_eq!(HttpVersion::from_alpn(version.alpn()), Some(version));
        }
        assert_eq!(HttpVersion::from_alpn(b"spdy/3"), None);
    }
}
