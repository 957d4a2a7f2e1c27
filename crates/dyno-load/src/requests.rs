//! The requests of a run, encoded once before it starts. No I/O.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use dyno_client::Route;
use url::{Host, Url};

use crate::body::{Body, Section};
use crate::draft::{Draft, SharedParts};
use crate::filler::Filler;
use crate::jsonl::Described;
use crate::labels::{Labels, Naming, order};
use crate::marks::{self, Marks};
use crate::prepared::{Error, Message, Prepared, Shape};
use crate::template::{Filling, Pick, Values};

/// A server; a connection to it can carry all requests for it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Server {
    /// Name or address, without brackets.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether it uses TLS.
    pub is_tls: bool,
}

impl Server {
    fn route(&self, shape: &Shape) -> Option<Route> {
        let is_multiplexed = shape.protocol.is_multiplexed();
        let proxies = &shape.proxies;
        proxies.route(&self.host, self.port, self.is_tls, is_multiplexed)
    }
}

/// All requests of a run, sent in turn, again and again.
#[derive(Debug, Clone)]
pub struct Requests {
    servers: Vec<Server>,
    /// The way to each server, where it is through a proxy.
    routes: Vec<Option<Route>>,
    all: Vec<Prepared>,
    values: Arc<Values>,
    uses_data: bool,
    has_placeholders: bool,
    labels: Labels,
    /// Places by weight; empty: one after the other.
    order: Box<[u32]>,
}

/// Builder of the requests. It stores the parts that several have in common once.
#[derive(Debug)]
pub struct Preparation<'s> {
    shape: &'s Shape,
    servers: Vec<Server>,
    routes: Vec<Option<Route>>,
    places: HashMap<Server, usize>,
    all: Vec<Prepared>,
    shared: SharedParts,
    values: Values,
    uses_data: bool,
    /// Columns whose values may stand in a header, or in a URL.
    checked: HashSet<(usize, bool)>,
    naming: Naming,
    weights: Vec<f64>,
}

impl<'s> Preparation<'s> {
    /// Begins with an empty list.
    #[must_use]
    pub fn new(shape: &'s Shape) -> Self {
        Self {
            shape,
            servers: Vec::new(),
            routes: Vec::new(),
            places: HashMap::new(),
            all: Vec::new(),
            shared: SharedParts::default(),
            values: Values::default(),
            uses_data: false,
            checked: HashSet::new(),
            naming: Naming::default(),
            weights: Vec::new(),
        }
    }

    /// Takes the values of placeholders from here.
    #[must_use]
    pub fn with_values(self, values: Values) -> Self {
        Self { values, ..self }
    }

    /// Prepares another request.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be sent.
    pub fn add(&mut self, mut described: Described) -> Result<(), Error> {
        let body = match (described.body.take(), described.form.take()) {
            (Some(bytes), _) if described.is_base64 => Some(Body::new(vec![Section::Bytes(bytes)])),
            (Some(text), _) => Some(text.into()),
            (None, Some(fields)) => Some(Body::form(&fields)),
            (None, None) => None,
        };
        self.add_with_body(described, body)
    }

    /// Prepares a request with this body, or with that of all requests.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be sent.
    pub fn add_with_body(
        &mut self,
        mut described: Described,
        body: Option<Body>,
    ) -> Result<(), Error> {
        let label = described.label.take();
        self.weights.push(described.weight.unwrap_or(1.0));
        self.add_unnamed(described, body)?;
        if let Some(prepared) = self.all.last_mut() {
            let name = label
                .as_deref()
                .unwrap_or_else(|| marks::path(&prepared.url));
            prepared.label = self.naming.place(name, label.is_some());
        }
        Ok(())
    }

    /// Prepares a recorded request, and returns its place. Its text has no placeholders; `name` is its label, unless it
    /// has one of its own.
    ///
    /// # Errors
    ///
    /// The reason why it cannot be sent.
    pub(crate) fn add_recorded(
        &mut self,
        mut described: Described,
        name: &str,
    ) -> Result<u32, Error> {
        marks::escape(&mut described);
        let label = described.label.take();
        let bytes = described.body.take();
        let body = bytes.map(|bytes| Body::new(vec![Section::Bytes(bytes)]));
        self.add_unnamed(described, body)?;
        let place = self.all.len() - 1;
        self.all[place].label = self
            .naming
            .place(label.as_deref().unwrap_or(name), label.is_some());
        Ok(u32::try_from(place).expect("a replay has a limit of different requests"))
    }

    /// Returns all prepared requests, which are sent in this order of places.
    ///
    /// # Errors
    ///
    /// If there are no requests.
    pub(crate) fn finish_in_order(self, order: Box<[u32]>) -> Result<Requests, Error> {
        let requests = self.finish()?;
        Ok(Requests { order, ..requests })
    }

    fn add_unnamed(&mut self, described: Described, body: Option<Body>) -> Result<(), Error> {
        let data = self.values.data.as_deref();
        let body = body.or_else(|| self.shape.body.clone());
        let replaced = Marks::replace(&described, body.as_ref(), self.shape, data)?;
        let Some((marked, marked_body, marks)) = replaced else {
            return self.prepare(described, body);
        };
        for (column, is_in_url) in marks.restricted() {
            if let (Some(data), true) = (data, self.checked.insert((column, is_in_url))) {
                let checked = if is_in_url {
                    data.check_for_url(column)
                } else {
                    data.check_for_header(column)
                };
                checked.map_err(Error::Data)?;
            }
        }
        self.uses_data |= marks.uses_data();
        self.prepare(marked, marked_body)
            .map_err(|error| match error {
                Error::Url { reason, .. } => Error::Url {
                    url: described.url.clone(),
                    reason,
                },
                error => error,
            })?;
        if let Some(prepared) = self.all.last_mut() {
            prepared.url = described.url;
            marks.make_template(prepared);
        }
        Ok(())
    }

    fn prepare(&mut self, described: Described, body: Option<Body>) -> Result<(), Error> {
        let url = parse(&described.url)?;
        let server = server(&url).ok_or(Error::None)?;
        let (servers, routes, shape) = (&mut self.servers, &mut self.routes, self.shape);
        let place = *self.places.entry(server).or_insert_with_key(|server| {
            servers.push(server.clone());
            routes.push(server.route(shape));
            servers.len() - 1
        });
        let mut draft = Draft::new(described, body, shape)?;
        if let Some(route) = routes[place]
            .as_ref()
            .filter(|route| route.tunnel.is_none())
        {
            draft.go_through(&route.by.proxy);
        }
        let prepared = draft.prepare(&url, place, shape, &mut self.shared)?;
        self.all.push(prepared);
        Ok(())
    }

    /// Returns all prepared requests.
    ///
    /// # Errors
    ///
    /// If there are no requests.
    pub fn finish(self) -> Result<Requests, Error> {
        if self.all.is_empty() {
            return Err(Error::None);
        }
        Ok(Requests {
            has_placeholders: self.all.iter().any(|request| request.template.is_some()),
            servers: self.servers,
            routes: self.routes,
            all: self.all,
            values: Arc::new(self.values),
            uses_data: self.uses_data,
            labels: self.naming.finish(),
            order: order(&self.weights),
        })
    }
}

impl Requests {
    /// Prepares a list of requests.
    ///
    /// # Errors
    ///
    /// The first request that cannot be sent, with its index from 0.
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

    /// The servers of the requests, each once.
    #[must_use]
    pub fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// The way to each server; `None`: no proxy.
    #[must_use]
    pub fn routes(&self) -> &[Option<Route>] {
        &self.routes
    }

    /// Number of requests.
    #[must_use]
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether the list is empty; it never is.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether any answer has checks.
    #[must_use]
    pub fn are_checked(&self) -> bool {
        self.all.iter().any(|request| !request.checks.is_empty())
    }

    /// Whether any content waits for the server's consent.
    #[must_use]
    pub fn expect_continue(&self) -> bool {
        self.all.iter().any(|request| request.expects_continue)
    }

    /// Whether the message of any is written for each sending.
    pub(crate) const fn have_placeholders(&self) -> bool {
        self.has_placeholders
    }

    /// Whether a placeholder is a column of the data.
    #[must_use]
    pub const fn use_data(&self) -> bool {
        self.uses_data
    }

    /// Whether anything depends on the seed of the values.
    #[must_use]
    pub fn use_seed(&self) -> bool {
        let is_random =
            |request: &Prepared| request.template.as_ref().is_some_and(|one| one.is_random());
        self.uses_data && self.values.pick == Pick::Random || self.all.iter().any(is_random)
    }

    /// The values of placeholders.
    #[must_use]
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Requests until the first comes again.
    pub(crate) fn cycle(&self) -> u64 {
        self.order.len().max(self.all.len()) as u64
    }

    /// Method and URL of the request with this number in the run, counted from 0; the URL with its placeholders.
    #[must_use]
    pub fn preview(&self, index: u64) -> (String, &str) {
        let place = self.place(index);
        let mut filler = Filler::default();
        let method = match self.fill(&mut filler, place, index) {
            Message::Http1(request) => {
                let bytes = request.to_bytes();
                let method = bytes.split(|byte| *byte == b' ').next();
                String::from_utf8_lossy(method.unwrap_or_default()).into_owned()
            }
            Message::Http2(request) => request.head.method().to_string(),
        };
        (method, &self.at(place).url)
    }

    /// The labels.
    #[must_use]
    pub const fn labels(&self) -> &Labels {
        &self.labels
    }

    /// The same requests with other random rows and values.
    #[must_use]
    pub(crate) fn with_other_values(&self) -> Self {
        let values = Values {
            seed: self.values.seed.wrapping_add(1),
            ..(*self.values).clone()
        };
        Self {
            values: Arc::new(values),
            ..self.clone()
        }
    }

    /// The message of a request, with its values where it has placeholders.
    pub(crate) fn fill<'f>(
        &'f self,
        filler: &'f mut Filler,
        place: usize,
        index: u64,
    ) -> &'f Message {
        let filling = Filling::new(&self.values, index, self.cycle());
        filler.fill(self.at(place), place, filling)
    }

    /// Index in the list of the request with this number in the run.
    #[inline]
    pub(crate) fn place(&self, index: u64) -> usize {
        match self.all.len() {
            1 => 0,
            len if self.order.is_empty() => {
                usize::try_from(index % len as u64).expect("below a length in memory")
            }
            _ => {
                let place = index % self.order.len() as u64;
                self.order[usize::try_from(place).expect("below a length in memory")] as usize
            }
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

    use dyno_client::{Protocol, Proxies, Reroute};
    use proptest::prelude::*;

    use super::*;
    use crate::check::Check;
    use crate::data::Data;

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
                path_as_is: false,
                keepalive: true,
                protocol,
                proxies: Proxies::default(),
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

    const USERS: &str = "user,pass word\nanna,a b&c\nb\u{f6}b,\"x,\"\"y\"\"\"\n";

    fn shape(protocol: Protocol) -> Shape {
        Shape {
            method: None,
            headers: Vec::new(),
            body: None,
            path_as_is: false,
            keepalive: true,
            protocol,
            proxies: Proxies::default(),
            checks: Arc::default(),
        }
    }

    fn values(pick: Pick, seed: u64) -> Values {
        Values {
            data: Some(Arc::new(Data::read("users.csv", USERS.as_bytes()).unwrap())),
            pick,
            seed,
        }
    }

    fn prepared(described: Vec<Described>, shape: &Shape) -> Result<Requests, Error> {
        let mut all = Preparation::new(shape).with_values(values(Pick::Sequence, 1));
        for one in described {
            all.add(one)?;
        }
        all.finish()
    }

    fn url(url: &str) -> Described {
        Described {
            url: url.to_owned(),
            ..Described::default()
        }
    }

    /// Request line or URI, the fields that are not the same in all requests, and content.
    fn filled(requests: &Requests, indices: std::ops::Range<u64>) -> Vec<String> {
        let mut filler = Filler::default();
        let texts =
            indices.map(
                |index| match requests.fill(&mut filler, requests.place(index), index) {
                    Message::Http1(request) => {
                        String::from_utf8_lossy(&request.to_bytes()).into_owned()
                    }
                    Message::Http2(request) => {
                        let fields = request.head.headers().iter();
                        let fields = fields.map(|(name, value)| {
                            format!("{name}: {}\n", String::from_utf8_lossy(value.as_bytes()))
                        });
                        let content = String::from_utf8_lossy(&request.content);
                        format!(
                            "{}\n{}{content}",
                            request.head.uri(),
                            fields.collect::<String>()
                        )
                    }
                },
            );
        texts.collect()
    }

    #[test]
    fn each_request_has_its_values() {
        let described = Described {
            headers: vec![("X-User".to_owned(), "{{user}}{{seq}}".to_owned())],
            body: Some("{{pass word}}{{{{".into()),
            ..url("http://a.test:81/{{user}}/..%2f?p={{pass word}}&q=1#{{seq}}")
        };
        let requests = prepared(vec![described.clone()], &shape(Protocol::Http1)).unwrap();
        let head = |target: &str, user: &str, length: usize, body: &str| {
            let agent = concat!("httpdyno/", env!("CARGO_PKG_VERSION"));
            format!(
                "POST {target} HTTP/1.1\r\nHost: a.test:81\r\nUser-Agent: {agent}\r\nX-User: {user}\r\nContent-Length: {length}\r\n\r\n{body}"
            )
        };
        let expected = [
            head("/anna/..%2f?p=a%20b%26c&q=1", "anna1", 7, "a b&c{{"),
            head(
                "/b%C3%B6b/..%2f?p=x%2C%22y%22&q=1",
                "b\u{f6}b2",
                7,
                "x,\"y\"{{",
            ),
            head("/anna/..%2f?p=a%20b%26c&q=1", "anna3", 7, "a b&c{{"),
        ];
        assert_eq!(filled(&requests, 0..3), expected);
        assert_eq!(requests.at(0).url, described.url);

        let requests = prepared(vec![described], &shape(Protocol::Http2)).unwrap();
        let agent = concat!("httpdyno/", env!("CARGO_PKG_VERSION"));
        let second = format!(
            "http://a.test:81/b%C3%B6b/..%2f?p=x%2C%22y%22&q=1\nuser-agent: {agent}\nx-user: b\u{f6}b2\ncontent-length: 7\nx,\"y\"{{{{"
        );
        assert_eq!(filled(&requests, 0..2)[1], second);
    }

    #[test]
    fn a_request_that_a_proxy_forwards_has_the_whole_url_and_the_credentials() {
        let forwarded = "http://a.test:81";
        let login = "Proxy-Authorization: Basic bWU6cGxhbnRlZA==\r\n";
        for (proxy, url_of_server, is_forwarded) in [
            ("http://me:planted@p.test", "http://a.test:81", true),
            ("http://me:planted@p.test", "https://a.test:81", false),
            ("socks5h://me:planted@p.test", "http://a.test:81", false),
            ("", "http://a.test:81", false),
        ] {
            let proxies = Proxies::choose(Some(proxy), None, Reroute::default(), |_| None);
            let shape = Shape {
                proxies: proxies.unwrap(),
                ..shape(Protocol::Http1)
            };
            let urls = ["/b?c", "/{{seq}}"].map(|path| url(&format!("{url_of_server}{path}")));
            let requests = prepared(urls.to_vec(), &shape).unwrap();
            let (start, login) = if is_forwarded {
                (forwarded, login)
            } else {
                ("", "")
            };
            let agent = concat!("httpdyno/", env!("CARGO_PKG_VERSION"));
            let expected = ["/b?c", "/2"].map(|path| {
                format!(
                    "GET {start}{path} HTTP/1.1\r\nHost: a.test:81\r\nUser-Agent: {agent}\r\n{login}\r\n"
                )
            });
            assert_eq!(filled(&requests, 0..2), expected, "{proxy} {url_of_server}");
            let names = requests.proxies();
            assert_eq!(names.is_some(), !proxy.is_empty());
            assert!(!names.unwrap_or_default().contains("planted"));
        }
    }

    #[test]
    fn requests_without_placeholders_stay_as_they_were_prepared() {
        let plain = url("http://a.test/b");
        let bytes = Described {
            body: Some(b"{{\xff"[..].into()),
            ..plain.clone()
        };
        let coded = Described {
            body: Some("{{user}}".into()),
            is_base64: true,
            ..plain.clone()
        };
        for protocol in Protocol::ALL {
            let all = vec![
                plain.clone(),
                bytes.clone(),
                coded.clone(),
                url("http://a.test/{{{{a"),
            ];
            let requests = prepared(all, &shape(protocol)).unwrap();
            assert!(!requests.have_placeholders() && !requests.use_data());
            let texts = filled(&requests, 0..4);
            assert!(texts[2].ends_with("{{user}}"));
            assert!(texts[3].contains("/%7B%7Ba"));
        }
    }

    #[test]
    fn what_decides_where_and_how_a_request_goes_has_no_placeholders() {
        let with = |name: &str, value: &str| Described {
            headers: vec![(name.to_owned(), value.to_owned())],
            body: Some("{{user}}".into()),
            ..url("http://a.test/")
        };
        let hosts = "URL: scheme, host and port take no placeholders, since hosts are fixed at the start; write a line for each host";
        let fixed = "it is fixed at the start and takes no placeholders; write its value out";
        for (described, expected) in [
            (url("http://{{user}}.test/"), hosts.to_owned()),
            (url("{{seq}}://a.test/"), hosts.to_owned()),
            (url("http://a.test:{{seq}}"), hosts.to_owned()),
            (with("Host", "{{user}}"), format!("header \"Host\": {fixed}")),
            (
                with("Content-Length", "8"),
                "header \"Content-Length\": the length of a body with placeholders is computed; leave it out".to_owned(),
            ),
            (
                with("X", "{{usr}}"),
                "header \"X\": {{usr}} is unknown; did you mean {{user}}?".to_owned(),
            ),
        ] {
            let error = prepared(vec![described], &shape(Protocol::Http1)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
    }

    #[test]
    fn each_request_meets_each_row() {
        let two = vec![url("http://a.test/{{user}}"), url("http://b.test/{{user}}")];
        let requests = prepared(two, &shape(Protocol::Http1)).unwrap();
        let texts: HashSet<String> = filled(&requests, 0..4).into_iter().collect();
        assert_eq!(texts.len(), 4);
    }

    #[test]
    fn a_warm_up_has_other_random_values_and_the_same_rows() {
        let one = vec![url("http://a.test/{{user}}/{{seq}}/{{uuid}}")];
        let requests = prepared(one, &shape(Protocol::Http1)).unwrap();
        let [measured, warm_up] = [requests.clone(), requests.with_other_values()]
            .map(|requests| filled(&requests, 1..2));
        let parts = |texts: &[String]| {
            texts[0]
                .split([' ', '/'])
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let (measured, warm_up) = (parts(&measured), parts(&warm_up));
        assert_eq!(measured[..4], warm_up[..4]);
        assert_ne!(measured[4], warm_up[4]);
    }

    proptest! {
        #[test]
        fn values_depend_on_seed_and_number_only(seed: u64, index in 0..u64::MAX / 2, low: i64, width: u32) {
            let high = low.saturating_add(i64::from(width));
            let shape = shape(Protocol::Http1);
            let text = format!("http://a.test/{{{{uuid}}}}/{{{{random {low} {high}}}}}/{{{{user}}}}");
            let all = [(); 2].map(|()| {
                let mut all = Preparation::new(&shape).with_values(values(Pick::Random, seed));
                all.add(url(&text)).unwrap();
                all.finish().unwrap()
            });
            let [one, other] = all.each_ref().map(|requests| filled(requests, index..index + 1));
            prop_assert_eq!(&one, &other);
            let parts: Vec<&str> = one[0].split([' ', '/']).collect();
            let random: i64 = parts[3].parse().unwrap();
            prop_assert!((low..=high).contains(&random));
            prop_assert_eq!(parts[2].len(), 36);
            prop_assert_eq!((&parts[2][14..15], "89ab".contains(&parts[2][19..20])), ("4", true));
        }

    }
}
