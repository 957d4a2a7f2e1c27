//! Bodies: any split gives the same content, and never more than was given.
#![no_main]

use dyno_http::{
    Error, Limits, Tolerance,
    body::{Decoder, Framing},
};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, u8, u64, &[u8])| {
    let (choice, stride, length, wire) = input;
    let framing = match choice % 8 {
        0 => Framing::Length(length % 64),
        1 => Framing::Length(length),
        2 => Framing::UntilClose,
        3 => Framing::None,
        _ => Framing::Chunked,
    };
    let tolerance = if choice & 8 == 0 {
        Tolerance::NONE
    } else {
        Tolerance::HARMLESS
    };
    let tight = Limits {
        chunk_line_bytes: 16,
        chunk_extension_bytes: 24,
        trailer_bytes: 32,
        fields: 3,
        tolerance,
        ..Limits::default()
    };
    let limits = if choice & 16 == 0 {
        tight
    } else {
        Limits {
            tolerance,
            ..Limits::default()
        }
    };

    let whole = decode(framing, &limits, wire, wire.len().max(1));
    assert_eq!(whole, decode(framing, &limits, wire, 1));
    assert_eq!(
        whole,
        decode(framing, &limits, wire, usize::from(stride).max(1))
    );
    let drained = Decoder::new(framing, &limits)
        .drain(wire)
        .map(|drained| (drained.content_bytes, drained.consumed, drained.done));
    assert_eq!(
        drained,
        whole.map(|(content, consumed, done, _)| (content.len() as u64, consumed, done))
    );
});

/// Return content, bytes consumed, whether the body ended, and its trailers.
fn decode(
    framing: Framing,
    limits: &Limits,
    wire: &[u8],
    stride: usize,
) -> Result<(Vec<u8>, usize, bool, Vec<u8>), Error> {
    let mut decoder = Decoder::new(framing, limits);
    let (mut content, mut at) = (Vec::new(), 0);
    for piece in wire.chunks(stride) {
        let end = at + piece.len();
        while at < end && !decoder.is_done() {
            let step = decoder.decode(&wire[at..end])?;
            assert!(
                step.consumed > 0 && step.consumed <= end - at && step.content.end <= step.consumed
            );
            content.extend_from_slice(&wire[at..end][step.content]);
            at += step.consumed;
        }
    }
    let trailers = decoder.trailers();
    assert_eq!(trailers.len(), trailers.iter().count());
    Ok((content, at, decoder.is_done(), trailers.as_bytes().to_vec()))
}
