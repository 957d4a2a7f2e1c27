//! Decodes what encoders produce: cut into any pieces, followed by anything, truncated anywhere.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use proptest::prelude::*;

use super::{Decoding, PIECE_BYTES, Sink, TURN_BYTES};
use crate::Failure;

struct Bounded {
    content: Vec<u8>,
    most: usize,
}

impl Sink for Bounded {
    fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.content.extend_from_slice(piece);
        if self.content.len() > self.most {
            return Err(Failure::ContentTooLong);
        }
        Ok(())
    }
}

fn encode(coding: &str, content: &[u8]) -> Vec<u8> {
    let level = Compression::default();
    match coding {
        "gzip" => {
            let mut encoder = GzEncoder::new(Vec::new(), level);
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        "zlib" => {
            let mut encoder = ZlibEncoder::new(Vec::new(), level);
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        "deflate" => {
            let mut encoder = DeflateEncoder::new(Vec::new(), level);
            encoder.write_all(content).unwrap();
            encoder.finish().unwrap()
        }
        "br" => {
            let mut encoder = brotli::CompressorWriter::new(Vec::new(), 4096, 5, 22);
            encoder.write_all(content).unwrap();
            encoder.into_inner()
        }
        _ => zstd::encode_all(content, 3).unwrap(),
    }
}

/// Returns the value of `Content-Encoding`.
fn named(coding: &str) -> &str {
    if coding == "zlib" { "deflate" } else { coding }
}

fn decode(names: &str, pieces: &[&[u8]], most: usize) -> Result<Vec<u8>, Failure> {
    let mut decoding = Decoding::new([names.as_bytes()].into_iter(), most as u64)?;
    let mut room = vec![0; PIECE_BYTES];
    let mut sink = Bounded {
        content: Vec::new(),
        most,
    };
    for piece in pieces {
        decoding.take(piece, &mut sink)?;
        loop {
            let before = sink.content.len();
            let work = decoding.advance(&mut room, &mut sink)?;
            assert!(sink.content.len() - before <= TURN_BYTES + PIECE_BYTES);
            if work < TURN_BYTES {
                break;
            }
        }
    }
    decoding.end()?;
    Ok(sink.content)
}

fn text(bytes: usize) -> Vec<u8> {
    (0..bytes)
        .map(|place| b"the quick brown fox jumps"[place * place / 7 % 25])
        .collect()
}

const CODINGS: [&str; 5] = ["gzip", "zlib", "deflate", "br", "zstd"];
const MOST: usize = 10 << 20;

proptest! {
    #[test]
    fn content_is_the_same_however_it_is_cut(
        content in prop::collection::vec(any::<u8>(), 0..3_000),
        repeated in 1..80_usize,
        coding in prop::sample::select(&CODINGS[..]),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..5),
    ) {
        let content = content.repeat(repeated);
        let encoded = encode(coding, &content);
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(encoded.len() + 1)).collect();
        cuts.extend([0, encoded.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|pair| &encoded[pair[0]..pair[1]]).collect();
        prop_assert_eq!(decode(named(coding), &pieces, MOST), Ok(content));
    }

    #[test]
    fn garbage_is_an_error_or_content_and_never_a_crash(
        garbage in prop::collection::vec(any::<u8>(), 0..400),
        coding in prop::sample::select(&CODINGS[..]),
        kept in 0..60_usize,
    ) {
        let mut bytes = encode(coding, &text(200));
        bytes.truncate(kept);
        bytes.extend(garbage);
        drop(decode(named(coding), &[&bytes], MOST));
    }
}

#[test]
fn every_byte_alone_is_enough() {
    let content = text(5_000);
    for coding in CODINGS {
        let encoded = encode(coding, &content);
        let pieces: Vec<&[u8]> = encoded.chunks(1).collect();
        assert_eq!(
            decode(named(coding), &pieces, MOST).as_ref(),
            Ok(&content),
            "{coding}"
        );
    }
}

#[test]
fn content_that_ends_early_is_malformed() {
    for coding in CODINGS {
        let encoded = encode(coding, &text(5_000));
        for cut in [1, 2, encoded.len() / 2, encoded.len() - 1] {
            assert_eq!(
                decode(named(coding), &[&encoded[..cut]], MOST),
                Err(Failure::MalformedCoding),
                "{coding} {cut}"
            );
        }
        assert_eq!(
            decode(named(coding), &[], MOST),
            Ok(Vec::new()),
            "{coding}: no content at all"
        );
    }
}

#[test]
fn what_stands_behind_the_end_is_passed_over() {
    for coding in CODINGS {
        let mut encoded = encode(coding, b"content");
        let end = encoded.len();
        encoded.extend(b"\0\0\0garbage");
        assert_eq!(
            decode(named(coding), &[&encoded], MOST).as_deref(),
            Ok(&b"content"[..]),
            "{coding}"
        );
        let apart = [&encoded[..end], &encoded[end..=end], &encoded[end + 1..]];
        assert_eq!(
            decode(named(coding), &apart, MOST).as_deref(),
            Ok(&b"content"[..]),
            "{coding}"
        );
    }
}

#[test]
fn garbage_stays_garbage_wherever_a_piece_begins() {
    for (coding, start) in [("gzip", &b"\x1f"[..]), ("zstd", b"\x28")] {
        let mut encoded = encode(coding, b"content");
        encoded.push(0);
        assert_eq!(
            decode(coding, &[&encoded, start, b"garbage"], MOST).as_deref(),
            Ok(&b"content"[..]),
            "{coding}"
        );
    }
}

#[test]
fn members_of_gzip_and_frames_of_zstd_follow_each_other() {
    for coding in ["gzip", "zstd"] {
        let both = [encode(coding, b"one"), encode(coding, b"two")].concat();
        assert_eq!(
            decode(coding, &[&both], MOST).as_deref(),
            Ok(&b"onetwo"[..]),
            "{coding}"
        );
    }
}

#[test]
fn several_codings_come_off_in_turn() {
    let content = text(300_000);
    let coded = encode("br", &encode("gzip", &content));
    assert_eq!(decode("gzip, br", &[&coded], MOST).as_ref(), Ok(&content));
    assert_eq!(
        decode(" X-GZIP ,identity,, BR", &[&coded], MOST).as_ref(),
        Ok(&content)
    );
    assert_eq!(
        decode("br, gzip", &[&coded], MOST),
        Err(Failure::MalformedCoding)
    );
    for unknown in [
        "UTF-8",
        "none",
        "binary",
        "compress",
        "gzip, x",
        "x, gzip",
        "gzip,gzip,gzip,gzip,gzip",
    ] {
        assert_eq!(
            decode(unknown, &[&coded], MOST).as_ref(),
            Ok(&coded),
            "{unknown}"
        );
    }
}

#[test]
fn a_bomb_is_too_long_before_it_fills_memory() {
    let zeros = vec![0; 64 << 20];
    for coding in ["gzip", "br", "zstd"] {
        let bomb = encode(coding, &zeros);
        assert!(bomb.len() < 1 << 20);
        assert_eq!(
            decode(coding, &[&bomb], 1 << 20),
            Err(Failure::ContentTooLong),
            "{coding}"
        );
    }
}

#[test]
fn what_comes_behind_the_end_of_an_inner_coding_is_bounded_too() {
    let mut inner = encode("gzip", b"short");
    inner.resize(inner.len() + (8 << 20), 0);
    let bomb = encode("br", &inner);
    assert!(bomb.len() < 10_000);
    assert_eq!(
        decode("gzip, br", &[&bomb], 1 << 20),
        Err(Failure::ContentTooLong)
    );
}
