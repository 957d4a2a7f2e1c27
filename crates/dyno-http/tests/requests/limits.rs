//! Limits of a head, successive heads, and texts of errors.

use dyno_http::{
    Limits, Parse, Problem,
    request::{self, Parser},
};

use crate::refused;

#[test]
fn limits_are_inclusive() {
    let bytes = b"GET /abcdef HTTP/1.1\r\nHost: a\r\nX: y\r\n\r\n";
    let exact = Limits {
        head_bytes: bytes.len(),
        target_bytes: 7,
        fields: 2,
        ..Limits::default()
    };
    assert!(matches!(
        request::parse(bytes, &exact),
        Ok(Parse::Complete { .. })
    ));

    let limit = bytes.len() - 1;
    let shorter = Limits {
        head_bytes: limit,
        ..exact
    };
    assert_eq!(
        refused(bytes, &shorter),
        (limit as u64, Problem::HeadTooLong { limit })
    );
    assert_eq!(
        refused(&bytes[..limit], &shorter),
        (limit as u64, Problem::HeadTooLong { limit })
    );
    assert_eq!(
        request::parse(&bytes[..limit - 1], &shorter),
        Ok(Parse::Partial)
    );

    let target = Limits {
        target_bytes: 6,
        ..exact
    };
    assert_eq!(
        refused(bytes, &target),
        (10, Problem::TargetTooLong { limit: 6 })
    );
    let fields = Limits { fields: 1, ..exact };
    assert_eq!(
        refused(bytes, &fields),
        (31, Problem::TooManyFields { limit: 1 })
    );
}

#[test]
fn a_parser_continues_with_the_next_head() {
    let mut parser = Parser::new(Limits::default());
    let wire = b"GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n";
    let (mut start, mut targets) = (0, Vec::new());
    for end in 1..=wire.len() {
        if let Parse::Complete { head, bytes } = parser.parse(&wire[start..end]).unwrap() {
            targets.push(head.target.as_str());
            assert_eq!(start + bytes, end, "complete at its last byte, not later");
            start = end;
        }
    }
    assert_eq!(targets, ["/1", "/2"]);
}

#[test]
fn errors_give_the_problem_and_its_offset() {
    let error =
        request::parse(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", &Limits::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "byte 20: white space between field name and colon"
    );
    assert_eq!(error.problem.status(), 400);
    assert_eq!(
        Problem::TooManyFields { limit: 3 }.to_string(),
        "more than 3 fields"
    );
    for (problem, status) in [
        (Problem::HeadTooLong { limit: 1 }, 431),
        (Problem::TargetTooLong { limit: 1 }, 414),
        (Problem::UnsupportedTransferCoding, 501),
        (Problem::UnsupportedVersion, 505),
    ] {
        assert_eq!(problem.status(), status);
    }
}
