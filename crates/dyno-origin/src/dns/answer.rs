//! Answers one query: what the web defines for the name, as a DNS message.

use std::time::{Duration, Instant};

use dyno_web::{Fault, Resolution, Resolved};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::rdata::{A, AAAA, SOA};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

use super::scripted;
use crate::worker::Worker;

/// Time to live of an address, in seconds: longer than a trial.
const TIME_TO_LIVE_S: u32 = 3_600;
/// Message size that every path carries unfragmented (DNS flag day 2020).
const PAYLOAD_BYTES: u16 = 1_232;
/// The length of a message's header.
const HEADER_BYTES: usize = 12;

/// An answer, and when to send it.
pub(super) struct Reply {
    pub(super) message: Vec<u8>,
    /// Sent just before the message, over UDP.
    pub(super) forged: Option<Vec<u8>>,
    pub(super) moment: Instant,
}

/// How a query came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Udp,
    Tcp,
}

/// Answers a message; `None` if it is not a query.
pub(super) fn reply(worker: &Worker, bytes: &[u8], transport: Transport) -> Option<Reply> {
    let now = Instant::now();
    let at_once = |message: &Message| {
        let message = message.to_vec().ok()?;
        Some(Reply {
            message,
            forged: None,
            moment: now,
        })
    };
    let Ok(query) = Message::from_vec(bytes) else {
        let id = u16::from_be_bytes([*bytes.first()?, *bytes.get(1)?]);
        // Two servers that answered answers would never stop.
        let is_query = bytes.len() >= HEADER_BYTES && bytes[2] & 0x80 == 0;
        return is_query.then(|| {
            at_once(&Message::error_msg(
                id,
                OpCode::Query,
                ResponseCode::FormErr,
            ))
        })?;
    };
    if query.metadata.message_type != MessageType::Query {
        return None;
    }
    let (code, question) = match query.queries.as_slice() {
        _ if query.metadata.op_code != OpCode::Query => (ResponseCode::NotImp, None),
        _ if query.edns.as_ref().is_some_and(|edns| edns.version() > 0) => {
            (ResponseCode::BADVERS, None)
        }
        [question] if question.query_class() == DNSClass::IN => {
            (ResponseCode::NoError, Some(question))
        }
        [_] => (ResponseCode::Refused, None),
        _ => (ResponseCode::FormErr, None),
    };
    let mut answer = empty_answer(&query, code);
    let Some(question) = question else {
        return at_once(&answer);
    };
    if let Some(scripts) = &worker.scripts
        && let Some(host) = scripted::host_of(scripts, question)
    {
        return scripted::reply(worker, scripts, host, &query, transport);
    }
    let resolution = resolve(worker, question);
    fill(&mut answer, question, &resolution);
    Some(Reply {
        message: answer.to_vec().ok()?,
        forged: None,
        moment: now + Duration::from_nanos(resolution.delay.0),
    })
}

/// The host of a question, in lower case, without a final dot.
pub(super) fn host_name(question: &Query) -> String {
    let mut host = question.name().to_lowercase().to_ascii();
    if host.len() > 1 && host.ends_with('.') {
        host.pop();
    }
    host
}

/// Counts a query.
pub(super) fn count(worker: &Worker, host: &str, question: &Query) {
    let mut counters = worker.counters.borrow_mut();
    counters.dns_queries += 1;
    let kind = u16::from(question.query_type());
    let fingerprint = worker.fingerprints.of(&(host, kind));
    counters.dns_seen.insert(fingerprint);
}

/// Resolves the name in the web, and counts the query.
fn resolve(worker: &Worker, question: &Query) -> Resolution {
    let host = host_name(question);
    let resolution = worker.web.resolve(&host);
    count(worker, &host, question);
    let mut counters = worker.counters.borrow_mut();
    match resolution.resolved {
        Resolved::NxDomain => counters.fault(Fault::NxDomain),
        Resolved::ServFail => counters.fault(Fault::ServFail),
        Resolved::Addresses { .. } => {}
    }
    if let Some(fault) = worker.web.fault(&host) {
        counters.faulty_name(host, fault);
    }
    resolution
}

/// An answer to `query` without records.
pub(super) fn empty_answer(query: &Message, code: ResponseCode) -> Message {
    let mut answer = Message::response(query.metadata.id, query.metadata.op_code);
    answer.metadata.recursion_desired = query.metadata.recursion_desired;
    answer.metadata.checking_disabled = query.metadata.checking_disabled;
    // Acts as the resolver of the machine and as the authoritative server.
    answer.metadata.recursion_available = true;
    answer.metadata.authoritative = true;
    answer.metadata.response_code = code;
    answer.add_queries(query.queries.iter().cloned());
    if let Some(asked) = &query.edns {
        let mut edns = Edns::new();
        edns.set_max_payload(PAYLOAD_BYTES).set_version(0);
        edns.set_dnssec_ok(asked.flags().dnssec_ok);
        edns.set_rcode_high(code.high());
        answer.set_edns(edns);
    }
    answer
}

/// Adds the web's records.
fn fill(answer: &mut Message, question: &Query, resolution: &Resolution) {
    let records = match resolution.resolved {
        Resolved::ServFail => {
            answer.metadata.response_code = ResponseCode::ServFail;
            return;
        }
        Resolved::NxDomain => {
            answer.metadata.response_code = ResponseCode::NXDomain;
            None
        }
        Resolved::Addresses { v4, v6 } => match question.query_type() {
            RecordType::A => Some(RData::A(A(v4))),
            RecordType::AAAA => v6.map(|v6| RData::AAAA(AAAA(v6))),
            _ => None,
        },
    };
    match records {
        Some(data) => answer.add_answer(Record::from_rdata(
            question.name().clone(),
            TIME_TO_LIVE_S,
            data,
        )),
        None => answer.add_authority(start_of_authority(question.name())),
    };
}

/// The SOA record, which says how long a missing name or type may be cached (RFC 2308).
pub(super) fn start_of_authority(name: &Name) -> Record {
    const REFRESH_S: i32 = 7_200;
    const EXPIRE_S: i32 = 1_209_600;
    let zone = name.trim_to(1);
    let under_zone = |label: &str| {
        Name::from_ascii(label)
            .and_then(|label| label.append_domain(&zone))
            .unwrap_or_default()
    };
    let data = SOA::new(
        under_zone("ns"),
        under_zone("hostmaster"),
        1,
        REFRESH_S,
        REFRESH_S,
        EXPIRE_S,
        TIME_TO_LIVE_S,
    );
    Record::from_rdata(zone, TIME_TO_LIVE_S, RData::SOA(data))
}
