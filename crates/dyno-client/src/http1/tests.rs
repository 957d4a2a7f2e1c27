//! Exchanges on a connection whose bytes arrive in arbitrary pieces.

use proptest::prelude::*;
use tokio::io::AsyncWriteExt;

use super::*;

/// Records everything that it receives.
#[derive(Debug, Default, PartialEq, Eq, Clone)]
struct Taken {
    status: u16,
    server: Option<Vec<u8>>,
    content_length: Option<u64>,
    content: Vec<u8>,
}

impl Receive for Taken {
    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure> {
        self.status = head.status;
        self.server = head.field("server").map(<[u8]>::to_vec);
        assert_eq!(head.fields("SERVER").next(), self.server.as_deref());
        self.content_length = head.content_length;
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.content.extend_from_slice(bytes);
        Ok(())
    }
}

fn taken(status: u16, server: Option<&str>, length: Option<u64>, content: &str) -> Taken {
    Taken {
        status,
        server: server.map(|server| server.as_bytes().to_vec()),
        content_length: length,
        content: content.as_bytes().to_vec(),
    }
}

/// Returns the results of exchanges on one connection whose bytes arrive in pieces of these lengths.
fn exchanges(wire: &str, pieces: &[usize], heads: &[bool]) -> Vec<Result<(Taken, bool), Failure>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let serve = async {
            let (mut rest, mut pieces) = (wire.as_bytes(), pieces.iter().cycle());
            while !rest.is_empty() {
                let piece = *pieces.next().unwrap_or(&usize::MAX);
                let (now, later) = rest.split_at(piece.clamp(1, rest.len()));
                theirs.write_all(now).await.unwrap();
                tokio::task::yield_now().await;
                rest = later;
            }
            // The server sends no more bytes, but still accepts requests.
            theirs.shutdown().await.unwrap();
        };
        let ask = async {
            let mut connection = Connection::new(ours, Profile::Strict);
            let mut all = Vec::new();
            for is_head in heads {
                let mut taken = Taken::default();
                let request = Request::new(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), *is_head);
                let exchanged = connection.exchange(&request, &mut taken).await;
                all.push(exchanged.map(|exchanged| (taken, exchanged.reusable)));
            }
            all
        };
        tokio::join!(serve, ask).1
    })
}

const PLAIN: &str = "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 5\r\n\r\n";

proptest! {
    #[test]
    fn any_split_of_the_input_brings_the_same(
        pieces in proptest::collection::vec(1_usize..60, 1..8),
    ) {
        // One exchange at a time: the next answer begins in a separate piece, as it would after a request.
        let answers: [(String, bool, Taken, bool); 6] = [
            (format!("{PLAIN}hello"), false, taken(200, Some("a"), Some(5), "hello"), true),
            (format!("{PLAIN}world"), false, taken(200, Some("a"), Some(5), "world"), true),
            (PLAIN.to_owned(), true, taken(200, Some("a"), Some(5), ""), true),
            (
                format!("HTTP/1.1 103 Early Hints\r\nServer: b\r\n\r\n{PLAIN}again"),
                false,
                taken(200, Some("a"), Some(5), "again"),
                true,
            ),
            (
                "HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nno\r\n0\r\n\r\n"
                    .to_owned(),
                false,
                taken(404, None, None, "no"),
                true,
            ),
            ("HTTP/1.0 200 OK\r\n\r\nuntil the end".to_owned(), false,
                taken(200, None, None, "until the end"), false),
        ];
        for (wire, is_head, expected, reusable) in answers {
            let found = exchanges(&wire, &pieces, &[is_head]);
            // Whether the client notices that the server closes after its answer depends on the pieces.
            let found = found.into_iter().map(|one| one.map(|(taken, _)| taken)).collect::<Vec<_>>();
            prop_assert_eq!(found, [Ok(expected)], "{} {}", wire, reusable);
        }
    }
}

#[test]
fn a_repeated_head_means_the_same_and_a_different_one_does_not() {
    // Each answer is one piece, so the connection receives them one after another.
    let wire = [
        &format!("{PLAIN}hello")[..],
        &format!("{PLAIN}world"),
        "HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 7\r\n\r\nanother",
        &format!("{PLAIN}third"),
    ];
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (ours, mut theirs) = tokio::io::duplex(1 << 16);
        let mut connection = Connection::new(ours, Profile::Strict);
        let expected = [
            taken(200, Some("a"), Some(5), "hello"),
            taken(200, Some("a"), Some(5), "world"),
            taken(200, Some("a"), Some(7), "another"),
            taken(200, Some("a"), Some(5), "third"),
        ];
        for (answer, expected) in wire.iter().zip(expected) {
            theirs.write_all(answer.as_bytes()).await.unwrap();
            let request = Request::new(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), false);
            let mut found = Taken::default();
            let exchanged = connection.exchange(&request, &mut found).await.unwrap();
            assert_eq!(found, expected);
            assert!(exchanged.reusable);
        }
    });
}

#[test]
fn bytes_behind_an_answer_end_the_connection() {
    let found = exchanges(&format!("{PLAIN}helloHTTP"), &[1000], &[false]);
    assert_eq!(
        found,
        [Ok((taken(200, Some("a"), Some(5), "hello"), false))]
    );
}

#[test]
fn a_head_of_500_fields_is_read() {
    let fields = "X: a\r\n".repeat(500);
    let wire = format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 2\r\n\r\nok");
    let found = exchanges(&wire, &[], &[false]);
    assert_eq!(found, [Ok((taken(200, None, Some(2), "ok"), true))]);
}

/// An answer's content, its deviations, and whether the connection stays open.
type OddAnswer = (String, Vec<Deviation>, bool);

/// Returns the results of exchanges one after another on a tolerant connection.
fn odd_exchanges(answers: &[&str]) -> Vec<Result<OddAnswer, Failure>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let (ours, mut theirs) = tokio::io::duplex(1 << 20);
        let mut connection = Connection::new(ours, Profile::Tolerant);
        let mut all = Vec::new();
        for answer in answers {
            theirs.write_all(answer.as_bytes()).await.unwrap();
            let request = Request::new(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n".to_vec(), false);
            let mut taken = Taken::default();
            let exchanged = connection.exchange(&request, &mut taken).await;
            all.push(exchanged.map(|exchanged| {
                let content = String::from_utf8(taken.content).unwrap();
                let deviations = exchanged.deviations.iter().collect();
                (content, deviations, exchanged.reusable)
            }));
        }
        all
    })
}

#[test]
fn odd_answers_are_read_and_their_deviations_named() {
    const ODD: &str = "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello";
    let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;\r\nworld\n0\r\n\r\n";
    let plain = format!("{PLAIN}again");
    let interim = format!("HTTP/1.1 103 x\n\n{plain}");
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n";
    let found = odd_exchanges(&[ODD, &plain, ODD, chunked, &plain, &interim, both]);
    let is = |content: &str, deviations: &[Deviation], reusable| {
        Ok((content.to_owned(), deviations.to_vec(), reusable))
    };
    let lines = Deviation::LineFeedAlone;
    assert_eq!(
        found,
        [
            is("hello", &[lines], true),
            is("again", &[], true),
            is("hello", &[lines], true),
            is("world", &[lines, Deviation::ChunkExtension], true),
            is("again", &[], true),
            is("again", &[lines], true),
            is("ok", &[Deviation::LengthAndTransferEncoding], false),
        ]
    );
}

#[test]
fn more_than_32_interim_answers_are_refused_by_both_profiles() {
    let answers = |line_end: &str, count| {
        let interim = format!("HTTP/1.1 102 x{line_end}{line_end}").repeat(count);
        odd_exchanges(&[&format!("{interim}{PLAIN}hello")])
            .remove(0)
            .map(|(content, ..)| content)
    };
    for line_end in ["\r\n", "\n"] {
        assert_eq!(answers(line_end, 32), Ok("hello".to_owned()));
        assert_eq!(answers(line_end, 33), Err(Failure::InterimFlood));
    }
}
