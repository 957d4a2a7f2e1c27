//! Answers a query for a scripted host as its script says, and notes the query in the transcript.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use hickory_proto::op::{Message, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, CNAME};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use serde_json::json;

use super::answer::{self, Reply, Transport};
use crate::scripts::{Family, Forgery, Host, NameAnswer, OverTcp, Rcode, Scripts};
use crate::worker::Worker;

/// How long a script that is silent delays its answer.
const SILENCE: Duration = Duration::from_secs(86_400);

/// The index of the scripted host that a question is about.
pub(super) fn host_of(scripts: &Scripts, question: &Query) -> Option<usize> {
    scripts.named(&answer::host_name(question))
}

/// Answers a query with one question; `None` closes a connection over TCP.
pub(super) fn reply(
    worker: &Worker,
    scripts: &Scripts,
    host: usize,
    query: &Message,
    transport: Transport,
) -> Option<Reply> {
    let host = scripts.host(host);
    let question = query.queries.first()?;
    answer::count(worker, &host.script.name, question);
    note(worker, scripts, host, question, transport);
    let family = match question.query_type() {
        RecordType::A => Some(Family::V4),
        RecordType::AAAA => Some(Family::V6),
        _ => None,
    };
    let is_tcp = transport == Transport::Tcp;
    let chosen = family.and_then(|family| Some((family, host.next_answer(family, is_tcp)?)));
    let mut message = answer::empty_answer(query, ResponseCode::NoError);
    let mut moment = Instant::now();
    let mut forged = None;
    if let Some((family, chosen)) = chosen {
        if is_tcp && chosen.tcp == OverTcp::Close {
            return None;
        }
        forged = chosen
            .forged
            .and_then(|forgery| forge(&message, scripts, host, family, forgery));
        fill(&mut message, scripts, host, family, chosen, is_tcp);
        let after = Duration::from_millis(chosen.after_ms);
        let is_silent = chosen.silent || is_tcp && chosen.tcp == OverTcp::Silent;
        moment += if is_silent { SILENCE } else { after };
    } else {
        message.add_authority(answer::start_of_authority(question.name()));
    }
    Some(Reply {
        message: message.to_vec().ok()?,
        forged,
        moment,
    })
}

/// An answer with an address that refuses connections, which is for another query than `answer`.
fn forge(
    answer: &Message,
    scripts: &Scripts,
    host: &Host,
    family: Family,
    forgery: Forgery,
) -> Option<Vec<u8>> {
    let mut forged = answer.clone();
    match forgery {
        Forgery::Id => forged.metadata.id = forged.metadata.id.wrapping_add(1),
        Forgery::Question => {
            let other = Name::from_ascii("forged.test.").ok()?;
            for question in &mut forged.queries {
                question.set_name(other.clone());
            }
        }
    }
    let name = forged.queries.first()?.name().clone();
    let closed = NameAnswer {
        addresses: vec!["closed".to_owned()],
        ..NameAnswer::default()
    };
    add_records(&mut forged, scripts, host, family, &closed, name);
    forged.to_vec().ok()
}

/// Adds the records of an answer.
fn fill(
    message: &mut Message,
    scripts: &Scripts,
    host: &Host,
    family: Family,
    chosen: &NameAnswer,
    is_tcp: bool,
) {
    if chosen.change_case {
        for question in &mut message.queries {
            let lower = question.name().to_lowercase();
            question.set_name(lower);
        }
    }
    let Some(name) = message
        .queries
        .first()
        .map(|question| question.name().clone())
    else {
        return;
    };
    message.metadata.response_code = match chosen.rcode {
        Rcode::NoError => ResponseCode::NoError,
        Rcode::NxDomain => ResponseCode::NXDomain,
        Rcode::ServFail => ResponseCode::ServFail,
        Rcode::Refused => ResponseCode::Refused,
        Rcode::FormErr => ResponseCode::FormErr,
    };
    if chosen.truncate && !is_tcp {
        message.metadata.truncation = true;
        return;
    }
    match chosen.rcode {
        Rcode::NoError => add_records(message, scripts, host, family, chosen, name),
        Rcode::NxDomain => {
            message.add_authority(answer::start_of_authority(&name));
        }
        _ => {}
    }
}

fn add_records(
    message: &mut Message,
    scripts: &Scripts,
    host: &Host,
    family: Family,
    chosen: &NameAnswer,
    mut name: Name,
) {
    let mut is_empty = chosen.cname.0.is_empty();
    for alias in &chosen.cname.0 {
        let data = RData::CNAME(CNAME(alias.clone()));
        message.add_answer(Record::from_rdata(name, chosen.ttl, data));
        name = alias.clone();
    }
    for word in &chosen.addresses {
        let data = match scripts.address(host, word, family) {
            Some(IpAddr::V4(address)) => RData::A(A(address)),
            Some(IpAddr::V6(address)) => RData::AAAA(AAAA(address)),
            None => continue,
        };
        message.add_answer(Record::from_rdata(name.clone(), chosen.ttl, data));
        is_empty = false;
    }
    if is_empty {
        message.add_authority(answer::start_of_authority(&name));
    }
}

/// Adds a query to the transcript.
fn note(worker: &Worker, scripts: &Scripts, host: &Host, question: &Query, transport: Transport) {
    let at_us = worker.shared.elapsed_ns(Instant::now()) / 1_000;
    let name = question.name().to_ascii();
    let line = json!({
        "host": host.script.name,
        "query": name.trim_end_matches('.'),
        "type": question.query_type().to_string(),
        "transport": match transport {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
        },
        "at_us": at_us,
    });
    scripts.transcripts.keep(at_us, &line);
}
