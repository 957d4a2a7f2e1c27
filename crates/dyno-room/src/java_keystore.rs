//! A Java keystore (JKS, version 2) with trusted certificates.
//!
//! The format of `sun.security.provider.JavaKeyStore`: big-endian numbers; an alias, a date, a kind and the DER of each
//! certificate; at the end a keyed SHA-1 that Java checks if it has the password (`changeit`, the usual one).

use sha1::{Digest, Sha1};

const MAGIC: u32 = 0xfeed_feed;
const VERSION: u32 = 2;
const TRUSTED_CERTIFICATE: u32 = 2;
const PASSWORD: &str = "changeit";
const WHITENER: &[u8] = b"Mighty Aphrodite";

/// Return the bytes of a keystore that trusts these certificates (DER).
pub(crate) fn java_keystore<'a>(certificates: impl ExactSizeIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    put_number(&mut bytes, MAGIC);
    put_number(&mut bytes, VERSION);
    put_number(&mut bytes, length_of(certificates.len()));
    for (index, certificate) in certificates.enumerate() {
        put_number(&mut bytes, TRUSTED_CERTIFICATE);
        put_text(&mut bytes, &format!("httpdyno-{index}"));
        // Only keytool shows the date of entry. Zero keeps the bytes equal across runs.
        bytes.extend_from_slice(&0_u64.to_be_bytes());
        put_text(&mut bytes, "X.509");
        put_number(&mut bytes, length_of(certificate.len()));
        bytes.extend_from_slice(certificate);
    }
    let seal = Sha1::new()
        .chain_update(password_bytes())
        .chain_update(WHITENER)
        .chain_update(&bytes)
        .finalize();
    bytes.extend_from_slice(&seal);
    bytes
}

fn password_bytes() -> Vec<u8> {
    PASSWORD.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn length_of(length: usize) -> u32 {
    u32::try_from(length).expect("certificates are shorter than 4 GiB")
}

fn put_number(bytes: &mut Vec<u8>, number: u32) {
    bytes.extend_from_slice(&number.to_be_bytes());
}

fn put_text(bytes: &mut Vec<u8>, text: &str) {
    let length = u16::try_from(text.len()).expect("names are short");
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_equals_javas() {
        let certificates: [&[u8]; 2] = [b"one", b"two2"];
        let bytes = java_keystore(certificates.into_iter());
        assert_eq!(
            bytes[..12],
            [0xfe, 0xed, 0xfe, 0xed, 0, 0, 0, 2, 0, 0, 0, 2]
        );
        assert_eq!(bytes[12..28], *b"\0\0\0\x02\0\x0ahttpdyno-0");
        assert_eq!(bytes[36..43], *b"\0\x05X.509");
        assert_eq!(bytes[43..50], *b"\0\0\0\x03one");
        assert_eq!(bytes.len(), 12 + (4 + 12 + 8 + 7 + 4) * 2 + 3 + 4 + 20);
    }

    #[test]
    fn the_seal_covers_every_byte() {
        let seal = |certificate: &'static [u8]| {
            let bytes = java_keystore([certificate].into_iter());
            bytes[bytes.len() - 20..].to_vec()
        };
        assert_ne!(seal(b"one"), seal(b"onf"));
    }
}
