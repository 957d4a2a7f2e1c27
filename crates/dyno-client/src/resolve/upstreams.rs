//! The name servers of a resolver, and the order in which they are queried.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::name_server::NameServer;
use super::pipeline::Pipeline;
use crate::failure::Failure;
use crate::tls;

/// How long a server that failed is queried after the others.
const LAST_FOR: Duration = Duration::from_secs(30);

/// A name server with its state.
#[derive(Debug)]
pub(super) struct Upstream {
    pub server: NameServer,
    /// The connection for queries over TCP and TLS.
    pub pipeline: Pipeline,
    /// Until then it is queried after the others.
    last_until: Cell<Option<Instant>>,
    /// When the last answer came.
    heard: Rc<Cell<Option<Instant>>>,
    /// Whether its first failure was reported.
    reported: Cell<bool>,
}

impl Upstream {
    pub fn new(server: NameServer, tls: Option<&tls::Client>) -> Self {
        let heard = Rc::default();
        Self {
            pipeline: Pipeline::new(server.clone(), tls.cloned(), Rc::clone(&heard)),
            server,
            last_until: Cell::new(None),
            heard,
            reported: Cell::new(false),
        }
    }

    /// Notes an answer.
    pub fn answered(&self, now: Instant) {
        self.heard.set(Some(now));
        self.last_until.set(None);
    }

    /// Notes that the server could not be queried; returns whether to report that. Its first failure is reported, unless
    /// another lookup gave its connection up.
    pub fn failed(&self, failure: Failure, now: Instant) -> bool {
        self.last_until.set(Some(now + LAST_FOR));
        failure != Failure::ResolveTimeout && !self.reported.replace(true)
    }

    /// Notes that a query had no answer. That is a failure only if no other query had one in the meantime: many names are
    /// slow at servers that are well.
    pub fn timed_out(&self, sent: Instant, now: Instant) {
        if self.heard.get().is_none_or(|heard| heard < sent) {
            self.last_until.set(Some(now + LAST_FOR));
            self.pipeline.give_up();
        }
    }

    fn is_last(&self, now: Instant) -> bool {
        self.last_until.get().is_some_and(|until| now < until)
    }
}

/// The servers in the order of a lookup: from the `turn`th on, and those that failed shortly before at the end.
pub(super) fn order(all: &[Upstream], turn: usize, now: Instant) -> Vec<&Upstream> {
    let (behind, from) = all.split_at(turn % all.len());
    let mut order: Vec<&Upstream> = from.iter().chain(behind).collect();
    order.sort_by_key(|upstream| upstream.is_last(now));
    order
}

/// What a failure of a name server means, and the cure: the text of a message.
#[must_use]
pub fn explain(server: &NameServer, failure: Failure) -> String {
    let cure = match failure {
        Failure::CertificateUntrusted => "trust its authority: --cacert FILE".to_owned(),
        Failure::CertificateWrongName => {
            format!(
                "name it as its certificate does: --nameserver tls://{}#NAME",
                server.address
            )
        }
        Failure::ConnectionRefused => {
            "start it, or give another address or port: --nameserver".to_owned()
        }
        _ => "give another one: --nameserver".to_owned(),
    };
    format!("name server {server}: {failure}; {cure}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn three() -> Vec<Upstream> {
        let servers = ["192.0.2.0", "192.0.2.1", "192.0.2.2"];
        servers
            .map(|text| Upstream::new(text.parse().unwrap(), None))
            .into()
    }

    fn numbers(order: &[&Upstream]) -> Vec<u8> {
        let last = |upstream: &&Upstream| {
            let text = upstream.server.address.ip().to_string();
            text.as_bytes()[text.len() - 1] - b'0'
        };
        order.iter().map(last).collect()
    }

    #[test]
    fn servers_that_failed_are_queried_last_for_a_while() {
        let (all, now) = (three(), Instant::now());
        assert_eq!(numbers(&order(&all, 0, now)), [0, 1, 2]);
        assert_eq!(numbers(&order(&all, 4, now)), [1, 2, 0]);
        let refused = Failure::ConnectionRefused;
        assert!(!all[0].failed(Failure::ResolveTimeout, now));
        assert!(all[0].failed(refused, now));
        assert!(!all[0].failed(refused, now), "it is reported once");
        assert_eq!(numbers(&order(&all, 0, now)), [1, 2, 0]);
        assert_eq!(numbers(&order(&all, 2, now)), [2, 1, 0]);
        all[1].failed(refused, now);
        all[2].failed(refused, now);
        assert_eq!(numbers(&order(&all, 1, now)), [1, 2, 0]);
        all[2].answered(now);
        assert_eq!(numbers(&order(&all, 0, now)), [2, 0, 1]);
        assert_eq!(numbers(&order(&all, 0, now + LAST_FOR)), [0, 1, 2]);
    }

    #[test]
    fn a_slow_name_is_no_failure_of_a_server_that_answers() {
        let (all, sent) = (three(), Instant::now());
        let (soon, later) = (sent + Duration::from_secs(1), sent + Duration::from_secs(2));
        all[0].answered(soon);
        all[0].timed_out(sent, later);
        assert_eq!(numbers(&order(&all, 0, later)), [0, 1, 2]);
        all[0].timed_out(later, later + Duration::from_secs(1));
        assert_eq!(numbers(&order(&all, 0, later)), [1, 2, 0]);
        all[1].timed_out(sent, later);
        assert_eq!(numbers(&order(&all, 0, later)), [2, 0, 1]);
    }

    #[test]
    fn a_failure_has_its_cure() {
        let server: NameServer = "tls://192.0.2.1".parse().unwrap();
        for (failure, text) in [
            (
                Failure::CertificateUntrusted,
                "name server tls://192.0.2.1:853: the certificate is not signed by a trusted authority; trust its authority: --cacert FILE",
            ),
            (
                Failure::CertificateWrongName,
                "name server tls://192.0.2.1:853: the certificate is not for this host; name it as its certificate does: --nameserver tls://192.0.2.1:853#NAME",
            ),
            (
                Failure::ConnectionRefused,
                "name server tls://192.0.2.1:853: the connection was refused; start it, or give another address or port: --nameserver",
            ),
        ] {
            assert_eq!(explain(&server, failure), text);
        }
    }
}
