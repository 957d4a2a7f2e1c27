//! The tolerant profile of response heads: rewrites an odd head as a well-formed one, and names its deviations.
//!
//! The strict parser runs first, so a well-formed head never comes here. After its error, [`Mender::mend`] reads the head as
//! browsers do, writes what it understood as a head that the strict parser accepts, and has that parser decide about the rest.
//! Framing that two readers may understand differently stays an error: contradictory lengths, a bare CR, NUL,
//! Transfer-Encoding in HTTP/1.0, and lines that are no fields but name one that determines the framing.

use crate::{
    Error, Limits, Parse, Problem, ResponseHead, deviation::Deviation, deviation::Deviations,
    response, scan,
};

/// Bytes of empty lines before a status line that are skipped: as many as in Chromium.
const MOST_EMPTY_BYTES: usize = 4;

/// Memory of the head that was rewritten last.
#[derive(Debug, Clone, Default)]
pub struct Mender {
    head: Vec<u8>,
}

/// A head that was rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mended<'a> {
    /// Its meaning; it borrows from the rewritten bytes.
    pub head: ResponseHead<'a>,
    /// Its deviations.
    pub deviations: Deviations,
}

impl Mender {
    /// Parse the response head at the start of `bytes`, after [`response::parse`] refused it.
    ///
    /// Reading more bytes never changes a complete head. `bytes` of [`Parse::Complete`] counts those on the wire.
    ///
    /// # Errors
    ///
    /// The first problem that is not tolerated. Its offset is that in `bytes`, or, if the fields together determine it, that in
    /// the rewritten head.
    #[cold]
    pub fn mend(&mut self, bytes: &[u8], limits: &Limits) -> Result<Parse<Mended<'_>>, Error> {
        let window = &bytes[..bytes.len().min(limits.head_bytes)];
        self.head.clear();
        let mut reader = Reader {
            bytes: window,
            at: 0,
            out: &mut self.head,
            deviations: Deviations::NONE,
        };
        let Some(framing) = reader.head(limits)? else {
            if window.len() == limits.head_bytes {
                let limit = limits.head_bytes;
                return Err(Error::new(limit, Problem::HeadTooLong { limit }));
            }
            return Ok(Parse::Partial);
        };
        framing.write(reader.out, &mut reader.deviations);
        let (length, deviations) = (reader.at, reader.deviations);
        // A fold may have become longer by one byte, and each LF by its CR.
        let roomy = Limits {
            head_bytes: usize::MAX,
            ..*limits
        };
        match response::parse(&self.head, &roomy)? {
            Parse::Complete { head, .. } => Ok(Parse::Complete {
                head: Mended { head, deviations },
                bytes: length,
            }),
            Parse::Partial => unreachable!("the rewritten head has its empty line"),
        }
    }
}

/// The fields that determine the framing, until all of them are known.
#[derive(Debug, Default)]
struct FramingFields {
    length: Option<u64>,
    is_chunked: bool,
    has_coding: bool,
}

/// Progress through a head.
struct Reader<'b, 'o> {
    bytes: &'b [u8],
    at: usize,
    out: &'o mut Vec<u8>,
    deviations: Deviations,
}

impl<'b> Reader<'b, '_> {
    /// Rewrite the head, except for the fields that determine the framing. `None`: it is not complete.
    fn head(&mut self, limits: &Limits) -> Result<Option<FramingFields>, Error> {
        while let [b'\n', ..] | [b'\r', b'\n', ..] = self.bytes[self.at..] {
            let end = scan::line_feed(self.bytes, self.at) + 1;
            if end > MOST_EMPTY_BYTES {
                return Err(Error::new(self.at, Problem::InvalidVersion));
            }
            self.deviations.add(Deviation::EmptyLineBeforeStatus);
            self.at = end;
        }
        // What is no HTTP is refused before its first line ends.
        let start = &self.bytes[self.at..];
        let (name, shape) = (start.iter(), b"HTTP/".iter());
        let is_possible = matches!(start, [b'\r'])
            || name
                .zip(shape)
                .all(|(byte, shape)| byte.eq_ignore_ascii_case(shape));
        if !is_possible {
            return Err(Error::new(self.at, Problem::InvalidVersion));
        }
        let status_at = self.at;
        let Some(line) = self.line()? else {
            return Ok(None);
        };
        self.status_line(line, status_at, limits)?;
        let is_version10 = self.out.starts_with(b"HTTP/1.0");
        let mut framing = FramingFields::default();
        // A line after a skipped one may continue it.
        let (mut count, mut last) = (0, Last::None);
        loop {
            let at = self.at;
            let Some(line) = self.line()? else {
                return Ok(None);
            };
            let is_continuation = matches!(line, [b' ' | b'\t', ..]);
            if !is_continuation && let Last::Field(start) = last {
                framing.take(self.out, start, at, is_version10, &mut self.deviations)?;
            }
            if line.is_empty() {
                return Ok(Some(framing));
            }
            if count == limits.fields {
                let limit = limits.fields;
                return Err(Error::new(at, Problem::TooManyFields { limit }));
            }
            count += 1;
            last = match last {
                Last::Field(start) if is_continuation => {
                    self.deviations.add(Deviation::FoldedField);
                    self.continuation(line, at)?;
                    Last::Field(start)
                }
                _ => self.field(line, at)?,
            };
        }
    }

    /// Return the next line without its end. `None`: it has not arrived completely.
    fn line(&mut self) -> Result<Option<&'b [u8]>, Error> {
        let end = scan::line_feed(self.bytes, self.at);
        if end == self.bytes.len() {
            return Ok(None);
        }
        let start = std::mem::replace(&mut self.at, end + 1);
        let line = &self.bytes[start..end];
        let line = line.strip_suffix(b"\r").unwrap_or_else(|| {
            self.deviations.add(Deviation::LineFeedAlone);
            line
        });
        match line.iter().position(|byte| *byte == b'\r') {
            Some(offset) => Err(Error::new(start + offset, Problem::BareCarriageReturn)),
            None => Ok(Some(line)),
        }
    }

    /// Rewrite the status line, which must be valid then.
    fn status_line(&mut self, line: &[u8], at: usize, limits: &Limits) -> Result<(), Error> {
        let (version, rest) = line.split_at(line.len().min(8));
        self.out.extend(version.iter().map(u8::to_ascii_uppercase));
        if *self.out != version {
            self.deviations.add(Deviation::VersionCase);
        }
        let number = self.out.strip_prefix(b"HTTP/");
        if let Some([major @ (b'0' | b'2'..=b'9'), b'.', b'0'..=b'9']) = number {
            let known: &[u8] = if *major == b'0' { b"1.0" } else { b"1.1" };
            self.out.truncate(5);
            self.out.extend(known);
            self.deviations.add(Deviation::VersionNumber);
        }
        let code_at = scan::blank_end(rest, 0);
        let digits = rest[code_at..]
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let code_end = code_at + digits;
        if code_at > 0 {
            self.out.push(b' ');
        }
        self.out.extend(&rest[code_at..code_end]);
        let (mut reason, mut reason_at) = (&rest[code_end..], at + 8 + code_end);
        if let [b'\t', after @ ..] = reason {
            self.out.push(b' ');
            (reason, reason_at) = (after, reason_at + 1);
        }
        if !matches!(rest[..code_at], [] | [b' ']) || reason.len() < rest.len() - code_end {
            self.deviations.add(Deviation::StatusLineSpace);
        }
        self.text(reason, reason_at, Problem::InvalidReason)?;
        self.out.extend(b"\r\n");
        match response::parse(
            self.out,
            &Limits {
                head_bytes: usize::MAX,
                ..*limits
            },
        ) {
            Err(error) => Err(Error {
                offset: error.offset + at as u64,
                ..error
            }),
            Ok(_) => Ok(()),
        }
    }

    /// Rewrite a line as a field, or skip it.
    fn field(&mut self, line: &[u8], at: usize) -> Result<Last, Error> {
        if let Some(offset) = line.iter().position(|byte| *byte == 0) {
            let is_name = !line[..offset].contains(&b':');
            let problem = if is_name {
                Problem::InvalidFieldName
            } else {
                Problem::InvalidFieldValue
            };
            return Err(Error::new(at + offset, problem));
        }
        let name_end = scan::token_end(line, 0);
        let colon = scan::blank_end(line, name_end);
        if name_end == 0 || line.get(colon) != Some(&b':') {
            if names_framing(line) {
                let problem = match line.get(name_end) {
                    Some(b' ' | b'\t') if name_end == 0 => Problem::FoldedLine,
                    None | Some(b' ' | b'\t') => Problem::MissingColon,
                    _ => Problem::InvalidFieldName,
                };
                return Err(Error::new(at + name_end, problem));
            }
            self.deviations.add(Deviation::SkippedLine);
            return Ok(Last::Skipped);
        }
        if colon > name_end {
            self.deviations.add(Deviation::SpaceBeforeColon);
        }
        let start = self.out.len();
        self.out.extend(&line[..name_end]);
        self.out.push(b':');
        self.continuation(&line[colon + 1..], at + colon + 1)?;
        Ok(Last::Field(start))
    }

    /// Write a line of a value after a space, in place of its line end.
    fn continuation(&mut self, line: &[u8], at: usize) -> Result<(), Error> {
        if self.out.ends_with(b"\r\n") {
            self.out.truncate(self.out.len() - 2);
        }
        let start = scan::blank_end(line, 0);
        self.out.push(b' ');
        self.text(&line[start..], at + start, Problem::InvalidFieldValue)?;
        self.out.extend(b"\r\n");
        Ok(())
    }

    /// Write text, with spaces in place of control characters.
    fn text(&mut self, text: &[u8], at: usize, problem: Problem) -> Result<(), Error> {
        let mut from = 0;
        loop {
            let end = scan::text_end(text, from);
            self.out.extend(&text[from..end]);
            match text.get(end) {
                None => return Ok(()),
                Some(0) => return Err(Error::new(at + end, problem)),
                Some(_) => self.out.push(b' '),
            }
            self.deviations.add(Deviation::ControlCharacter);
            from = end + 1;
        }
    }
}

/// The line before.
#[derive(Debug, Clone, Copy)]
enum Last {
    None,
    /// A field that starts here in the rewritten head.
    Field(usize),
    Skipped,
}

impl FramingFields {
    /// Take the last field out of the rewritten head, if it determines the framing and its value is understood.
    fn take(
        &mut self,
        out: &mut Vec<u8>,
        start: usize,
        at: usize,
        is_version10: bool,
        deviations: &mut Deviations,
    ) -> Result<(), Error> {
        let field = &out[start..];
        let colon = field.iter().position(|byte| *byte == b':').unwrap_or(0);
        let (name, value) = (&field[..colon], field[colon + 1..].trim_ascii());
        let is_understood = if name.eq_ignore_ascii_case(b"content-length") {
            self.take_length(value, at, deviations)?
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") && !is_version10 {
            self.take_coding(value, deviations)
        } else {
            false
        };
        if is_understood {
            out.truncate(start);
        }
        Ok(())
    }

    fn take_length(
        &mut self,
        value: &[u8],
        at: usize,
        deviations: &mut Deviations,
    ) -> Result<bool, Error> {
        for (place, member) in value.split(|byte| *byte == b',').enumerate() {
            let length = crate::signals::decimal(member.trim_ascii())
                .ok_or(Error::new(at, Problem::InvalidContentLength))?;
            if self.length.is_some_and(|before| before != length) {
                return Err(Error::new(at, Problem::ContradictoryContentLength));
            }
            self.length = Some(length);
            if place > 0 {
                deviations.add(Deviation::RepeatedLength);
            }
        }
        Ok(true)
    }

    /// Take the codings, unless one of them is neither `chunked` nor `identity`.
    fn take_coding(&mut self, value: &[u8], deviations: &mut Deviations) -> bool {
        let members = || value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let is_chunked = |member: &[u8]| member.eq_ignore_ascii_case(b"chunked");
        let is_identity =
            |member: &[u8]| member.is_empty() || member.eq_ignore_ascii_case(b"identity");
        if !members().all(|member| is_chunked(member) || is_identity(member)) {
            return false;
        }
        self.has_coding = true;
        for member in members() {
            if is_identity(member) {
                deviations.add(Deviation::IdentityCoding);
            } else if self.is_chunked {
                deviations.add(Deviation::RepeatedChunked);
            } else {
                self.is_chunked = true;
            }
        }
        true
    }

    /// Write the fields, and the empty line.
    fn write(self, out: &mut Vec<u8>, deviations: &mut Deviations) {
        if self.has_coding && self.length.is_some() {
            deviations.add(Deviation::LengthAndTransferEncoding);
        }
        if self.is_chunked {
            out.extend(b"Transfer-Encoding: chunked\r\n");
        } else if let Some(length) = self.length {
            out.extend(format!("Content-Length: {length}\r\n").bytes());
        }
        out.extend(b"\r\n");
    }
}

/// Return whether a line that is no field contains the name of one that determines the framing.
fn names_framing(line: &[u8]) -> bool {
    [&b"content-length"[..], b"transfer-encoding"]
        .iter()
        .any(|name| {
            line.windows(name.len())
                .any(|part| part.eq_ignore_ascii_case(name))
        })
}
