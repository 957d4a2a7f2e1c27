//! The trailer section of a chunked body.

use crate::{
    Deviation, Deviations, Error, Fields, Limits, Problem,
    fields::{Line, line},
    scan,
};

/// Collects a trailer section. These are the only bytes of a message that are copied, because they may arrive in pieces. Most bodies have
/// no trailers.
#[derive(Debug, Clone, Default)]
pub(super) struct Trailers {
    bytes: Vec<u8>,
    /// Length of the complete lines in `bytes`.
    checked: usize,
    /// Bytes on the wire.
    received: usize,
    count: usize,
    whole: bool,
}

impl Trailers {
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.checked = 0;
        self.received = 0;
        self.count = 0;
        self.whole = false;
    }

    pub fn fields(&self) -> Fields<'_> {
        if self.whole {
            Fields::new(&self.bytes[..self.checked], self.count)
        } else {
            Fields::default()
        }
    }

    /// Consume bytes from `at` on, at most to the end of a line; return the position after them, and whether the section is complete.
    pub fn take(
        &mut self,
        bytes: &[u8],
        at: usize,
        limits: &Limits,
        deviations: &mut Deviations,
    ) -> Result<(usize, bool), Error> {
        if self.bytes.is_empty() && bytes[at..].starts_with(b"\r\n") && limits.trailer_bytes >= 2 {
            self.whole = true;
            return Ok((at + 2, true));
        }
        let line_feed = scan::line_feed(bytes, at);
        let end = bytes.len().min(line_feed + 1);
        let room = limits.trailer_bytes - self.received;
        if end - at > room {
            return Err(Error::new(
                at + room,
                Problem::TrailersTooLong {
                    limit: limits.trailer_bytes,
                },
            ));
        }
        self.received += end - at;
        let before = self.bytes.len();
        self.bytes.extend_from_slice(&bytes[at..end]);
        if line_feed < bytes.len() {
            // The error may be in the bytes of an earlier call: then the offset wraps, and wraps back when the decoder adds the bytes
            // consumed before.
            let checked = self.check_line(limits);
            let checked = checked.or_else(|error| self.tolerate_line(error, limits, deviations));
            checked.map_err(|error| Error {
                offset: (error.offset + at as u64).wrapping_sub(before as u64),
                ..error
            })?;
        }
        Ok((end, self.whole))
    }

    /// Check the last complete line. Error offsets count from the start of the section.
    fn check_line(&mut self, limits: &Limits) -> Result<(), Error> {
        match line(&self.bytes, self.checked)? {
            Line::Field { .. } if self.count == limits.fields => Err(Error::new(
                self.checked,
                Problem::TooManyFields {
                    limit: limits.fields,
                },
            )),
            Line::Field { next, .. } => {
                self.count += 1;
                self.checked = next;
                Ok(())
            }
            Line::End { .. } => {
                self.whole = true;
                Ok(())
            }
            Line::Partial => unreachable!("a line with its line feed is either valid or refused"),
        }
    }
    /// Repair the end of a line that was refused, or drop the line: trailers are never merged into a head.
    #[cold]
    fn tolerate_line(
        &mut self,
        error: Error,
        limits: &Limits,
        deviations: &mut Deviations,
    ) -> Result<(), Error> {
        if !limits.tolerance.odd_chunks || matches!(error.problem, Problem::TooManyFields { .. }) {
            return Err(error);
        }
        let line = &self.bytes[self.checked..];
        if line.contains(&0) || line[..line.len() - 2.min(line.len())].contains(&b'\r') {
            return Err(error);
        }
        if !line.ends_with(b"\r\n") {
            deviations.add(Deviation::LineFeedAlone);
            self.bytes.pop();
            self.bytes.extend_from_slice(b"\r\n");
            if self.check_line(limits).is_ok() {
                return Ok(());
            }
        }
        deviations.add(Deviation::SkippedLine);
        self.bytes.truncate(self.checked);
        Ok(())
    }
}
