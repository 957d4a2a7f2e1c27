//! The requests of a run, prepared once as the bytes that are sent. No I/O.

use std::collections::HashMap;

use url::{Host, Url};

use crate::draft::{Draft, SharedParts};
use crate::jsonl::Described;
use crate::prepared::{Error, Prepared, Shape};

/// Where requests go: connections to it can carry all of them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Server {
    /// Name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether by TLS.
    pub is_tls: bool,
}

/// All requests of a run, sent round and round.
#[derive(Debug, Clone)]
pub struct Requests {
    servers: Vec<Server>,
    all: Vec<Prepared>,
}

/// Requests that are prepared one after the other. What several have in common is in memory once.
#[derive(Debug)]
pub struct Preparation<'s> {
    shape: &'s Shape,
    servers: Vec<Server>,
    places: HashMap<Server, usize>,
    all: Vec<Prepared>,
    shared: SharedParts,
}

impl<'s> Preparation<'s> {
    /// Begins without a request.
    #[must_use]
    pub fn new(shape: &'s Shape) -> Self {
        Self {
            shape,
            servers: Vec::new(),
            places: HashMap::new(),
            all: Vec::new(),
            shared: SharedParts::default(),
        }
    }

    /// Prepares one more.
    ///
    /// # Errors
    ///
    /// Why it cannot be sent.
    pub fn add(&mut self, described: Described) -> Result<(), Error> {
        let url = parse(&described.url)?;
        let server = server(&url).ok_or(Error::None)?;
        let servers = &mut self.servers;
        let place = *self.places.entry(server).or_insert_with_key(|server| {
            servers.push(server.clone());
            servers.len() - 1
        });
        let draft = Draft::new(described, self.shape)?;
        let prepared = draft.prepare(&url, place, self.shape, &mut self.shared)?;
        self.all.push(prepared);
        Ok(())
    }

    /// All of them.
    ///
    /// # Errors
    ///
    /// There is none.
    pub fn finish(self) -> Result<Requests, Error> {
        let Self { servers, all, .. } = self;
        if all.is_empty() {
            return Err(Error::None);
        }
        Ok(Requests { servers, all })
    }
}

impl Requests {
    /// Prepares requests.
    ///
    /// # Errors
    ///
    /// With the place in the list, counted from 0, of the first that cannot be sent.
    pub fn new(
        described: impl IntoIterator<Item = Described>,
        shape: &Shape,
    ) -> Result<Self, (usize, Error)> {
        let mut preparation = Preparation::new(shape);
        for (index, described) in described.into_iter().enumerate() {
            preparation.add(described).map_err(|error| (index, error))?;
        }
        preparation.finish().map_err(|error| (0, error))
    }

    /// Where they go, each once.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there is none; there always is one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether something must hold of any answer.
    #[must_use]
    pub fn are_checked(&self) -> bool {
        self.all.iter().any(|request| !request.checks.is_empty())
    }

    /// Their place in the list, for the number of a request in the run.
    #[inline]
    pub(crate) fn place(&self, index: u64) -> usize {
        match self.all.len() {
            1 => 0,
            len => usize::try_from(index % len as u64).expect("below a length in memory"),
        }
    }

    #[inline]
    pub(crate) fn at(&self, place: usize) -> &Prepared {
        &self.all[place]
    }
}

fn parse(text: &str) -> Result<Url, Error> {
    let wrong = |reason: &str| Error::Url {
        url: text.to_owned(),
        reason: reason.to_owned(),
    };
    let url = Url::parse(text).map_err(|error| match error {
        url::ParseError::RelativeUrlWithoutBase => wrong("it must start with http:// or https://"),
        error => wrong(&error.to_string()),
    })?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("it must start with http:// or https://"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "it holds a user's name; send it with --header 'Authorization: ...'",
        ));
    }
    Ok(url)
}

fn server(url: &Url) -> Option<Server> {
    let host = match url.host()? {
        Host::Domain(name) => name.trim_end_matches('.').to_owned(),
        Host::Ipv4(address) => address.to_string(),
        Host::Ipv6(address) => address.to_string(),
    };
    Some(Server {
        host,
        port: url.port_or_known_default()?,
        is_tls: url.scheme() == "https",
    })
}

#[cfg(test)]
mod tests {
    use std::ptr;
    use std::sync::Arc;

    use dyno_client::Protocol;

    use super::*;
    use crate::check::Check;
    use crate::prepared::Message;

    #[test]
    fn what_requests_have_in_common_is_in_memory_once() {
        let long = "a".repeat(1000);
        let lines = (0..3).map(|number| Described {
            url: format!("http://a.test/{number}"),
            headers: vec![("X-Long".to_owned(), long.clone())],
            body: Some(long.clone().into()),
            checks: vec![Check::parse(&format!("json=/a={long}")).unwrap()],
            ..Described::default()
        });
        let lines: Vec<Described> = lines.collect();
        for protocol in Protocol::ALL {
            let shape = Shape {
                method: None,
                headers: Vec::new(),
                body: None,
                keepalive: true,
                protocol,
                checks: Arc::default(),
            };
            let all = Requests::new(lines.clone(), &shape).unwrap();
            let [first, others @ ..] = &all.all[..] else {
                panic!("there are three");
            };
            for other in others {
                assert!(Arc::ptr_eq(&first.checks, &other.checks));
                match (&first.message, &other.message) {
                    (Message::Http1(first), Message::Http1(other)) => {
                        for (one, same) in first.shared().iter().zip(other.shared()) {
                            assert!(
                                one.len() >= long.len() && ptr::eq(one.as_ptr(), same.as_ptr())
                            );
                        }
                    }
                    (Message::Http2(first), Message::Http2(other)) => {
                        let value = |of: &dyno_client::http2::Request| {
                            ptr::from_ref(of.head.headers()["x-long"].as_bytes())
                        };
                        assert!(ptr::eq(first.content.as_ptr(), other.content.as_ptr()));
                        assert!(ptr::eq(value(first), value(other)));
                    }
                    _ => panic!("all have one version"),
                }
            }
        }
    }
}
