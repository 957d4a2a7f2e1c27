//! A JSON document in each coding.

use std::io;

use dyno_web::Coding;

use super::coder::{Brotli, Coder, Gzip, Zstd};

/// A document with its compressed forms.
#[derive(Debug)]
pub(crate) struct CodedDocument {
    document: &'static str,
    /// In the order of [`Coding::COMPRESSED`].
    coded: [Box<[u8]>; 3],
}

impl CodedDocument {
    /// Compresses a small document, in about a millisecond.
    pub(crate) fn new(document: &'static str) -> io::Result<Self> {
        let [gzip, br, zstd] = Coding::COMPRESSED.map(|coding| coded(coding, document.as_bytes()));
        Ok(Self {
            document,
            coded: [gzip?, br?, zstd?],
        })
    }

    /// Whether this is the form of `document`.
    pub(crate) fn is(&self, document: &'static str) -> bool {
        std::ptr::eq(self.document, document)
    }

    /// The document in `coding`; `None` for identity.
    pub(crate) fn get(&self, coding: Coding) -> Option<&[u8]> {
        let place = Coding::COMPRESSED
            .iter()
            .position(|&compressed| compressed == coding)?;
        Some(&self.coded[place])
    }
}

/// A short document in a coding.
pub(super) fn coded(coding: Coding, document: &[u8]) -> io::Result<Box<[u8]>> {
    match coding {
        Coding::Identity => Ok(document.into()),
        Coding::Gzip => finished(Gzip::new(), document),
        Coding::Br => finished(Brotli::new(), document),
        Coding::Zstd => finished(Zstd::new()?, document),
    }
}

fn finished(mut coder: impl Coder, document: &[u8]) -> io::Result<Box<[u8]>> {
    coder.extend(document)?;
    Ok([coder.coded(), coder.end().as_bytes()].concat().into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_web::JSON_DOCUMENT;

    #[test]
    fn every_coding_has_its_own_form() {
        let document = CodedDocument::new(&JSON_DOCUMENT).unwrap();
        assert!(document.get(Coding::Identity).is_none());
        let starts: [(Coding, &[u8]); 2] = [
            (Coding::Gzip, &[0x1f, 0x8b]),
            (Coding::Zstd, &[0x28, 0xb5, 0x2f, 0xfd]),
        ];
        for (coding, start) in starts {
            assert!(document.get(coding).unwrap().starts_with(start));
        }
        let mut decoded = Vec::new();
        brotli::BrotliDecompress(&mut document.get(Coding::Br).unwrap(), &mut decoded).unwrap();
        assert_eq!(decoded, JSON_DOCUMENT.as_bytes());
    }
}
