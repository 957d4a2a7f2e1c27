//! The kinds of certificate keys.

use serde::{Deserialize, Serialize};

/// The kind of a leaf certificate's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeyKind {
    /// RSA, 2,048 bits.
    Rsa,
    /// ECDSA on P-256.
    Ecdsa,
}
