//! The schemes of URLs and their ports.

use serde::{Deserialize, Serialize};

/// Plain or TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scheme {
    /// Port 80.
    Http,
    /// Port 443.
    Https,
}

impl Scheme {
    /// The name before `://`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Https => "https",
        }
    }

    /// The default port.
    #[must_use]
    pub const fn port(self) -> u16 {
        match self {
            Self::Http => 80,
            Self::Https => 443,
        }
    }
}
