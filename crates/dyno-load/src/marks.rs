//! Preparation of requests with placeholders: marks in their place, at which the prepared message is taken apart. No I/O.

use std::fmt::Write as _;
use std::sync::Arc;

use dyno_client::{Segment, Upload};

use crate::body::{Body, Section};
use crate::data::Data;
use crate::jsonl::Described;
use crate::prepared::{Error, Message, Prepared, Shape};
use crate::template::{OPEN, Part, Piece, Template, Value, parse};

const HEADER: &[u8] = b"\r\nContent-Length: ";

/// Marks in the place of placeholders, so that a request with placeholders is prepared like any other.
pub(crate) struct Marks {
    salt: String,
    values: Vec<Part>,
    /// How many of them are in the URL and the headers.
    in_head: usize,
}

impl Marks {
    /// Replaces the placeholders of a request, and of what all requests share; `None` where there are no double braces.
    ///
    /// `body` is the content of the request.
    pub(crate) fn replace(
        described: &Described,
        body: Option<&Body>,
        shape: &Shape,
        data: Option<&Data>,
    ) -> Result<Option<(Described, Option<Body>, Self)>, Error> {
        let own = &described.headers;
        let is_own = |name: &str| own.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let shared = shape.headers.iter().filter(|(name, _)| !is_own(name));
        let headers = || shared.clone().chain(own);
        if !body.is_some_and(Body::has_braces)
            && !described.url.contains(OPEN)
            && !headers().any(|(_, value)| value.contains(OPEN))
        {
            return Ok(None);
        }
        check_hosts(&described.url)?;
        let texts = || {
            let values = headers().map(|(_, value)| value.as_bytes());
            let sections = body.into_iter().flat_map(Body::sections);
            let contents = sections.filter_map(|section| match section {
                Section::Text(text) => Some(text.as_bytes()),
                Section::Bytes(bytes) => Some(&bytes[..]),
                Section::File(_) => None,
            });
            values.chain(contents).chain([described.url.as_bytes()])
        };
        let salts = (0_u64..).map(|number| format!("placeholder{number}of"));
        let is_within = |salt: &str| texts().any(|text| position(text, salt.as_bytes()).is_some());
        let mut salts = salts.filter(|salt| !is_within(salt));
        let mut marks = Self {
            salt: salts.next().expect("a text of finite length lacks one"),
            values: Vec::new(),
            in_head: 0,
        };
        let mut marked = described.clone();
        let columns = data.map(Data::columns);
        marked.url = marks.mark(&described.url, "URL", columns, Part::Encoded)?;
        marked.headers = Vec::new();
        for (name, value) in headers() {
            let first = marks.values.len();
            let place = format!("header {name:?}");
            let value = marks.mark(value, &place, columns, Part::Value)?;
            marked.headers.push((name.clone(), value));
            marks.check_header(name, first)?;
        }
        marks.in_head = marks.values.len();
        let mut marked_body = body.cloned();
        if let Some(body) = body.filter(|body| body.has_braces()) {
            let first = marks.values.len();
            marked_body = Some(marks.mark_body(body, columns)?);
            let is_length =
                |(name, _): &&(String, String)| name.eq_ignore_ascii_case("content-length");
            let length = marked.headers.iter().find(is_length);
            if let (Some((name, _)), true) = (length, marks.values.len() > first) {
                return Err(Error::Header {
                    name: name.clone(),
                    reason: "the length of a body with placeholders is computed; leave it out"
                        .to_owned(),
                });
            }
        }
        Ok(Some((marked, marked_body, marks)))
    }

    fn mark_body(&mut self, body: &Body, columns: Option<&[String]>) -> Result<Body, Error> {
        let part = if body.is_form() {
            Part::Encoded
        } else {
            Part::Value
        };
        let sections = body.sections().iter().map(|section| match section {
            Section::Text(text) => Ok(Section::Text(self.mark(text, "body", columns, part)?)),
            other => Ok(other.clone()),
        });
        Ok(body.with_sections(sections.collect::<Result<_, Error>>()?))
    }

    fn mark(
        &mut self,
        text: &str,
        place: &str,
        columns: Option<&[String]>,
        part: fn(Value) -> Part,
    ) -> Result<String, Error> {
        let pieces = parse(text, columns).map_err(|reason| Error::Placeholder {
            place: place.to_owned(),
            reason,
        })?;
        let mut marked = String::with_capacity(text.len());
        for piece in pieces {
            match piece {
                Piece::Text(text) => marked.push_str(&text),
                Piece::Value(value) => {
                    let _ = write!(marked, "{}{}z", self.salt, self.values.len());
                    self.values.push(part(value));
                }
            }
        }
        Ok(marked)
    }

    /// Refuses placeholders in a header whose value decides how the message is sent.
    fn check_header(&self, name: &str, first: usize) -> Result<(), Error> {
        let fixed = ["connection", "content-length", "host", "transfer-encoding"];
        if self.values.len() > first && fixed.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(Error::Header {
                name: name.to_owned(),
                reason: "it is fixed at the start and takes no placeholders; write its value out"
                    .to_owned(),
            });
        }
        Ok(())
    }

    /// Columns in the URL and the headers, each with whether it is in the URL: their values are restricted.
    pub(crate) fn restricted(&self) -> impl Iterator<Item = (usize, bool)> {
        let parts = self.values[..self.in_head].iter();
        parts.filter_map(|part| match part {
            Part::Value(Value::Column(column)) => Some((*column, false)),
            Part::Encoded(Value::Column(column)) => Some((*column, true)),
            _ => None,
        })
    }

    /// Whether any placeholder is a column.
    pub(crate) fn uses_data(&self) -> bool {
        let mut values = self.values.iter();
        values.any(|part| {
            matches!(
                part,
                Part::Value(Value::Column(_)) | Part::Encoded(Value::Column(_))
            )
        })
    }

    /// Takes the prepared message apart at the marks; without a mark it stays as it is.
    pub(crate) fn make_template(&self, prepared: &mut Prepared) {
        if self.values.is_empty() {
            return;
        }
        let template = match &mut prepared.message {
            Message::Http1(request) => {
                let whole = request.to_bytes();
                let end = position(&whole, b"\r\n\r\n").map_or(whole.len(), |end| end + 4);
                let upload = request.upload().map(Arc::as_ref);
                let template = Template {
                    is_head: request.is_head(),
                    head: self.head_parts(&whole[..end]),
                    fields: Vec::new(),
                    content: self.content_parts(&whole[end..], upload),
                    upload: upload.map(Upload::expects_continue),
                };
                *request = dyno_client::http1::Request::new(Vec::new(), request.is_head());
                template
            }
            Message::Http2(request) => {
                let target = request.head.uri().path_and_query();
                let fields = request.head.headers().iter().enumerate();
                let fields = fields.filter_map(|(place, (name, value))| {
                    let parts = if name == http::header::CONTENT_LENGTH {
                        vec![Part::Length]
                    } else {
                        self.parts(value.as_bytes())
                    };
                    let is_fixed = parts.iter().all(|part| matches!(part, Part::Text(_)));
                    (!is_fixed).then_some((place, parts))
                });
                Template {
                    is_head: false,
                    head: self.parts(target.map_or("/", |target| target.as_str()).as_bytes()),
                    fields: fields.collect(),
                    content: self.content_parts(&request.content, request.upload.as_deref()),
                    upload: request.upload.as_deref().map(Upload::expects_continue),
                }
            }
        };
        prepared.template = Some(Box::new(template));
    }

    /// Parts of a content: bytes, and what is sent in pieces.
    fn content_parts(&self, bytes: &[u8], upload: Option<&Upload>) -> Vec<Part> {
        let mut parts = self.parts(bytes);
        for segment in upload.into_iter().flat_map(Upload::segments) {
            match segment {
                Segment::Bytes(bytes) => parts.extend(self.parts(bytes)),
                Segment::File(file) => parts.push(Part::File(file.clone())),
            }
        }
        parts
    }

    /// Parts of a head of HTTP/1.1, whose `Content-Length` is that of each content.
    fn head_parts(&self, head: &[u8]) -> Vec<Part> {
        let Some(start) = position(head, HEADER).map(|start| start + HEADER.len()) else {
            return self.parts(head);
        };
        let digits = position(&head[start..], b"\r\n").unwrap_or(0);
        let mut parts = self.parts(&head[..start]);
        parts.push(Part::Length);
        parts.extend(self.parts(&head[start + digits..]));
        parts
    }

    fn parts(&self, mut bytes: &[u8]) -> Vec<Part> {
        let mut parts = Vec::new();
        while let Some(start) = position(bytes, self.salt.as_bytes()) {
            let (before, mark) = bytes.split_at(start);
            if !before.is_empty() {
                parts.push(Part::Text(before.into()));
            }
            let mark = &mark[self.salt.len()..];
            let digits = mark.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let number = std::str::from_utf8(&mark[..digits])
                .ok()
                .and_then(|text| text.parse().ok());
            let number: usize = number.expect("a mark has its number");
            parts.push(self.values[number].clone());
            bytes = &mark[digits + 1..];
        }
        if !bytes.is_empty() {
            parts.push(Part::Text(bytes.into()));
        }
        parts
    }
}

/// Escapes the double braces of a request whose text has no placeholders.
pub(crate) fn escape(described: &mut Described) {
    let escape = |text: &mut String| {
        if text.contains(OPEN) {
            *text = text.replace(OPEN, &OPEN.repeat(2));
        }
    };
    escape(&mut described.url);
    described
        .headers
        .iter_mut()
        .for_each(|(_, value)| escape(value));
}

fn position(bytes: &[u8], of: &[u8]) -> Option<usize> {
    bytes.windows(of.len()).position(|window| window == of)
}

/// The end of scheme, host and port in the text of a URL.
fn authority_end(url: &str) -> usize {
    let start = url.find("://").map_or(0, |start| start + 3);
    url[start..]
        .find(['/', '?', '#', '\\'])
        .map_or(url.len(), |end| start + end)
}

/// Path, query and fragment of the text of a URL.
pub(crate) fn after_authority(url: &str) -> &str {
    &url[authority_end(url)..]
}

/// Refuses placeholders before the path.
fn check_hosts(url: &str) -> Result<(), Error> {
    if url[..authority_end(url)].contains(OPEN) {
        return Err(Error::Placeholder {
            place: "URL".to_owned(),
            reason: "scheme, host and port take no placeholders, since hosts are fixed at the start; write a line for each host"
                .to_owned(),
        });
    }
    Ok(())
}

/// The path of a URL's text, with its placeholders.
pub(crate) fn path(url: &str) -> &str {
    let rest = &url[authority_end(url)..];
    let end = rest.find(['?', '#']).unwrap_or(rest.len());
    if end == 0 { "/" } else { &rest[..end] }
}
