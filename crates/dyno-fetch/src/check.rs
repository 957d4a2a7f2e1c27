//! Check of content: the document that `CHECK=json` expects.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, SeqAccess, Visitor};

/// Value of `numbers` in the first element.
const NUMBERS: u64 = 123_123;

/// Whether the content is valid JSON whose first element has `numbers` 123123.
#[must_use]
pub fn is_expected(content: &[u8]) -> bool {
    serde_json::from_slice::<Document>(content).is_ok_and(|document| document.0)
}

struct Document(bool);

#[derive(Deserialize)]
struct First {
    numbers: serde_json::Value,
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Elements)
    }
}

struct Elements;

impl<'de> Visitor<'de> for Elements {
    type Value = Document;

    fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Document, A::Error> {
        let first: Option<First> = elements.next_element()?;
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Document(
            first.is_some_and(|first| first.numbers == NUMBERS),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_it_must_be_json_with_the_number_in_its_first_element() {
        let cases = [
            (r#"[{"numbers": 123123}]"#, true),
            (
                r#" [{"a": [1, {}], "numbers": 123123, "b": null}, "x", 7] "#,
                true,
            ),
            (r#"[{"numbers": 123124}]"#, false),
            (r#"[{"numbers": "123123"}]"#, false),
            (r#"[{}, {"numbers": 123123}]"#, false),
            (r#"[{"numbers": 123123}"#, false),
            (r#"[{"numbers": 123123}] x"#, false),
            (r#"[{"numbers": 123123}, {"open": ]"#, false),
            (r#"{"numbers": 123123}"#, false),
            ("[]", false),
            ("", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_expected(text.as_bytes()), expected, "{text}");
        }
    }
}
