//! Content codings, and which of them a request accepts (RFC 9110, section 12.5.3).

use serde::{Deserialize, Serialize};

/// A content coding that the web can serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// No coding.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 7932.
    Br,
    /// RFC 8878.
    Zstd,
}

impl Coding {
    /// The codings that change the bytes.
    pub const COMPRESSED: [Self; 3] = [Self::Gzip, Self::Br, Self::Zstd];

    /// The registered name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Gzip => "gzip",
            Self::Br => "br",
            Self::Zstd => "zstd",
        }
    }
}

/// The set of codings that a request accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Accepted(u8);

impl Accepted {
    /// Identity only.
    pub const NONE: Self = Self(0);

    /// Parses the value of an `Accept-Encoding` field; several fields are joined with [`Accepted::and`].
    ///
    /// A coding with `q=0` is not accepted; `*` accepts every coding that is not named. `x-gzip` is gzip.
    #[must_use]
    pub fn parse(value: &[u8]) -> Self {
        let (mut accepted, mut named, mut any) = (0, 0, false);
        for element in value.split(|&byte| byte == b',') {
            let mut parts = element.split(|&byte| byte == b';');
            let token = parts.next().unwrap_or_default().trim_ascii();
            let refused = parts.any(|parameter| {
                let parameter = parameter.trim_ascii();
                parameter.len() > 2
                    && parameter[..2].eq_ignore_ascii_case(b"q=")
                    && parameter[2..]
                        .iter()
                        .all(|byte| matches!(byte, b'0' | b'.'))
            });
            if token == b"*" {
                any = !refused;
                continue;
            }
            for coding in Coding::COMPRESSED {
                let alias = coding == Coding::Gzip && token.eq_ignore_ascii_case(b"x-gzip");
                if alias || token.eq_ignore_ascii_case(coding.name().as_bytes()) {
                    named |= Self::bit(coding);
                    if !refused {
                        accepted |= Self::bit(coding);
                    }
                }
            }
        }
        if any {
            accepted |= Coding::COMPRESSED.into_iter().map(Self::bit).sum::<u8>() & !named;
        }
        Self(accepted)
    }

    /// The union of both sets.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether `coding` may be sent.
    #[must_use]
    pub fn accepts(self, coding: Coding) -> bool {
        coding == Coding::Identity || self.0 & Self::bit(coding) != 0
    }

    /// The coding sent by a server that prefers `preferred`: that, else gzip, else identity.
    #[must_use]
    pub fn choose(self, preferred: Coding) -> Coding {
        if self.accepts(preferred) {
            preferred
        } else if self.accepts(Coding::Gzip) {
            Coding::Gzip
        } else {
            Coding::Identity
        }
    }

    fn bit(coding: Coding) -> u8 {
        match coding {
            Coding::Identity => 0,
            Coding::Gzip => 1,
            Coding::Br => 2,
            Coding::Zstd => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_parsed() {
        let cases: [(&[u8], [bool; 3]); 9] = [
            (b"", [false, false, false]),
            (b"gzip", [true, false, false]),
            (b"GZIP, Deflate , br", [true, true, false]),
            (b"gzip;q=0, br;q=0.5", [false, true, false]),
            (b"gzip; q=0.000", [false, false, false]),
            (b"*", [true, true, true]),
            (b"*, br;q=0", [true, false, true]),
            (b"identity, *;q=0", [false, false, false]),
            (b"x-gzip,zstd;q=1.0", [true, false, true]),
        ];
        for (value, expected) in cases {
            let accepted = Accepted::parse(value);
            let seen = Coding::COMPRESSED.map(|coding| accepted.accepts(coding));
            assert_eq!(seen, expected, "{}", String::from_utf8_lossy(value));
        }
    }

    #[test]
    fn the_choice_falls_back_to_gzip_then_identity() {
        assert_eq!(
            Accepted::parse(b"gzip, br").choose(Coding::Zstd),
            Coding::Gzip
        );
        assert_eq!(Accepted::parse(b"gzip, br").choose(Coding::Br), Coding::Br);
        assert_eq!(Accepted::NONE.choose(Coding::Br), Coding::Identity);
        assert_eq!(
            Accepted::parse(b"gzip").choose(Coding::Identity),
            Coding::Identity
        );
    }
}
