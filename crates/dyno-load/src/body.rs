//! The content of a request as it is described: texts with placeholders, bytes, files; and the two forms of HTML. No I/O.

use std::fmt::Write as _;
use std::sync::Arc;

use bytes::Bytes;
use dyno_client::{ContentFile, Segment};
use sha2::{Digest, Sha256};

use crate::template::{OPEN, encode_text};

/// A part of a content.
#[derive(Debug, Clone)]
pub enum Section {
    /// Text that may have placeholders.
    Text(String),
    /// Bytes as they are.
    Bytes(Bytes),
    /// A file, read while it is sent.
    File(Arc<ContentFile>),
}

/// The content of a request.
#[derive(Debug, Clone)]
pub struct Body {
    sections: Arc<[Section]>,
    /// Media type, if the content determines it.
    content_type: Option<String>,
    kind: Kind,
    has_braces: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    AsGiven,
    Form,
    Multipart,
}

/// A field of a multipart form.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its value.
    pub content: Section,
    /// Name of the file that it was.
    pub filename: Option<String>,
    /// Its media type.
    pub content_type: Option<String>,
}

impl From<Bytes> for Body {
    /// Bytes that are UTF-8 are text, which may have placeholders.
    fn from(bytes: Bytes) -> Self {
        Self::new(vec![match String::from_utf8(bytes.into()) {
            Ok(text) => Section::Text(text),
            Err(error) => Section::Bytes(error.into_bytes().into()),
        }])
    }
}

impl Body {
    /// Creates a content of these parts, in order.
    #[must_use]
    pub fn new(sections: Vec<Section>) -> Self {
        let is_marked = |one: &Section| matches!(one, Section::Text(text) if text.contains(OPEN));
        Self {
            has_braces: sections.iter().any(is_marked),
            sections: sections.into(),
            content_type: None,
            kind: Kind::AsGiven,
        }
    }

    /// Creates a form of names and values: `application/x-www-form-urlencoded`, with all but unreserved characters
    /// percent-encoded.
    #[must_use]
    pub fn form(fields: &[(String, String)]) -> Self {
        let mut text = String::new();
        for (number, (name, value)) in fields.iter().enumerate() {
            if number > 0 {
                text.push('&');
            }
            encode_text(name, &mut text);
            text.push('=');
            encode_text(value, &mut text);
        }
        Self {
            kind: Kind::Form,
            content_type: Some("application/x-www-form-urlencoded".to_owned()),
            ..Self::new(vec![Section::Text(text)])
        }
    }

    /// Creates a multipart form (RFC 7578). The same fields have the same bytes.
    #[must_use]
    pub fn multipart(fields: Vec<Field>) -> Self {
        let boundary = boundary(&fields);
        let mut sections = Vec::with_capacity(2 * fields.len() + 1);
        let mut between = String::new();
        for field in fields {
            let name = quoted(&field.name);
            let _ = write!(
                between,
                "--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\""
            );
            if let Some(filename) = &field.filename {
                let _ = write!(between, "; filename=\"{}\"", quoted(filename));
            }
            if let Some(content_type) = &field.content_type {
                let _ = write!(between, "\r\nContent-Type: {content_type}");
            }
            between.push_str("\r\n\r\n");
            sections.push(Section::Bytes(between.into()));
            sections.push(field.content);
            between = String::from("\r\n");
        }
        let _ = write!(between, "--{boundary}--\r\n");
        sections.push(Section::Bytes(between.into()));
        Self {
            kind: Kind::Multipart,
            content_type: Some(format!("multipart/form-data; boundary={boundary}")),
            ..Self::new(sections)
        }
    }

    /// Its parts.
    #[must_use]
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The same content with other parts.
    pub(crate) fn with_sections(&self, sections: Vec<Section>) -> Self {
        Self {
            sections: sections.into(),
            ..self.clone()
        }
    }

    /// The media type that it determines.
    #[must_use]
    pub fn content_type(&self) -> Option<&str> {
        self.content_type.as_deref()
    }

    /// Whether its media type holds the boundary of its parts.
    pub(crate) fn is_multipart(&self) -> bool {
        self.kind == Kind::Multipart
    }

    /// Whether the values of placeholders are percent-encoded.
    pub(crate) fn is_form(&self) -> bool {
        self.kind == Kind::Form
    }

    /// Whether a text has double braces.
    pub(crate) const fn has_braces(&self) -> bool {
        self.has_braces
    }

    /// Whether a part is a file, which is read while it is sent.
    pub(crate) fn has_files(&self) -> bool {
        let mut sections = self.sections.iter();
        sections.any(|one| matches!(one, Section::File(_)))
    }

    /// Its length in bytes, with the texts as they are.
    #[must_use]
    pub fn length(&self) -> u64 {
        let length = |one: &Section| match one {
            Section::Text(text) => text.len() as u64,
            Section::Bytes(bytes) => bytes.len() as u64,
            Section::File(file) => file.length(),
        };
        self.sections.iter().map(length).sum()
    }

    /// Its parts as they are sent, with neighbours in memory joined.
    pub(crate) fn segments(&self) -> Vec<Segment> {
        let mut segments = Vec::new();
        let mut bytes = Vec::new();
        for section in &*self.sections {
            match section {
                Section::Text(text) => bytes.extend_from_slice(text.as_bytes()),
                Section::Bytes(more) => bytes.extend_from_slice(more),
                Section::File(file) => {
                    segments.push(Segment::Bytes(std::mem::take(&mut bytes).into()));
                    segments.push(Segment::File(file.clone()));
                }
            }
        }
        segments.push(Segment::Bytes(bytes.into()));
        segments.retain(|segment| segment.length() > 0);
        segments
    }

    /// Its bytes, if all are in memory.
    pub(crate) fn bytes(&self) -> Option<Bytes> {
        match &*self.sections {
            [Section::Bytes(bytes)] => Some(bytes.clone()),
            _ => match &self.segments()[..] {
                [] => Some(Bytes::new()),
                [Segment::Bytes(bytes)] => Some(bytes.clone()),
                _ => None,
            },
        }
    }
}

/// A text within quotes in a head of a multipart form, escaped as browsers and curl do.
fn quoted(text: &str) -> String {
    let text = text.replace('"', "%22");
    text.replace('\r', "%0D").replace('\n', "%0A")
}

/// A line that is in no field: a hash of all fields. Fields in memory are searched for it; a file, which may be longer
/// than the memory, has it with a probability of 2^-128 for each of its bytes.
fn boundary(fields: &[Field]) -> String {
    let mut hash = Sha256::new();
    let mut part = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_be_bytes());
        hash.update(bytes);
    };
    for field in fields {
        part(field.name.as_bytes());
        match &field.content {
            Section::Text(text) => part(text.as_bytes()),
            Section::Bytes(bytes) => part(bytes),
            Section::File(file) => part(&file.length().to_be_bytes()),
        }
    }
    let is_within = |line: &str| {
        fields.iter().any(|field| match &field.content {
            Section::Text(text) => text.contains(line),
            Section::Bytes(bytes) => bytes
                .windows(line.len())
                .any(|window| window == line.as_bytes()),
            Section::File(_) => false,
        })
    };
    let lines = (0_u64..).map(|number| {
        let hash = hash.clone().chain_update(number.to_be_bytes()).finalize();
        let (high, low) = hash.split_at(8);
        let word = |bytes: &[u8]| {
            bytes
                .iter()
                .fold(0_u64, |word, byte| word << 8 | u64::from(*byte))
        };
        format!("httpdyno-{:016x}{:016x}", word(high), word(&low[..8]))
    });
    let mut free = lines.filter(|line| !is_within(line));
    free.next().expect("a content of finite length lacks one")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn field(name: &str, content: Section) -> Field {
        Field {
            name: name.to_owned(),
            content,
            filename: None,
            content_type: None,
        }
    }

    fn text(text: &str) -> Section {
        Section::Text(text.to_owned())
    }

    #[test]
    fn a_form_is_encoded_but_for_its_placeholders() {
        for (fields, expected) in [
            (&[("a", "b")][..], "a=b"),
            (&[("a", "1 & 2=3"), ("b", "")], "a=1%20%26%202%3D3&b="),
            (&[("\u{fc}", "+~")], "%C3%BC=%2B~"),
            (&[("a", "{{user}} {b}")], "a={{user}}%20%7Bb%7D"),
            (&[("a", "{{{{b}}")], "a=%7B%7Bb%7D%7D"),
            (&[("a", "x y{{user")], "a=x%20y{{user"),
        ] {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            let fields: Vec<_> = fields.iter().map(owned).collect();
            let body = Body::form(&fields).bytes().unwrap();
            assert_eq!(body, expected.as_bytes(), "{fields:?}");
        }
    }

    #[test]
    fn a_multipart_form_has_a_part_for_each_field() {
        let body = Body::multipart(vec![
            field("a\"\r\n", text("b")),
            Field {
                filename: Some("x.png".to_owned()),
                content_type: Some("image/png".to_owned()),
                ..field("f", Section::Bytes(Bytes::from_static(b"\xff\r\n--")))
            },
        ]);
        let content_type = body.content_type().unwrap();
        let boundary = content_type
            .strip_prefix("multipart/form-data; boundary=")
            .unwrap();
        let expected = [
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"a%22%0D%0A\"\r\n\r\nb\r\n").as_bytes(),
            format!("--{boundary}\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x.png\"\r\nContent-Type: image/png\r\n\r\n").as_bytes(),
            b"\xff\r\n--\r\n",
            format!("--{boundary}--\r\n").as_bytes(),
        ]
        .concat();
        assert_eq!(body.bytes().unwrap(), expected);
    }

    #[test]
    fn a_boundary_depends_on_the_fields_alone_and_is_in_none() {
        let fields = |value: &str| vec![field("a", text(value)), field("b", text("c"))];
        let first = boundary(&fields("x"));
        assert_eq!(first, boundary(&fields("x")));
        assert_ne!(first, boundary(&fields("y")));
        assert_eq!(first.len(), 41);
    }

    proptest! {
        #[test]
        fn the_boundary_separates_any_values(values in proptest::collection::vec(any::<Vec<u8>>(), 1..5)) {
            let fields = values.iter().map(|value| field("a", Section::Bytes(value.clone().into())));
            let body = Body::multipart(fields.collect());
            let content_type = body.content_type().unwrap();
            let line = format!("--{}", content_type.split("boundary=").nth(1).unwrap());
            let bytes = body.bytes().unwrap();
            let count = bytes.windows(line.len()).filter(|window| *window == line.as_bytes()).count();
            prop_assert_eq!(count, values.len() + 1);
            prop_assert_eq!(body.length(), bytes.len() as u64);
        }
    }
}
