//! Content codings taken off, with a bound on what comes out.

use brotlic::decode::{BrotliDecoder, DecoderInfo};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::DParameter;

use crate::transport::Failure;

/// What is offered: all that is decoded, and nothing else.
pub const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Codings that one answer may have, one over the other.
const MOST_STEPS: usize = 4;
/// Content that is decoded at a time: small enough to stay in a processor's cache.
const PIECE_BYTES: usize = 64 << 10;
/// The window of 8 MiB that RFC 9659 allows zstd as a content coding.
const ZSTD_WINDOW_LOG: u32 = 23;
/// The largest window of deflate.
const DEFLATE_WINDOW_BITS: u8 = 15;

/// Where decoded content goes.
pub trait Sink {
    /// Takes a piece.
    ///
    /// # Errors
    ///
    /// The sink's own.
    fn take(&mut self, piece: &[u8]) -> Result<(), Failure>;
}

/// Room to decode into, shared by all answers of a thread: an answer holds it only while a piece is taken.
#[derive(Debug, Default)]
pub struct DecodingBuffers {
    pieces: Vec<Box<[u8]>>,
}

/// The codings of one answer, in the order they are taken off.
#[derive(Default)]
pub struct Decoding {
    steps: Vec<Step>,
    /// Bytes that each step may make: what one makes behind the end of the next is nobody's content, and has a bound, too.
    most: u64,
}

impl std::fmt::Debug for Decoding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Decoding of {} steps", self.steps.len())
    }
}

struct Step {
    coder: Coder,
    begun: bool,
    /// The coding has ended: what follows is garbage, unless it begins another member.
    ended: bool,
    /// Garbage came: all that follows is, too, wherever the next piece happens to begin.
    over: bool,
    made: u64,
}

enum Coder {
    Gzip(Decompress),
    /// Deflate, with or without the wrapper of zlib: which it is, its first two bytes say.
    Deflate(Option<Decompress>, Vec<u8>),
    Brotli(BrotliDecoder),
    Zstd(Decoder<'static>),
}

/// What one step of a coder came to.
struct Progress {
    used: usize,
    made: usize,
    ended: bool,
}

impl Decoding {
    /// The codings that the values of `Content-Encoding` name, of a content of `most` bytes.
    ///
    /// # Errors
    ///
    /// [`Failure::UnknownCoding`].
    pub fn new<'v>(values: impl Iterator<Item = &'v [u8]>, most: u64) -> Result<Self, Failure> {
        let mut steps = Vec::new();
        for name in values.flat_map(|value| value.split(|byte| *byte == b',')) {
            let coder = match name.trim_ascii().to_ascii_lowercase().as_slice() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Coder::Gzip(Decompress::new_gzip(DEFLATE_WINDOW_BITS)),
                b"deflate" => Coder::Deflate(None, Vec::new()),
                b"br" => Coder::Brotli(BrotliDecoder::new()),
                b"zstd" => Coder::zstd()?,
                _ => return Err(Failure::UnknownCoding),
            };
            steps.push(Step {
                coder,
                begun: false,
                ended: false,
                over: false,
                made: 0,
            });
        }
        if steps.len() > MOST_STEPS {
            return Err(Failure::UnknownCoding);
        }
        // They are named in the order they were put on.
        steps.reverse();
        // A coding over another one makes a little more than the content, where that cannot be made smaller.
        let most = most
            .saturating_add(most / 8)
            .saturating_add(PIECE_BYTES as u64);
        Ok(Self { steps, most })
    }

    /// Whether content comes as it is.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.steps.is_empty()
    }

    /// Decodes a piece off the wire, and hands on what comes of it.
    ///
    /// # Errors
    ///
    /// [`Failure::MalformedCoding`], [`Failure::ContentTooLong`], or the sink's.
    pub fn take(
        &mut self,
        bytes: &[u8],
        room: &mut DecodingBuffers,
        sink: &mut impl Sink,
    ) -> Result<(), Failure> {
        while room.pieces.len() < self.steps.len() {
            room.pieces.push(vec![0; PIECE_BYTES].into());
        }
        run(&mut self.steps, &mut room.pieces, bytes, self.most, sink)
    }

    /// The content has ended.
    ///
    /// # Errors
    ///
    /// [`Failure::MalformedCoding`] where a coding has not.
    pub fn end(&self) -> Result<(), Failure> {
        // Nothing at all is no content, whatever coding it is said to have.
        if self.steps.iter().all(|step| step.ended || !step.begun) {
            Ok(())
        } else {
            Err(Failure::MalformedCoding)
        }
    }
}

fn run(
    steps: &mut [Step],
    room: &mut [Box<[u8]>],
    bytes: &[u8],
    most: u64,
    sink: &mut impl Sink,
) -> Result<(), Failure> {
    let (Some((step, steps)), Some((piece, room))) =
        (steps.split_first_mut(), room.split_first_mut())
    else {
        return sink.take(bytes);
    };
    let mut rest = bytes;
    loop {
        if step.ended && !step.begins_again(rest)? {
            return Ok(());
        }
        step.begun |= !rest.is_empty();
        let progress = step.coder.decode(rest, piece)?;
        rest = &rest[progress.used..];
        step.ended = progress.ended;
        if progress.made > 0 {
            run(steps, room, &piece[..progress.made], most, sink)?;
            step.made += progress.made as u64;
            if step.made > most {
                return Err(Failure::ContentTooLong);
            }
        }
        // A piece that was filled may have more behind it, even with no input left.
        if rest.is_empty() && progress.made < piece.len() {
            return Ok(());
        }
        if progress.used == 0 && progress.made == 0 && !progress.ended {
            return Err(Failure::MalformedCoding);
        }
    }
}

impl Step {
    /// Whether another member begins behind the one that has ended; all else there is garbage.
    fn begins_again(&mut self, rest: &[u8]) -> Result<bool, Failure> {
        let begins = match (&self.coder, rest.first()) {
            _ if self.over => false,
            (Coder::Gzip(_), Some(0x1f)) => {
                self.coder = Coder::Gzip(Decompress::new_gzip(DEFLATE_WINDOW_BITS));
                true
            }
            (Coder::Zstd(_), Some(0x28 | 0x50..=0x5f)) => {
                self.coder = Coder::zstd()?;
                true
            }
            _ => false,
        };
        self.over |= !begins && !rest.is_empty();
        self.ended = !begins;
        Ok(begins)
    }
}

impl Coder {
    fn zstd() -> Result<Self, Failure> {
        let mut decoder = Decoder::new().map_err(|_| Failure::MalformedCoding)?;
        let window = decoder.set_parameter(DParameter::WindowLogMax(ZSTD_WINDOW_LOG));
        window.map_err(|_| Failure::MalformedCoding)?;
        Ok(Self::Zstd(decoder))
    }

    fn decode(&mut self, bytes: &[u8], piece: &mut [u8]) -> Result<Progress, Failure> {
        match self {
            Self::Gzip(stream) | Self::Deflate(Some(stream), _) => inflate(stream, bytes, piece),
            Self::Deflate(stream, start) => {
                let taken = bytes.len().min(2 - start.len());
                start.extend_from_slice(&bytes[..taken]);
                if let [first, second] = start[..] {
                    // RFC 1950, 2.2: method 8, and a check that makes both a multiple of 31.
                    let wrapped =
                        first & 15 == 8 && u16::from_be_bytes([first, second]).is_multiple_of(31);
                    let stream = stream.insert(Decompress::new(wrapped));
                    let begun = inflate(stream, start, piece)?;
                    return Ok(Progress {
                        used: taken,
                        ..begun
                    });
                }
                Ok(Progress {
                    used: taken,
                    made: 0,
                    ended: false,
                })
            }
            Self::Brotli(decoder) => {
                let step = decoder.decompress(bytes, piece);
                let step = step.map_err(|_| Failure::MalformedCoding)?;
                Ok(Progress {
                    used: step.bytes_read,
                    made: step.bytes_written,
                    ended: step.info == DecoderInfo::Finished,
                })
            }
            Self::Zstd(decoder) => {
                let (mut input, mut output) = (InBuffer::around(bytes), OutBuffer::around(piece));
                let left = decoder
                    .run(&mut input, &mut output)
                    .map_err(|_| Failure::MalformedCoding)?;
                Ok(Progress {
                    used: input.pos(),
                    made: output.pos(),
                    ended: left == 0,
                })
            }
        }
    }
}

fn inflate(stream: &mut Decompress, bytes: &[u8], piece: &mut [u8]) -> Result<Progress, Failure> {
    let (used, made) = (stream.total_in(), stream.total_out());
    let status = stream.decompress(bytes, piece, FlushDecompress::None);
    let ended = match status {
        Ok(Status::StreamEnd) => true,
        Ok(Status::Ok | Status::BufError) => false,
        Err(_) => return Err(Failure::MalformedCoding),
    };
    let since = |now: u64, before: u64| usize::try_from(now - before).unwrap_or(usize::MAX);
    Ok(Progress {
        used: since(stream.total_in(), used),
        made: since(stream.total_out(), made),
        ended,
    })
}

#[cfg(test)]
mod tests;
