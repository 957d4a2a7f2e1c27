//! The named oddities of a host: answers that browsers read although they break a rule, or that need more of a client than one request.

use serde::{Deserialize, Serialize};

macro_rules! oddities {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal needs $capability:ident;)+) => {
        /// An oddity of a host's answers over HTTP/1.1: one kind, one meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Oddity {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Oddity {
            /// Every oddity, in the order of the capabilities.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name in TOML, records and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The capability that a client needs to get the answer behind it.
            #[must_use]
            pub const fn capability(self) -> Capability {
                match self { $(Self::$variant => Capability::$capability,)+ }
            }
        }
    };
}

macro_rules! capabilities {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal;)+) => {
        /// A capability of clients that no rule demands, but that a crawl needs.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[repr(u8)]
        pub enum Capability {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Capability {
            /// Every capability.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name in options, records and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }
        }
    };
}

capabilities! {
    /// Reads answers that are not quite HTTP, as browsers do.
    Tolerance = "tolerance";
    /// Follows a redirect whatever its content, and a `Location` with bytes that should have been encoded.
    Redirects = "redirects";
    /// Sends cookies back within a chain of redirects.
    Cookies = "cookies";
    /// Keeps the status and the bytes of a content whose coding it does not know.
    Codings = "codings";
    /// Reads a content that ends with the connection, without TLS's own end.
    Endings = "endings";
    /// Repeats a request as late as `Retry-After` says.
    RetryAfter = "retry_after";
    /// Obeys robots.txt: what it forbids is not fetched.
    Robots = "robots";
}

oddities! {
    /// A field line is folded: its value goes on in the next line.
    FoldedField = "folded_field" needs Tolerance;
    /// The lines of the head end in LF alone.
    BareLf = "bare_lf" needs Tolerance;
    /// The lines around the chunks end in LF alone.
    BareLfChunks = "bare_lf_chunks" needs Tolerance;
    /// A space between a field's name and its colon.
    SpaceBeforeColon = "space_before_colon" needs Tolerance;
    /// The length twice in one field: `Content-Length: 2, 2`.
    RepeatedLength = "repeated_length" needs Tolerance;
    /// Chunks, and the length of the content as well.
    LengthAndChunked = "length_and_chunked" needs Tolerance;
    /// `http/1.1` in lower case.
    LowerCaseVersion = "lower_case_version" needs Tolerance;
    /// A line without a colon among the fields.
    LineWithoutColon = "line_without_colon" needs Tolerance;
    /// Bytes from 0x80 to 0xFF in a field's value.
    HighBytes = "high_bytes" needs Tolerance;
    /// An empty line before the status line.
    EmptyLineFirst = "empty_line_first" needs Tolerance;
    /// More than 100 field lines.
    ManyFields = "many_fields" needs Tolerance;
    /// A head of 48 KiB.
    LongHead = "long_head" needs Tolerance;
    /// `Transfer-Encoding: identity`: the content ends with the connection.
    IdentityTransfer = "identity_transfer" needs Tolerance;
    /// Chunk extensions without a name, and long ones.
    ChunkExtensions = "chunk_extensions" needs Tolerance;
    /// A redirect whose content is shorter than its length.
    RedirectCutShort = "redirect_cut_short" needs Redirects;
    /// A redirect in chunks, whose connection closes before the last one.
    RedirectWithoutEnd = "redirect_without_end" needs Redirects;
    /// A redirect whose content drips, practically without end.
    RedirectDrips = "redirect_drips" needs Redirects;
    /// A redirect to a path with bytes of UTF-8 that are not encoded.
    LocationUtf8 = "location_utf8" needs Redirects;
    /// A redirect to a path with bytes of Latin-1 that are not encoded.
    LocationLatin1 = "location_latin1" needs Redirects;
    /// A redirect to a path with a space.
    LocationSpace = "location_space" needs Redirects;
    /// A redirect with an empty `Location`: the end of the chain, as browsers have it.
    LocationEmpty = "location_empty" needs Redirects;
    /// A request without the host's cookie is redirected to the same URL, with the cookie.
    Cookie = "cookie" needs Cookies;
    /// The content is not coded, but has the `Content-Encoding` of a coding that does not exist.
    UnknownCoding = "unknown_coding" needs Codings;
    /// The content ends with the TCP connection; TLS's `close_notify` is missing.
    NoCloseNotify = "no_close_notify" needs Endings;
    /// The first request of each URL is answered with 429 and `Retry-After: 1`.
    TooManyRequests = "too_many_requests" needs RetryAfter;
    /// The first request of each URL is answered with 503 and a date in `Retry-After`.
    Unavailable = "unavailable" needs RetryAfter;
}

impl Oddity {
    /// Whether the answer depends on the number of earlier requests.
    #[must_use]
    pub const fn counts_requests(self) -> bool {
        matches!(self, Self::TooManyRequests | Self::Unavailable)
    }

    /// The path to which the oddity redirects, encoded as a client must send it; empty for an empty `Location`.
    pub(crate) const fn redirect_path(self) -> Option<&'static str> {
        match self {
            Self::RedirectCutShort | Self::RedirectWithoutEnd | Self::RedirectDrips => {
                Some("/moved")
            }
            Self::LocationUtf8 => Some("/d%C3%A9plac%C3%A9"),
            Self::LocationLatin1 => Some("/d%E9plac%E9"),
            Self::LocationSpace => Some("/moved%20here"),
            Self::LocationEmpty => Some(""),
            _ => None,
        }
    }

    /// Whether the head has the path of `Location` without its encoding.
    #[must_use]
    pub const fn has_raw_location(self) -> bool {
        matches!(
            self,
            Self::LocationUtf8 | Self::LocationLatin1 | Self::LocationSpace
        )
    }
}

/// A set of capabilities.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Capabilities(u8);

impl Capabilities {
    /// No capability.
    pub const NONE: Self = Self(0);

    /// Whether the set has a capability.
    #[must_use]
    pub const fn has(self, capability: Capability) -> bool {
        self.0 & (1 << capability as u8) != 0
    }
}

impl FromIterator<Self> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Self>>(sets: I) -> Self {
        Self(sets.into_iter().fold(0, |all, set| all | set.0))
    }
}

impl FromIterator<Capability> for Capabilities {
    fn from_iter<I: IntoIterator<Item = Capability>>(capabilities: I) -> Self {
        Self(
            capabilities
                .into_iter()
                .fold(0, |set, capability| set | 1 << capability as u8),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_used_by_serde() {
        let names: BTreeSet<&str> = Oddity::ALL.iter().map(|oddity| oddity.name()).collect();
        assert_eq!(names.len(), Oddity::ALL.len());
        for oddity in Oddity::ALL {
            assert_eq!(serde_json::to_value(oddity).unwrap(), oddity.name());
        }
        for capability in Capability::ALL {
            assert_eq!(serde_json::to_value(capability).unwrap(), capability.name());
        }
    }

    #[test]
    fn a_set_has_what_it_was_made_of() {
        let set: Capabilities = [Capability::Cookies, Capability::Endings]
            .into_iter()
            .collect();
        let in_set: Vec<Capability> = Capability::ALL
            .iter()
            .copied()
            .filter(|&capability| set.has(capability))
            .collect();
        assert_eq!(in_set, [Capability::Cookies, Capability::Endings]);
    }
}
