//! The part of DER that is needed to find the subject of a certificate.

/// A universal tag in DER (with the constructed bit).
pub(crate) const SEQUENCE: u8 = 0x30;
pub(crate) const SET: u8 = 0x31;
/// `[0]`, the version of a certificate.
const VERSION: u8 = 0xa0;

/// One element: its tag, its content, and all its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Element<'a> {
    pub(crate) tag: u8,
    pub(crate) content: &'a [u8],
    pub(crate) whole: &'a [u8],
}

/// Take the first element off `bytes`; `None` if they are not DER.
pub(crate) fn take<'a>(bytes: &mut &'a [u8]) -> Option<Element<'a>> {
    let all = *bytes;
    let (&tag, rest) = all.split_first()?;
    let (&first, mut rest) = rest.split_first()?;
    let length = if first < 0x80 {
        usize::from(first)
    } else {
        let (digits, after) = rest.split_at_checked(usize::from(first & 0x7f))?;
        rest = after;
        if digits.is_empty() || digits.len() > 4 {
            return None;
        }
        digits
            .iter()
            .fold(0, |length, &digit| length << 8 | usize::from(digit))
    };
    let (content, remaining) = rest.split_at_checked(length)?;
    *bytes = remaining;
    Some(Element {
        tag,
        content,
        whole: &all[..all.len() - remaining.len()],
    })
}

/// Return the content of a certificate's subject name: its relative distinguished names.
pub(crate) fn subject_of_certificate(certificate: &[u8]) -> Option<&[u8]> {
    let mut bytes = take(&mut &certificate[..])?.content;
    let mut fields = take(&mut bytes)?.content;
    let mut ahead = fields;
    if take(&mut ahead)?.tag == VERSION {
        fields = ahead;
    }
    // serial number, signature algorithm, issuer, validity
    for _ in 0..4 {
        take(&mut fields)?;
    }
    let subject = take(&mut fields)?;
    (subject.tag == SEQUENCE).then_some(subject.content)
}

/// Append an element with this tag and content.
pub(crate) fn put(output: &mut Vec<u8>, tag: u8, content: &[u8]) {
    output.push(tag);
    let length = content.len();
    if length < 0x80 {
        output.extend(u8::try_from(length));
    } else {
        let digits: Vec<u8> = length
            .to_be_bytes()
            .into_iter()
            .skip_while(|&digit| digit == 0)
            .collect();
        output.extend(u8::try_from(digits.len()).map(|count| 0x80 | count));
        output.extend(digits);
    }
    output.extend_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_elements_are_parsed_back() {
        for length in [0, 1, 127, 128, 255, 256, 70_000] {
            let content = vec![7; length];
            let mut bytes = Vec::new();
            put(&mut bytes, SET, &content);
            bytes.push(9);
            let mut rest = &bytes[..];
            let element = take(&mut rest).unwrap();
            assert_eq!(
                (element.tag, element.content),
                (SET, &content[..]),
                "{length}"
            );
            assert_eq!(element.whole.len() + 1, bytes.len(), "{length}");
            assert_eq!(rest, [9], "{length}");
        }
    }

    #[test]
    fn invalid_bytes_are_no_der() {
        for bytes in [
            &[][..],
            &[0x30],
            &[0x30, 5, 1],
            &[0x30, 0x80],
            &[0x30, 0x85, 1, 1, 1, 1, 1],
            &[0x30, 0x82, 1],
        ] {
            assert_eq!(take(&mut &bytes[..]), None, "{bytes:?}");
            assert_eq!(subject_of_certificate(bytes), None, "{bytes:?}");
        }
    }
}
