//! Response heads in the tolerant profile: any cut parses the same, and well-formed heads keep their meaning.
#![no_main]

use dyno_http::{Limits, Mender, Method, Parse, Problem, Tolerance, response};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, bytes) = input;
    let limits = Limits {
        head_bytes: if choice & 1 == 0 { 64 } else { 4096 },
        fields: 8,
        tolerance: Tolerance::TOLERANT,
        ..Limits::default()
    };
    let (mut mender, mut part) = (Mender::default(), Mender::default());
    let whole = mender.mend(bytes, &limits);
    for end in 0..bytes.len() {
        let prefix = part.mend(&bytes[..end], &limits);
        assert!(prefix == Ok(Parse::Partial) || prefix == whole);
    }
    if let Ok(Parse::Complete {
        head,
        bytes: length,
    }) = whole
    {
        assert!(length <= bytes.len());
        assert_eq!(head.head.fields.len(), head.head.fields.iter().count());
    }
    // What the strict parser accepts has the same meaning.
    if let Ok(Parse::Complete {
        head,
        bytes: length,
    }) = response::parse(bytes, &limits)
    {
        let Ok(Parse::Complete {
            head: mended,
            bytes: found,
        }) = whole
        else {
            // A line longer than the strict parser counts cannot occur; a limit may.
            assert!(matches!(
                whole.map_err(|error| error.problem),
                Err(Problem::TooManyFields { .. })
            ));
            return;
        };
        assert_eq!(
            (found, mended.head.status, mended.head.reason),
            (length, head.status, head.reason)
        );
        assert_eq!(mended.head.framing(Method::Get), head.framing(Method::Get));
        assert!(mended.deviations.is_empty());
    }
});
