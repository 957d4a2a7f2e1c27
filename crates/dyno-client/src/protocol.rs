//! Protocol of a connection: HTTP/1.1 or HTTP/2.

use dyno_http::HttpVersion;

/// Protocol of a connection. Each protocol has its own connections and request format. To add one, add a variant here:
/// the compiler then names each `match` that lacks it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1; a server may answer in HTTP/1.0.
    Http1,
    /// HTTP/2
    Http2,
}

impl Protocol {
    /// All protocols.
    pub const ALL: [Self; 2] = [Self::Http1, Self::Http2];

    /// The version of its requests.
    #[must_use]
    pub const fn version(self) -> HttpVersion {
        match self {
            Self::Http1 => HttpVersion::Http11,
            Self::Http2 => HttpVersion::Http2,
        }
    }

    /// The protocol with this ALPN name; HTTP/1.1 if none was negotiated.
    #[must_use]
    pub fn from_alpn(name: Option<&[u8]>) -> Self {
        match name.and_then(HttpVersion::from_alpn) {
            Some(HttpVersion::Http2) => Self::Http2,
            Some(HttpVersion::Http10 | HttpVersion::Http11) | None => Self::Http1,
        }
    }

    /// Whether a connection carries several requests at a time.
    #[must_use]
    pub const fn is_multiplexed(self) -> bool {
        match self {
            Self::Http1 => false,
            Self::Http2 => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protocol_is_known_by_its_name_in_tls() {
        for protocol in Protocol::ALL {
            let name = protocol.version().alpn();
            assert_eq!(Protocol::from_alpn(Some(name)), protocol);
        }
        for name in [None, Some(&b"spdy/3"[..]), Some(b"")] {
            assert_eq!(Protocol::from_alpn(name), Protocol::Http1);
        }
    }
}
