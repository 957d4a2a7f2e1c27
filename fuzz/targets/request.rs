//! Request heads: whole, in any split, and parsed back after writing.
#![no_main]

use dyno_http::{Limits, Parse, Tolerance, request, target::Form, write};
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
    let whole = request::parse(bytes, &limits);

    let mut parser = request::Parser::new(limits);
    let mut arrived = Ok(Parse::Partial);
    for end in 0..=bytes.len() {
        let prefix = request::parse(&bytes[..end], &limits);
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
    assert_eq!(
        head.target.path_and_query().is_empty(),
        matches!(head.target.form(), Form::Authority | Form::Asterisk)
    );
    let _ = (
        head.authority(),
        head.target.path(),
        head.target.query(),
        head.keep_alive(),
    );

    let mut out = Vec::new();
    let mut writer = write::request(&mut out, head.method, head.target.as_str(), head.version)
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
    }) = request::parse(&out, &roomy)
    else {
        panic!("{}", out.escape_ascii())
    };
    assert_eq!(all, out.len());
    assert_eq!(
        (again.method, again.target, again.version, again.framing),
        (head.method, head.target, head.version, head.framing)
    );
    assert!(again.fields.iter().eq(head.fields.iter()));
    assert_eq!(again.fields.len(), again.fields.iter().count());
});
