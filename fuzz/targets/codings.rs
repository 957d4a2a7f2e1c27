//! Coded contents: any split decodes to the same bytes, and a bomb stops at the limit.
#![no_main]

use dyno_client::Failure;
use dyno_client::coding::{Decoding, PIECE_BYTES, Sink, TURN_BYTES};
use libfuzzer_sys::fuzz_target;

const MOST_BYTES: usize = 1 << 20;
const NAMES: [&str; 8] = [
    "gzip",
    "deflate",
    "br",
    "zstd",
    "gzip, br",
    "zstd, gzip",
    "x-gzip, deflate",
    "identity",
];

fuzz_target!(|input: (u8, u8, &[u8])| {
    let (name, stride, wire) = input;
    let name = NAMES[usize::from(name) % NAMES.len()];
    let whole = decoded(name, wire, wire.len().max(1));
    let cut = decoded(name, wire, usize::from(stride).max(1));
    // The first error may depend on the split; success may not. Exception: libzstd checks an empty frame against its claimed
    // length only if it has the whole frame at once.
    let (Ok(whole), Ok(cut)) = (&whole, &cut) else {
        assert!(
            name.contains("zstd") || whole.is_err() == cut.is_err(),
            "{name}"
        );
        return;
    };
    assert!(whole == cut, "{name}: {} {}", whole.len(), cut.len());
});

fn decoded(name: &str, wire: &[u8], stride: usize) -> Result<Vec<u8>, Failure> {
    let mut decoding = Decoding::new([name.as_bytes()].into_iter(), MOST_BYTES as u64)
        .expect("a coding that is offered");
    assert_eq!(decoding.is_identity(), name == "identity");
    let (mut room, mut bounded) = (vec![0; PIECE_BYTES], Bounded::default());
    for piece in wire.chunks(stride) {
        decoding.take(piece, &mut bounded)?;
        loop {
            let work = decoding.advance(&mut room, &mut bounded);
            assert!(bounded.content.len() <= MOST_BYTES + PIECE_BYTES);
            if work? < TURN_BYTES {
                break;
            }
        }
    }
    decoding.end()?;
    Ok(bounded.content)
}

#[derive(Default)]
struct Bounded {
    content: Vec<u8>,
}

impl Sink for Bounded {
    fn take(&mut self, piece: &[u8]) -> Result<(), Failure> {
        self.content.extend_from_slice(piece);
        if self.content.len() > MOST_BYTES {
            return Err(Failure::ContentTooLong);
        }
        Ok(())
    }
}
