//! Chunked bodies in the tolerant profile: any cut decodes the same, and well-formed bodies keep their content.
#![no_main]

use dyno_http::{
    Deviations, Error, Limits, Tolerance,
    body::{Decoder, Framing},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (choice, stride, wire) = input;
    let limits = |tolerance| Limits {
        chunk_line_bytes: if choice & 1 == 0 { 16 } else { 4096 },
        chunk_extension_bytes: 64,
        trailer_bytes: 64,
        fields: 8,
        tolerance,
        ..Limits::default()
    };
    let tolerant = limits(Tolerance::TOLERANT);
    let whole = decode(&tolerant, wire, wire.len().max(1));
    assert_eq!(whole, decode(&tolerant, wire, 1));
    assert_eq!(whole, decode(&tolerant, wire, usize::from(stride).max(1)));
    let strict = decode(&limits(Tolerance::HARMLESS), wire, wire.len().max(1));
    if strict.is_ok() {
        assert_eq!(whole, strict);
    }
});

/// Return content, bytes consumed, whether the body ended, its trailers, and its deviations.
fn decode(
    limits: &Limits,
    wire: &[u8],
    stride: usize,
) -> Result<(Vec<u8>, usize, bool, Vec<u8>, Deviations), Error> {
    let mut decoder = Decoder::new(Framing::Chunked, limits);
    let (mut content, mut at) = (Vec::new(), 0);
    for piece in wire.chunks(stride) {
        let end = at + piece.len();
        while at < end && !decoder.is_done() {
            let step = decoder.decode(&wire[at..end])?;
            assert!(step.consumed > 0 && step.consumed <= end - at);
            content.extend_from_slice(&wire[at..end][step.content]);
            at += step.consumed;
        }
    }
    let trailers = decoder.trailers();
    assert_eq!(trailers.len(), trailers.iter().count());
    let trailers = trailers.as_bytes().to_vec();
    Ok((
        content,
        at,
        decoder.is_done(),
        trailers,
        decoder.deviations(),
    ))
}
