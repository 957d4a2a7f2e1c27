//! Queries and their answers as DNS messages, without I/O.

use std::net::IpAddr;
use std::time::Duration;

use hickory_proto::op::{Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, Record, RecordType};

/// Limit of aliases to follow: longer chains are mistakes or attacks.
const MAX_ALIASES: usize = 16;
/// Longest time that an answer is cached, whatever its time to live (a day, as in BIND and unbound).
const MAX_TTL: Duration = Duration::from_secs(86_400);
/// Longest time that a negative answer is cached. RFC 2308, section 5, recommends at most one to three hours; a crawl returns to
/// a name soon or never, and a name that is new meanwhile should be found.
const MAX_NEGATIVE_TTL: Duration = Duration::from_secs(300);

/// The two families of addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Family {
    /// `A` records.
    V4,
    /// `AAAA` records.
    V6,
}

impl Family {
    /// Both families, the preferred one first (RFC 8305, section 3).
    pub const BOTH: [Self; 2] = [Self::V6, Self::V4];

    const fn record_type(self) -> RecordType {
        match self {
            Self::V4 => RecordType::A,
            Self::V6 => RecordType::AAAA,
        }
    }

    /// Index of the family in arrays.
    #[must_use]
    pub const fn index(self) -> usize {
        match self {
            Self::V4 => 0,
            Self::V6 => 1,
        }
    }
}

/// An answer of a name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// These addresses, possibly none, with their time to live.
    Addresses(Vec<IpAddr>, Duration),
    /// The name does not exist; with the time to live of this answer.
    NoSuchName(Duration),
    /// The server failed or refused.
    Failed,
}

/// Result of parsing a message of a name server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reading {
    /// Not an answer to this query: to be ignored.
    NotOurs,
    /// The answer did not fit: query again over TCP.
    Truncated,
    /// The answer.
    Answer(Answer),
}

/// Encodes a query for the addresses of a name.
pub(super) fn query(id: u16, name: &Name, family: Family) -> Option<Vec<u8>> {
    let mut message = Message::new(id, MessageType::Query, OpCode::Query);
    message.metadata.recursion_desired = true;
    message.add_query(Query::query(name.clone(), family.record_type()));
    message.to_vec().ok()
}

/// Parses an answer to [`query`].
pub(super) fn read(bytes: &[u8], id: u16, name: &Name, family: Family) -> Reading {
    // Rejects most messages that do not belong to this query.
    if bytes.get(..2) != Some(&id.to_be_bytes()) {
        return Reading::NotOurs;
    }
    let Ok(message) = Message::from_vec(bytes) else {
        return Reading::NotOurs;
    };
    let head = &message.metadata;
    let asked = |question: &Query| {
        question.query_type() == family.record_type()
            && question.query_class() == DNSClass::IN
            && question.name() == name
    };
    let ours = head.message_type == MessageType::Response
        && head.op_code == OpCode::Query
        && matches!(message.queries.as_slice(), [question] if asked(question));
    match head.response_code {
        _ if !ours => Reading::NotOurs,
        _ if head.truncation => Reading::Truncated,
        ResponseCode::NoError => Reading::Answer(addresses(&message, name, family)),
        ResponseCode::NXDomain => Reading::Answer(Answer::NoSuchName(kept_nothing(&message))),
        _ => Reading::Answer(Answer::Failed),
    }
}

/// The addresses at the end of the chain of aliases from `name`.
fn addresses(message: &Message, name: &Name, family: Family) -> Answer {
    let (mut name, mut least) = (name, u32::MAX);
    for _ in 0..=MAX_ALIASES {
        let mut found = Vec::new();
        let mut alias = None;
        let here = |record: &&Record| record.dns_class == DNSClass::IN && record.name == *name;
        for record in message.answers.iter().filter(here) {
            match (&record.data, family) {
                (RData::A(address), Family::V4) => found.push(IpAddr::V4(address.0)),
                (RData::AAAA(address), Family::V6) => found.push(IpAddr::V6(address.0)),
                (RData::CNAME(target), _) => alias = Some(&target.0),
                _ => continue,
            }
            least = least.min(record.ttl);
        }
        match alias {
            _ if !found.is_empty() => {
                return Answer::Addresses(found, MAX_TTL.min(Duration::from_secs(least.into())));
            }
            Some(target) => name = target,
            None => return Answer::Addresses(found, kept_nothing(message)),
        }
    }
    Answer::Failed
}

/// Time to live of an answer without addresses: from the zone's SOA record, or zero (RFC 2308, section 5).
fn kept_nothing(message: &Message) -> Duration {
    let authority = message
        .authorities
        .iter()
        .find_map(|record| match &record.data {
            RData::SOA(authority) => Some(record.ttl.min(authority.minimum)),
            _ => None,
        });
    MAX_NEGATIVE_TTL.min(Duration::from_secs(authority.unwrap_or(0).into()))
}

#[cfg(test)]
mod tests {
    use hickory_proto::rr::rdata::{A, AAAA, CNAME, SOA};
    use proptest::prelude::*;

    use super::*;

    const ID: u16 = 0x1234;

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn alias(from: &str, to: &str, ttl: u32) -> Record {
        Record::from_rdata(name(from), ttl, RData::CNAME(CNAME(name(to))))
    }

    fn v4(of: &str, ttl: u32) -> Record {
        Record::from_rdata(name(of), ttl, RData::A(A::new(192, 0, 2, 1)))
    }

    fn v6(of: &str) -> Record {
        Record::from_rdata(
            name(of),
            9,
            RData::AAAA(AAAA::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
        )
    }

    fn answer(records: Vec<Record>) -> Message {
        let mut message = Message::response(ID, OpCode::Query);
        message.add_query(Query::query(name("A.test."), RecordType::A));
        message.answers = records;
        message
    }

    fn reading(message: &Message) -> Reading {
        read(&message.to_vec().unwrap(), ID, &name("a.test."), Family::V4)
    }

    fn found(addresses: &[&str], seconds: u64) -> Reading {
        let addresses = addresses.iter().map(|text| text.parse().unwrap()).collect();
        Reading::Answer(Answer::Addresses(addresses, Duration::from_secs(seconds)))
    }

    #[test]
    fn chains_of_aliases_end_at_their_addresses() {
        let loops = vec![
            alias("a.test.", "b.test.", 9),
            alias("b.test.", "a.test.", 9),
        ];
        let long: Vec<Record> = (0..40)
            .map(|n| {
                alias(
                    &format!("{}.test.", if n == 0 { "a".into() } else { n.to_string() }),
                    &format!("{}.test.", n + 1),
                    9,
                )
            })
            .chain([v4("40.test.", 9)])
            .collect();
        let cases = [
            (vec![v4("a.test.", 60)], found(&["192.0.2.1"], 60)),
            (vec![v4("A.TEST.", 60)], found(&["192.0.2.1"], 60)),
            // Records out of order; the shortest time to live in the chain counts.
            (
                vec![
                    v4("c.test.", 60),
                    alias("b.test.", "c.test.", 7),
                    alias("a.test.", "b.test.", 90),
                ],
                found(&["192.0.2.1"], 7),
            ),
            // Addresses of other names, of the other family, and chains without an end.
            (vec![v4("other.test.", 60)], found(&[], 0)),
            (vec![v6("a.test.")], found(&[], 0)),
            (vec![alias("a.test.", "b.test.", 9)], found(&[], 0)),
            (vec![v4("a.test.", u32::MAX)], found(&["192.0.2.1"], 86_400)),
            (loops, Reading::Answer(Answer::Failed)),
            (long, Reading::Answer(Answer::Failed)),
        ];
        for (records, expected) in cases {
            assert_eq!(reading(&answer(records.clone())), expected, "{records:?}");
        }
    }

    #[test]
    fn what_does_not_answer_the_question_is_not_ours() {
        let good = answer(vec![v4("a.test.", 60)]);
        let changes: [fn(&mut Message); 6] = [
            |message| message.metadata.id = ID ^ 1,
            |message| message.metadata.message_type = MessageType::Query,
            |message| message.queries.clear(),
            |message| message.queries[0].name = Name::from_ascii("b.test.").unwrap(),
            |message| message.queries[0].query_type = RecordType::AAAA,
            |message| message.queries.push(message.queries[0].clone()),
        ];
        for (number, change) in changes.iter().enumerate() {
            let mut message = good.clone();
            change(&mut message);
            assert_eq!(reading(&message), Reading::NotOurs, "change {number}");
        }
    }

    #[test]
    fn refusals_are_distinguished() {
        let coded = |code, truncated| {
            let mut message = answer(Vec::new());
            message.metadata.response_code = code;
            message.metadata.truncation = truncated;
            let authority = SOA::new(name("m.test."), name("r.test."), 1, 1, 1, 1, 30);
            message.authorities.push(Record::from_rdata(
                name("test."),
                600,
                RData::SOA(authority),
            ));
            reading(&message)
        };
        let nothing = Duration::from_secs(30);
        assert_eq!(
            coded(ResponseCode::NXDomain, false),
            Reading::Answer(Answer::NoSuchName(nothing))
        );
        assert_eq!(coded(ResponseCode::NoError, false), found(&[], 30));
        assert_eq!(coded(ResponseCode::NoError, true), Reading::Truncated);
        for code in [
            ResponseCode::ServFail,
            ResponseCode::Refused,
            ResponseCode::FormErr,
        ] {
            assert_eq!(coded(code, false), Reading::Answer(Answer::Failed));
        }
    }

    #[test]
    fn a_name_that_points_to_itself_or_ahead_is_no_answer() {
        let mut head = answer(vec![v4("a.test.", 60)]).to_vec().unwrap();
        let start = query(ID, &name("a.test."), Family::V4).unwrap().len();
        head.truncate(start);
        // The name in the question has no pointer, and begins after the head of the message.
        for (target, is_answer) in [(12, true), (start, false), (start + 1, false), (400, false)] {
            let pointer = 0xc000 | u16::try_from(target).unwrap();
            let record = [0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 192, 0, 2, 1];
            let bytes = [&head[..], &pointer.to_be_bytes(), &record].concat();
            let reading = read(&bytes, ID, &name("a.test."), Family::V4);
            assert_eq!(reading != Reading::NotOurs, is_answer, "{target}");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_never_an_answer_and_never_a_crash(mut bytes in prop::collection::vec(any::<u8>(), 0..600)) {
            prop_assert_eq!(read(&bytes, ID, &name("a.test."), Family::V4) , Reading::NotOurs);
            let whole = answer(vec![v4("a.test.", 60)]).to_vec().unwrap();
            let take = bytes.len() % whole.len();
            bytes.splice(..0, whole[..take].iter().copied());
            read(&bytes, ID, &name("a.test."), Family::V4);
        }
    }
}
