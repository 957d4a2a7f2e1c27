//! The requests of a run, prepared once: what is sent is bytes that lie ready. No I/O.

use url::{Host, Url};

use super::draft::Draft;
use super::jsonl::Described;
use super::prepared::{Error, Prepared, Shape};

/// Where requests go: connections to it can carry all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
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
        let (mut servers, mut all) = (Vec::new(), Vec::new());
        let mut places = std::collections::HashMap::new();
        for (index, described) in described.into_iter().enumerate() {
            let failed = |error| (index, error);
            let url = parse(&described.url).map_err(failed)?;
            let server = server(&url).ok_or((index, Error::None))?;
            let key = (server.host.clone(), server.port, server.is_tls);
            let place = *places.entry(key).or_insert_with(|| {
                servers.push(server);
                servers.len() - 1
            });
            let draft = Draft::new(described, shape).map_err(failed)?;
            all.push(draft.prepare(&url, place, shape).map_err(failed)?);
        }
        if all.is_empty() {
            return Err((0, Error::None));
        }
        Ok(Self { servers, all })
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
    pub(super) fn place(&self, index: u64) -> usize {
        match self.all.len() {
            1 => 0,
            len => usize::try_from(index % len as u64).expect("below a length in memory"),
        }
    }

    #[inline]
    pub(super) fn at(&self, place: usize) -> &Prepared {
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
