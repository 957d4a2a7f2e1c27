//! Request heads: accepted ones and their values; refused ones with the problem and its offset.

mod framing;
mod heads;
mod limits;
mod targets;

use dyno_http::{Limits, Parse, Problem, RequestHead, request};

fn accepted(bytes: &[u8]) -> RequestHead<'_> {
    match request::parse(bytes, &Limits::default()) {
        Ok(Parse::Complete {
            head,
            bytes: length,
        }) => {
            assert_eq!(length, bytes.len(), "{}", bytes.escape_ascii());
            head
        }
        other => panic!("{}: {other:?}", bytes.escape_ascii()),
    }
}

fn refused(bytes: &[u8], limits: &Limits) -> (u64, Problem) {
    match request::parse(bytes, limits) {
        Err(error) => (error.offset, error.problem),
        other => panic!("{}: {other:?}", bytes.escape_ascii()),
    }
}
