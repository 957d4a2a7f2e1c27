//! Bytes in JSON.

use base64::DecodeError;
use base64::prelude::{BASE64_STANDARD, Engine};
use serde::Deserialize;

/// Bytes, written in base64.
#[derive(Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Base64(pub(crate) Vec<u8>);

impl TryFrom<String> for Base64 {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = |error: DecodeError| {
            let reason = error.to_string();
            format!("the base64 is wrong: {}", reason.trim_end_matches('.'))
        };
        BASE64_STANDARD.decode(text).map(Self).map_err(wrong)
    }
}
