//! The documents of a web: one deterministic text, cut at 256 lengths, and a few fixed documents.

use std::sync::OnceLock;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Serialize;

/// Number of page lengths.
pub const CLASSES: usize = 256;
const SHORTEST_PAGE: u64 = 256;
/// The longest page, in bytes; also the length of [`text`].
const LONGEST_PAGE: u64 = 8 * 1024 * 1024;

/// The content of `/plain`.
pub const PLAIN_DOCUMENT: &str = "Hello, World!";
/// The content of `/encoding/utf8`: its numbers of bytes, characters and UTF-16 units all differ.
pub const UTF8_DOCUMENT: &str =
    "Grüße, ∮ E⋅da = Q, Καλημέρα κόσμε, Здравствуй, мир, こんにちは世界, नमस्ते, שלום, 👋🏽🌍\n";
/// One line of `/stream/N`.
pub const STREAM_LINE: &str = "{\"stream\": \"one line of a stream\"}
";

/// The content of `/json`: 16 KiB of JSON whose `[0].numbers` is 123123.
pub static JSON_DOCUMENT: std::sync::LazyLock<String> = std::sync::LazyLock::new(json_document);

/// A wrong JSON document: valid and of the same length, with another number.
pub static WRONG_DOCUMENT: std::sync::LazyLock<String> =
    std::sync::LazyLock::new(|| JSON_DOCUMENT.replacen("123123", "321321", 1));

/// A class of page lengths; `Class(0)` is the shortest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Class(u8);

impl Class {
    /// Every class, shortest first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..=u8::MAX).map(Self)
    }

    /// The class whose length is nearest to `bytes`.
    #[must_use]
    pub fn nearest(bytes: u64) -> Self {
        let lengths = lengths();
        let above = lengths
            .partition_point(|&length| length < bytes)
            .min(CLASSES - 1);
        let below = above.saturating_sub(1);
        let nearest = if bytes.abs_diff(lengths[below]) < bytes.abs_diff(lengths[above]) {
            below
        } else {
            above
        };
        Self(u8::try_from(nearest).expect("256 classes fit a byte"))
    }

    /// The index of the class, 0 to 255.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }

    /// Length of a page of this class in bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        lengths()[self.index()]
    }
}

/// Log-spaced from 256 bytes to 8 MiB: each 4.16 % longer than the one before, computed in integers.
fn lengths() -> &'static [u64; CLASSES] {
    // (8 MiB / 256 B)^(1/255), times 2^40, rounded.
    const RATIO_Q40: u128 = 1_145_268_915_388;
    static LENGTHS: OnceLock<[u64; CLASSES]> = OnceLock::new();
    LENGTHS.get_or_init(|| {
        let mut lengths = [0; CLASSES];
        let mut exact = u128::from(SHORTEST_PAGE) << 40;
        for length in &mut lengths {
            *length = u64::try_from((exact + (1 << 39)) >> 40)
                .expect("at most 8 MiB")
                .min(LONGEST_PAGE);
            exact = (exact * RATIO_Q40) >> 40;
        }
        lengths[CLASSES - 1] = LONGEST_PAGE;
        lengths
    })
}

/// The text whose beginnings are the pages: ASCII, so that bytes are characters; `ratio` to 1 under gzip.
///
/// Its words follow a Zipf-like law, and earlier stretches are repeated like templates in real pages; the frequency of these
/// repeats sets the ratio. The text is the same for every seed, so that it can be prepared once. Takes about 20 ms.
#[must_use]
pub fn text(ratio: u32) -> Vec<u8> {
    let length = usize::try_from(LONGEST_PAGE).expect("8 MiB fit any usize");
    let mut generator = ChaCha8Rng::seed_from_u64(0x6874_7470_6479_6e6f);
    let words = vocabulary(&mut generator);
    let repeats = repeats_per_1024(ratio);
    let mut text = Vec::with_capacity(length + 512);
    while text.len() < length {
        let draw = generator.next_u64();
        if text.len() > 2_048 && draw % 1_024 < repeats {
            let reach = text.len().min(24_000);
            let stretch = 64 + usize::try_from(draw >> 10 & 0xff).expect("a byte");
            let back =
                stretch + usize::try_from(draw >> 20).expect("64-bit machine") % (reach - stretch);
            let start = text.len() - back;
            text.extend_from_within(start..start + stretch);
        } else {
            // The cube of a uniform draw favours the first words.
            let uniform = (draw >> 12) & 0xffff;
            let leaning = (((uniform * uniform) >> 16) * uniform) >> 16;
            let place = (usize::try_from(leaning).expect("16 bits") * words.len()) >> 16;
            text.extend_from_slice(&words[place]);
            text.push(if draw >> 60 == 0 { b'\n' } else { b' ' });
        }
    }
    text.truncate(length);
    text
}

/// Repeats in 1,024 steps for a ratio, measured with gzip at level 6 (see the test).
fn repeats_per_1024(ratio: u32) -> u64 {
    match ratio {
        0..=3 => 0,
        4 => 20,
        5 => 40,
        6 => 60,
        7 => 80,
        _ => 100,
    }
}

fn vocabulary(generator: &mut ChaCha8Rng) -> Vec<Vec<u8>> {
    const CONSONANTS: &[u8] = b"bcdfghjklmnpqrstvwz";
    const VOWELS: &[u8] = b"aeiou";
    (0..3_000)
        .map(|place| {
            // Frequent words are short.
            let syllables =
                1 + place / 1_000 + usize::try_from(generator.next_u64() % 2).expect("a bit");
            let mut word = Vec::with_capacity(2 * syllables + 1);
            for _ in 0..syllables {
                word.push(CONSONANTS[generator.next_u32() as usize % CONSONANTS.len()]);
                word.push(VOWELS[generator.next_u32() as usize % VOWELS.len()]);
            }
            word
        })
        .collect()
}

fn json_document() -> String {
    const LENGTH: usize = 16 * 1024;
    let mut document = String::with_capacity(LENGTH);
    document.push_str("[{\"numbers\": 123123, \"name\": \"first\"}");
    for index in 1.. {
        let next = format!(
            ",\n {{\"index\": {index}, \"identifier\": \"{:08x}\", \"active\": {}, \"score\": {}.{}, \"tags\": [\"a{}\", \"b{}\"]}}",
            index * 2_654_435_761_u64 % 0xffff_ffff,
            index % 3 == 0,
            index % 100,
            index % 10,
            index % 7,
            index % 13,
        );
        // Room for the closing bracket.
        if document.len() + next.len() + 2 > LENGTH {
            break;
        }
        document.push_str(&next);
    }
    while document.len() < LENGTH - 2 {
        document.push(' ');
    }
    document.push_str("]\n");
    document
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn lengths_ascend_evenly() {
        let lengths = lengths();
        assert_eq!((lengths[0], lengths[255]), (256, LONGEST_PAGE));
        assert!(
            lengths
                .windows(2)
                .all(|pair| pair[0] < pair[1] && pair[1] * 100 <= pair[0] * 106)
        );
    }

    #[test]
    fn the_nearest_class_is_found() {
        for class in Class::all() {
            assert_eq!(Class::nearest(class.bytes()), class);
        }
        assert_eq!(
            (Class::nearest(0).index(), Class::nearest(u64::MAX).index()),
            (0, 255)
        );
    }

    #[test]
    fn the_text_is_ascii_with_the_given_ratio() {
        for ratio in 4..=7 {
            let text = text(ratio);
            assert_eq!(text.len() as u64, LONGEST_PAGE);
            assert!(text.is_ascii());
            let sample = &text[..1 << 20];
            let mut encoder =
                flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
            encoder.write_all(sample).unwrap();
            #[expect(clippy::cast_precision_loss, reason = "a megabyte")]
            let measured = sample.len() as f64 / encoder.finish().unwrap().len() as f64;
            println!("{ratio} {measured}");
            assert!(
                (measured / f64::from(ratio) - 1.0).abs() < 0.1,
                "{measured:.2} for {ratio}"
            );
        }
    }

    #[test]
    fn the_text_never_changes() {
        assert_eq!(
            blake3::hash(&text(5)).to_hex()[..16].to_owned(),
            "f55a77e2746688e3"
        );
    }

    #[test]
    fn the_json_document_is_json_of_16_kib() {
        let value: serde_json::Value = serde_json::from_str(&JSON_DOCUMENT).unwrap();
        assert_eq!(
            (JSON_DOCUMENT.len(), value[0]["numbers"].as_u64()),
            (16 * 1024, Some(123_123))
        );
        assert!(JSON_DOCUMENT.is_ascii());
    }

    #[test]
    fn the_wrong_document_differs_in_its_first_number_only() {
        let [right, mut wrong] = [&JSON_DOCUMENT, &WRONG_DOCUMENT]
            .map(|document| serde_json::from_str::<serde_json::Value>(document).unwrap());
        assert_eq!(JSON_DOCUMENT.len(), WRONG_DOCUMENT.len());
        assert_eq!(wrong[0]["numbers"], 321_321);
        wrong[0]["numbers"] = 123_123.into();
        assert_eq!(wrong, right);
    }
}
