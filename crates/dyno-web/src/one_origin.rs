//! A web that is served by one origin on a real machine, and nowhere else.

use std::fmt;

use url::{Host, Url};

use crate::scheme::Scheme;

/// The URL of an origin, `http://other:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOrigin {
    host: Host<String>,
    port: u16,
}

/// Why a text is not the URL of an origin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OneOriginError {
    /// It is not a URL.
    #[error("{0:?} is not a URL; write it like http://other:8080")]
    NoUrl(String),
    /// It is a URL of another scheme.
    #[error("{0}: only http is spoken between two machines; write it like http://other:8080")]
    NoHttp(String),
    /// It has more than host and port.
    #[error("{0}: name the machine and the port only, like http://other:8080")]
    TooMuch(String),
}

impl OneOrigin {
    /// Parses the URL of an origin.
    ///
    /// # Errors
    ///
    /// If it is not a URL, is not plain HTTP, or has more than host and port.
    pub fn parse(text: &str) -> Result<Self, OneOriginError> {
        let no_url = || OneOriginError::NoUrl(text.to_owned());
        if !text.contains("://") {
            return Err(no_url());
        }
        let url = Url::parse(text).map_err(|_| no_url())?;
        if url.scheme() != Scheme::Http.name() {
            return Err(OneOriginError::NoHttp(text.to_owned()));
        }
        let has_more = url.path() != "/"
            || url.query().is_some()
            || url.fragment().is_some()
            || !url.username().is_empty()
            || url.password().is_some();
        if has_more {
            return Err(OneOriginError::TooMuch(text.to_owned()));
        }
        Ok(Self {
            host: url.host().ok_or_else(no_url)?.to_owned(),
            port: url.port().unwrap_or(Scheme::Http.port()),
        })
    }

    /// The host: a name, or an address without brackets.
    #[must_use]
    pub fn host(&self) -> String {
        match &self.host {
            Host::Domain(name) => name.clone(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        }
    }

    /// The host name; `None` for an address.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match &self.host {
            Host::Domain(name) => Some(name),
            _ => None,
        }
    }

    /// The port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The `Host` field of requests: with the port unless it is HTTP's default.
    #[must_use]
    pub fn authority(&self) -> String {
        if self.port == Scheme::Http.port() {
            self.host.to_string()
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// Whether a URL belongs to this origin.
    pub(crate) fn has(&self, url: &Url) -> bool {
        url.scheme() == Scheme::Http.name()
            && url.host().is_some_and(|host| host.to_owned() == self.host)
            && url.port().unwrap_or(Scheme::Http.port()) == self.port
    }
}

impl fmt::Display for OneOrigin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "http://{}", self.authority())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_origins_parse() {
        let cases = [
            ("http://other:8080", "http://other:8080"),
            ("HTTP://OTHER:8080/", "http://other:8080"),
            ("http://10.0.0.2", "http://10.0.0.2"),
            ("http://10.0.0.2:80", "http://10.0.0.2"),
            ("http://[2001:DB8::2]:8080", "http://[2001:db8::2]:8080"),
        ];
        for (text, expected) in cases {
            assert_eq!(OneOrigin::parse(text).unwrap().to_string(), expected);
        }
        for (text, expected) in [
            ("other:8080", "is not a URL"),
            ("other", "is not a URL"),
            ("", "is not a URL"),
            ("http://", "is not a URL"),
            ("http://a b", "is not a URL"),
            ("http://other:99999", "is not a URL"),
            ("https://other:8443", "only http"),
            ("ftp://other", "only http"),
            ("http://other:8080/plain", "the port only"),
            ("http://other:8080/?a=b", "the port only"),
            ("http://me:secret@other", "the port only"),
        ] {
            let error = OneOrigin::parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
