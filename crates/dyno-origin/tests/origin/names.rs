//! Answers of the name servers.

use std::io::{Read, Write};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

use dyno_web::{Fault, Resolved};
use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};

use crate::stage::{PATIENCE, Stage, connect};

const HOSTS: &str = "[names]\nservfail_after_ms = 40\n\
    [[host]]\nname = 'both.test'\nipv6 = true\nname_delay_ms = 0\n\
    [[host]]\nname = 'four.test'\nipv6 = false\nname_delay_ms = 0\n\
    [[host]]\nname = 'slow.test'\nname_delay_ms = 50\nipv6 = true\n\
    [[host]]\nname = 'none.test'\nfault = 'nxdomain'\n\
    [[host]]\nname = 'broken.test'\nfault = 'servfail'\n";

fn query(name: &str, kind: RecordType) -> Message {
    let mut query = Message::new(4_711, MessageType::Query, OpCode::Query);
    query.metadata.recursion_desired = true;
    query.add_query(Query::query(Name::from_ascii(name).unwrap(), kind));
    query
}

fn ask(stage: &Stage, query: &Message) -> Message {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    socket.connect(stage.dns()).unwrap();
    socket.send(&query.to_vec().unwrap()).unwrap();
    let mut answer = [0; 2_048];
    let bytes = socket.recv(&mut answer).unwrap();
    let answer = Message::from_vec(&answer[..bytes]).unwrap();
    assert_eq!(
        (answer.metadata.id, answer.metadata.message_type),
        (query.metadata.id, MessageType::Response)
    );
    answer
}

#[test]
fn addresses_are_those_of_the_web() {
    let stage = Stage::new(HOSTS);
    let Resolved::Addresses { v4, v6: Some(v6) } = stage.web.resolve("both.test").resolved else {
        panic!("both.test has both")
    };
    let four = ask(&stage, &query("both.test.", RecordType::A));
    assert_eq!(
        four.answers
            .iter()
            .map(|record| record.data.clone())
            .collect::<Vec<_>>(),
        [RData::A(v4.into())]
    );
    assert!(
        four.metadata.authoritative
            && four.metadata.recursion_available
            && four.metadata.recursion_desired
    );
    let six = ask(&stage, &query("both.test.", RecordType::AAAA));
    assert_eq!(
        six.answers
            .iter()
            .map(|record| record.data.clone())
            .collect::<Vec<_>>(),
        [RData::AAAA(v6.into())]
    );
}

#[test]
fn names_that_have_a_fault_are_kept_with_it() {
    let stage = Stage::new(&format!(
        "{HOSTS}[[host]]\nname = 'silent.test'\nfault = 'stall_tls'\n"
    ));
    for name in ["both.test.", "none.test.", "SILENT.test.", "none.test."] {
        ask(&stage, &query(name, RecordType::A));
    }
    assert_eq!(
        stage.stop().faulty_names,
        [
            ("none.test".to_owned(), Fault::NxDomain),
            ("silent.test".to_owned(), Fault::StallTls)
        ]
        .into()
    );
}

#[test]
fn what_a_name_lacks_is_said_with_an_authority() {
    let stage = Stage::new(HOSTS);
    let cases = [
        ("four.test.", RecordType::AAAA, ResponseCode::NoError),
        ("both.test.", RecordType::MX, ResponseCode::NoError),
        ("both.test.", RecordType::HTTPS, ResponseCode::NoError),
        ("none.test.", RecordType::A, ResponseCode::NXDomain),
    ];
    for (name, kind, code) in cases {
        let answer = ask(&stage, &query(name, kind));
        assert_eq!(
            (answer.metadata.response_code, answer.answers.len()),
            (code, 0),
            "{name} {kind}"
        );
        assert!(
            matches!(answer.authorities[..], [ref record] if matches!(record.data, RData::SOA(_)))
        );
    }
}

#[test]
fn failures_and_delays_come_when_they_are_due() {
    let stage = Stage::new(HOSTS);
    let start = Instant::now();
    let failed = ask(&stage, &query("broken.test.", RecordType::A));
    assert_eq!(failed.metadata.response_code, ResponseCode::ServFail);
    assert!(start.elapsed() >= Duration::from_millis(40));
    let start = Instant::now();
    assert_eq!(
        ask(&stage, &query("slow.test.", RecordType::A))
            .answers
            .len(),
        1
    );
    assert!(start.elapsed() >= Duration::from_millis(50));
}

#[test]
fn the_case_of_a_name_and_its_extensions_come_back() {
    let stage = Stage::new(HOSTS);
    let mut mixed = query("BoTh.TeSt.", RecordType::A);
    let mut edns = Edns::new();
    edns.set_max_payload(4_096).set_dnssec_ok(true);
    mixed.set_edns(edns);
    let answer = ask(&stage, &mixed);
    assert!(answer.queries[0].name().eq_case(mixed.queries[0].name()));
    assert!(answer.answers[0].name.eq_case(mixed.queries[0].name()));
    let edns = answer.edns.unwrap();
    assert_eq!(
        (edns.max_payload(), edns.version(), edns.flags().dnssec_ok),
        (1_232, 0, true)
    );
    assert!(
        ask(&stage, &query("both.test.", RecordType::A))
            .edns
            .is_none()
    );
}

#[test]
fn what_is_not_understood_is_refused() {
    let stage = Stage::new(HOSTS);
    let mut update = query("both.test.", RecordType::A);
    update.metadata.op_code = OpCode::Notify;
    let mut chaos = query("version.bind.", RecordType::TXT);
    chaos.queries[0].set_query_class(DNSClass::CH);
    let mut newer = query("both.test.", RecordType::A);
    let mut edns = Edns::new();
    edns.set_version(1);
    newer.set_edns(edns);
    let mut two = query("both.test.", RecordType::A);
    two.add_query(Query::query(
        Name::from_ascii("four.test.").unwrap(),
        RecordType::A,
    ));
    let cases = [
        (update, ResponseCode::NotImp),
        (chaos, ResponseCode::Refused),
        (newer, ResponseCode::BADVERS),
        (two, ResponseCode::FormErr),
    ];
    for (query, code) in cases {
        let answered = ask(&stage, &query).metadata.response_code;
        // Compared by number, because 16 has two names.
        assert_eq!(u16::from(answered), u16::from(code));
    }
    assert_eq!(stage.stop().report.dns_queries, 0);
}

/// A query framed for TCP.
fn framed(name: &str) -> Vec<u8> {
    let bytes = query(name, RecordType::A).to_vec().unwrap();
    let length = u16::try_from(bytes.len()).unwrap();
    [&length.to_be_bytes()[..], &bytes].concat()
}

/// The name in the next answer of a connection.
fn next_name(stream: &mut impl Read) -> String {
    let mut length = [0; 2];
    stream.read_exact(&mut length).unwrap();
    let mut bytes = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut bytes).unwrap();
    let answer = Message::from_vec(&bytes).unwrap();
    assert_eq!(answer.answers.len(), 1);
    answer.queries[0].name().to_ascii()
}

/// The names in the order in which they are answered over one connection, when the first answer is delayed by the web.
fn answered(stage: &Stage) -> Vec<String> {
    let mut stream = connect(stage.dns());
    stream
        .write_all(&["slow.test.", "both.test."].map(framed).concat())
        .unwrap();
    [(); 2].map(|()| next_name(&mut stream)).to_vec()
}

#[test]
fn no_more_queries_of_a_connection_are_taken_than_may_wait_for_their_answers() {
    const QUERIES: usize = 2_000;
    // On the first connection, nothing is answered before the test ends.
    let hosts = HOSTS.replace("name_delay_ms = 50", "name_delay_ms = 3_600_000");
    let stage = Stage::new(&hosts);
    let mut stalled = connect(stage.dns());
    stalled
        .write_all(&framed("slow.test.").repeat(QUERIES))
        .unwrap();
    // Its thread alternates between that connection and this one.
    let mut answered = connect(stage.dns());
    let both = framed("both.test.");
    for _ in 0..QUERIES {
        answered.write_all(&both).unwrap();
        assert_eq!(next_name(&mut answered), "both.test.");
    }
    // Many concurrent queries are all answered.
    let mut reading = answered.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        for _ in 0..QUERIES {
            assert_eq!(next_name(&mut reading), "both.test.");
        }
    });
    answered.write_all(&both.repeat(QUERIES)).unwrap();
    reader.join().unwrap();
    let stalled_queries = stage.stop().report.dns_queries - 2 * QUERIES as u64;
    assert!(stalled_queries < 1_000, "{stalled_queries} of {QUERIES}");
}

#[test]
fn a_connection_carries_many_queries_each_answered_when_due() {
    // On a busy machine the fast answer may become due as late as the slow one; a server that answers in sequence
    // always reverses the order.
    let due = ["both.test.", "slow.test."];
    let (mut names, mut stage) = (Vec::new(), None);
    for delay_ms in [50, 2_000, 30_000] {
        let hosts = HOSTS.replace("name_delay_ms = 50", &format!("name_delay_ms = {delay_ms}"));
        let stage = stage.insert(Stage::new(&hosts));
        names = answered(stage);
        if names == due {
            break;
        }
    }
    assert_eq!(names, due);
    let stage = stage.unwrap();
    for _ in 0..2 {
        ask(&stage, &query("BOTH.test.", RecordType::A));
    }
    ask(&stage, &query("none.test.", RecordType::A));
    let report = stage.stop().report;
    assert_eq!((report.dns_queries, report.dns_repeated), (5, 2));
    assert_eq!(report.faults, [("nxdomain", 1)].into());
}
