//! The method of a request.

/// A method: those of RFC 9110 and PATCH by name, any other as sent. Methods are case-sensitive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method<'a> {
    /// `GET`
    Get,
    /// `HEAD`
    Head,
    /// `POST`
    Post,
    /// `PUT`
    Put,
    /// `DELETE`
    Delete,
    /// `CONNECT`
    Connect,
    /// `OPTIONS`
    Options,
    /// `TRACE`
    Trace,
    /// `PATCH`
    Patch,
    /// Any other token.
    Other(&'a str),
}

impl<'a> Method<'a> {
    /// Return the method as in a request line.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        match self {
            Self::Get => "GET",
            Self::Head => "HEAD",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
            Self::Options => "OPTIONS",
            Self::Trace => "TRACE",
            Self::Patch => "PATCH",
            Self::Other(name) => name,
        }
    }

    /// Return the method with this name. `None` if `token` is not a token.
    #[must_use]
    pub fn from_token(token: &'a [u8]) -> Option<Self> {
        Some(match token {
            b"GET" => Self::Get,
            b"HEAD" => Self::Head,
            b"POST" => Self::Post,
            b"PUT" => Self::Put,
            b"DELETE" => Self::Delete,
            b"CONNECT" => Self::Connect,
            b"OPTIONS" => Self::Options,
            b"TRACE" => Self::Trace,
            b"PATCH" => Self::Patch,
            other => {
                if other.is_empty() || crate::scan::token_end(other, 0) < other.len() {
                    return None;
                }
                Self::Other(std::str::from_utf8(other).ok()?)
            }
        })
    }
}

impl std::fmt::Display for Method<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.as_str())
    }
}
