//! Encoders of heads, which append to the caller's buffer.
//!
//! Values are checked, so that no value from outside can end a line: a refused part removes the whole head.

pub use crate::reason::reason;
use crate::{Error, Method, Problem, Version, scan};

/// A head being written. It is incomplete before [`Self::end`].
#[derive(Debug)]
#[must_use = "a head needs its empty line: call end()"]
pub struct HeadWriter<'b> {
    out: &'b mut Vec<u8>,
    start: usize,
}

/// Start a request head with its request line.
///
/// # Errors
///
/// [`Problem::InvalidTarget`] or [`Problem::InvalidMethod`] if either contains a byte that would end it. The form of the target is not checked.
#[inline]
pub fn request<'b>(
    out: &'b mut Vec<u8>,
    method: Method<'_>,
    target: &str,
    version: Version,
) -> Result<HeadWriter<'b>, Error> {
    if target.is_empty() || !target.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::new(0, Problem::InvalidTarget));
    }
    let method = match method {
        Method::Other(name) if Method::from_token(name.as_bytes()).is_none() => {
            return Err(Error::new(0, Problem::InvalidMethod));
        }
        method => method.as_str(),
    };
    let start = out.len();
    push(
        out,
        [
            method.as_bytes(),
            b" ",
            target.as_bytes(),
            b" ",
            version.as_str().as_bytes(),
            b"\r\n",
        ],
    );
    Ok(HeadWriter { out, start })
}

/// Start a response head with its status line and the registered reason phrase.
///
/// # Errors
///
/// [`Problem::InvalidStatus`] if `status` is not within 100 to 999.
#[inline]
pub fn response(out: &mut Vec<u8>, version: Version, status: u16) -> Result<HeadWriter<'_>, Error> {
    let start = out.len();
    if status == 200 && version == Version::Http11 {
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\n");
        return Ok(HeadWriter { out, start });
    }
    response_with_reason(out, version, status, reason(status).as_bytes())
}

/// Start a response head like [`response`], with the caller's reason phrase.
///
/// # Errors
///
/// See [`response`]; also [`Problem::InvalidReason`] for control characters.
pub fn response_with_reason<'b>(
    out: &'b mut Vec<u8>,
    version: Version,
    status: u16,
    reason: &[u8],
) -> Result<HeadWriter<'b>, Error> {
    if !(100..=999).contains(&status) {
        return Err(Error::new(0, Problem::InvalidStatus));
    }
    let wrong = scan::text_end(reason, 0);
    if wrong < reason.len() {
        return Err(Error::new(wrong, Problem::InvalidReason));
    }
    let start = out.len();
    let mut digits = [0; DECIMAL];
    push(
        out,
        [
            version.as_str().as_bytes(),
            b" ",
            decimal(u64::from(status), &mut digits),
            b" ",
            reason,
            b"\r\n",
        ],
    );
    Ok(HeadWriter { out, start })
}

impl HeadWriter<'_> {
    /// Add a field line.
    ///
    /// # Errors
    ///
    /// [`Problem::InvalidFieldName`] or [`Problem::InvalidFieldValue`] with an offset within the name or value; the head
    /// is then removed from the buffer.
    #[inline]
    pub fn field(self, name: &str, value: &[u8]) -> Result<Self, Error> {
        match field_line(self.out, name, value) {
            Ok(()) => Ok(self),
            Err(error) => {
                self.out.truncate(self.start);
                Err(error)
            }
        }
    }

    /// Add `Content-Length`.
    #[inline]
    pub fn content_length(self, length: u64) -> Self {
        push(
            self.out,
            [
                b"Content-Length: ",
                decimal(length, &mut [0; DECIMAL]),
                b"\r\n",
            ],
        );
        self
    }

    /// Add `Transfer-Encoding: chunked`.
    #[inline]
    pub fn chunked(self) -> Self {
        self.out
            .extend_from_slice(b"Transfer-Encoding: chunked\r\n");
        self
    }

    /// Add `Connection: close`.
    #[inline]
    pub fn close(self) -> Self {
        self.out.extend_from_slice(b"Connection: close\r\n");
        self
    }

    /// End the head.
    #[inline]
    pub fn end(self) {
        self.out.extend_from_slice(b"\r\n");
    }
}

#[inline]
fn field_line(out: &mut Vec<u8>, name: &str, value: &[u8]) -> Result<(), Error> {
    let name_end = scan::token_end(name.as_bytes(), 0);
    if name.is_empty() || name_end < name.len() {
        return Err(Error::new(name_end, Problem::InvalidFieldName));
    }
    let value_end = scan::text_end(value, 0);
    if value_end < value.len() {
        return Err(Error::new(value_end, Problem::InvalidFieldValue));
    }
    push(out, [name.as_bytes(), b": ", value, b"\r\n"]);
    Ok(())
}

/// Append all parts after one reservation of space.
#[inline]
fn push<const N: usize>(out: &mut Vec<u8>, parts: [&[u8]; N]) {
    out.reserve(parts.iter().map(|part| part.len()).sum());
    for part in parts {
        out.extend_from_slice(part);
    }
}

/// Decimal digits of the largest `u64`.
const DECIMAL: usize = 20;

/// Write the decimal digits of a number to the end of `digits`.
#[inline]
fn decimal(mut number: u64, digits: &mut [u8; DECIMAL]) -> &[u8] {
    let mut start = DECIMAL;
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[start..];
        }
    }
}
