//! OpenSSL's name of an authority in a directory: the `X509_NAME_hash` of its subject.
//!
//! OpenSSL hashes a canonical form of the name (`x509_name_canon` in `crypto/x509/x_name.c`): text values are converted to UTF-8 in
//! lower case, inner blanks folded to one and outer ones removed; the outermost header is left out. The hash is the first four bytes
//! of its SHA-1, read as a little-endian number.

use sha1::{Digest, Sha1};

use crate::der::{self, SEQUENCE, SET};

/// Whitespace of C's `isspace`.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\x0b', '\x0c', '\r'];

const UTF8_STRING: u8 = 0x0c;
const PRINTABLE_STRING: u8 = 0x13;
const TELETEX_STRING: u8 = 0x14;
const IA5_STRING: u8 = 0x16;
const VISIBLE_STRING: u8 = 0x1a;
const UNIVERSAL_STRING: u8 = 0x1c;
const BMP_STRING: u8 = 0x1e;

/// Return the hash of a certificate's subject as in `<hash>.0`; `None` if the bytes are no certificate.
pub(crate) fn subject_hash(certificate: &[u8]) -> Option<String> {
    let canonical = canonical_name(der::subject_of_certificate(certificate)?)?;
    let digest = Sha1::digest(&canonical);
    let head: [u8; 4] = *digest.first_chunk()?;
    Some(format!("{:08x}", u32::from_le_bytes(head)))
}

fn canonical_name(mut names: &[u8]) -> Option<Vec<u8>> {
    let mut output = Vec::new();
    while !names.is_empty() {
        let mut pairs = der::take(&mut names)?.content;
        let mut canonical_pairs = Vec::new();
        while !pairs.is_empty() {
            let mut pair = der::take(&mut pairs)?.content;
            let kind = der::take(&mut pair)?;
            let value = der::take(&mut pair)?;
            let mut content = kind.whole.to_vec();
            match canonical_text(value.tag, value.content) {
                Some(text) => der::put(&mut content, UTF8_STRING, text.as_bytes()),
                None => content.extend_from_slice(value.whole),
            }
            let mut canonical_pair = Vec::new();
            der::put(&mut canonical_pair, SEQUENCE, &content);
            canonical_pairs.push(canonical_pair);
        }
        // Canonical values may have another order than the original ones.
        canonical_pairs.sort();
        der::put(&mut output, SET, &canonical_pairs.concat());
    }
    Some(output)
}

/// Return the canonical form of a text value; `None` for other types, which stay unchanged.
fn canonical_text(tag: u8, content: &[u8]) -> Option<String> {
    let text: String = match tag {
        UTF8_STRING | PRINTABLE_STRING | IA5_STRING | VISIBLE_STRING => {
            String::from_utf8_lossy(content).into_owned()
        }
        TELETEX_STRING => content.iter().map(|&byte| char::from(byte)).collect(),
        BMP_STRING => char::decode_utf16(
            content
                .chunks_exact(2)
                .map(|pair| u16::from_be_bytes([pair[0], pair[1]])),
        )
        .map(|character| character.unwrap_or(char::REPLACEMENT_CHARACTER))
        .collect(),
        UNIVERSAL_STRING => content
            .chunks_exact(4)
            .map(|four| u32::from_be_bytes([four[0], four[1], four[2], four[3]]))
            .map(|number| char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect(),
        _ => return None,
    };
    let words: Vec<&str> = text.split(BLANKS).filter(|word| !word.is_empty()).collect();
    Some(words.join(" ").to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_becomes_canonical() {
        for (tag, content, expected) in [
            (
                PRINTABLE_STRING,
                &b"  Some   Body\t CA "[..],
                Some("some body ca"),
            ),
            (
                UTF8_STRING,
                "\u{c9}T\u{c9}".as_bytes(),
                Some("\u{c9}t\u{c9}"),
            ),
            (BMP_STRING, &[0, b'A', 0, b'B'], Some("ab")),
            (UNIVERSAL_STRING, &[0, 0, 0, b'Z'], Some("z")),
            (TELETEX_STRING, &[0xe9], Some("\u{e9}")),
            (0x03, &[1], None),
        ] {
            assert_eq!(
                canonical_text(tag, content).as_deref(),
                expected,
                "{content:?}"
            );
        }
    }

    #[test]
    fn the_hash_equals_openssls() {
        // Made by OpenSSL 3.0; the hashes are the output of `openssl x509 -hash`.
        for (certificate, expected) in [
            (&include_bytes!("../tests/data/plain.der")[..], "0a8f7342"),
            (include_bytes!("../tests/data/blanks.der"), "af92666c"),
            (include_bytes!("../tests/data/unicode.der"), "49339dfa"),
            (include_bytes!("../tests/data/several.der"), "60abef7f"),
            (include_bytes!("../tests/data/wide.der"), "81238d29"),
        ] {
            assert_eq!(subject_hash(certificate).as_deref(), Some(expected));
        }
    }

    #[test]
    fn invalid_bytes_have_no_hash() {
        assert_eq!(subject_hash(b"not a certificate"), None);
    }
}
