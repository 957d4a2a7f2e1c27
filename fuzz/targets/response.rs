//! Response heads: whole, in any split, and parsed back after writing.
#![no_main]

use dyno_http::{Limits, Method, Parse, Tolerance, response, write};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (choice, bytes) = input;
    let tolerance = if choice & 1 == 0 {
        Tolerance::NONE
    } else {
        Tolerance::HARMLESS
    };
    let limits = Limits {
        head_bytes: if choice & 2 == 0 { 64 } else { 4096 },
        fields: 8,
        tolerance,
        ..Limits::default()
    };
    let whole = response::parse(bytes, &limits);

    let mut parser = response::Parser::new(limits);
    let mut arrived = Ok(Parse::Partial);
    for end in 0..=bytes.len() {
        let prefix = response::parse(&bytes[..end], &limits);
        assert!(prefix == Ok(Parse::Partial) || prefix == whole);
        if arrived == Ok(Parse::Partial) {
            arrived = parser.parse(&bytes[..end]);
        }
    }
    assert!(arrived == whole || (arrived == Ok(Parse::Partial) && whole.is_err()));

    let Ok(Parse::Complete {
        head,
        bytes: length,
    }) = whole
    else {
        return;
    };
    assert!(length <= bytes.len());
    let _ = (
        head.framing(Method::Get),
        head.framing(Method::Head),
        head.framing(Method::Connect),
        head.is_interim(),
    );

    let mut out = Vec::new();
    let mut writer = write::response_with_reason(&mut out, head.version, head.status, head.reason)
        .expect("it was read");
    for field in head.fields.iter() {
        writer = writer.field(field.name, field.value).expect("it was read");
    }
    writer.end();
    let roomy = Limits {
        head_bytes: usize::MAX,
        ..limits
    };
    let Ok(Parse::Complete {
        head: again,
        bytes: all,
    }) = response::parse(&out, &roomy)
    else {
        panic!("{}", out.escape_ascii())
    };
    assert_eq!(all, out.len());
    assert_eq!(
        (again.version, again.status, again.reason),
        (head.version, head.status, head.reason)
    );
    assert_eq!(again.framing(Method::Get), head.framing(Method::Get));
    assert!(again.fields.iter().eq(head.fields.iter()));
});
