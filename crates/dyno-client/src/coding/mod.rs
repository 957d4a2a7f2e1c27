//! Decodes content codings, with a limit on the decoded length.

use brotlic::decode::{BrotliDecoder, DecoderInfo};
use flate2::{Decompress, FlushDecompress, Status};
use zstd::stream::raw::{Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::DParameter;

use crate::Failure;

/// Codings that requests accept: exactly those that can be decoded.
pub const ACCEPTED: &str = "gzip, deflate, br, zstd";

/// Codings that one answer may have on top of each other.
const MAX_STEPS: usize = 4;
/// Content that is decoded in one step: small enough to stay in the CPU's cache.
pub const PIECE_BYTES: usize = 64 << 10;
/// Work after which other tasks of the thread get a turn, in bytes read and written: about a millisecond.
pub const TURN_BYTES: usize = 1 << 20;
/// The window of 8 MiB that RFC 9659 allows zstd as a content coding.
const ZSTD_WINDOW_LOG: u32 = 23;
/// The largest window of deflate.
const DEFLATE_WINDOW_BITS: u8 = 15;

/// Destination of decoded content.
pub trait Sink {
    /// Takes a piece.
    ///
    /// # Errors
    ///
    /// An error of the sink.
    fn take(&mut self, piece: &[u8]) -> Result<(), Failure>;
}

/// The codings of one answer, in the order of decoding.
#[derive(Default)]
pub struct Decoding {
    steps: Vec<Step>,
    /// Whether the content is kept undecoded, because a coding is unknown or there are too many.
    keeps: bool,
    /// Limit on the bytes that each step produces. It includes bytes that the next step ignores because they follow
    /// its end.
    most: u64,
}

impl std::fmt::Debug for Decoding {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Decoding of {} steps", self.steps.len())
    }
}

struct Step {
    coder: Coder,
    /// Input bytes; the undecoded ones begin at `at`.
    input: Vec<u8>,
    used: usize,
    /// Whether the last piece was filled: then more may follow, even with no input left.
    filled: bool,
    stage: Stage,
    made: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    NotBegun,
    UnderWay,
    /// One member has ended; further bytes are garbage, unless they begin another member.
    Ended,
    /// Garbage followed the end: everything after it is ignored, however the pieces are divided.
    Over,
}

enum Coder {
    Gzip(Decompress),
    /// Deflate, with or without the zlib wrapper; the first two bytes decide.
    Deflate(Option<Decompress>, Vec<u8>),
    Brotli(BrotliDecoder),
    Zstd(Decoder<'static>),
}

/// Bytes that one decoding step consumed and produced.
struct Progress {
    used: usize,
    made: usize,
    ended: bool,
}

impl Decoding {
    /// Returns the decoding for the values of `Content-Encoding`, for content of at most `most` bytes.
    ///
    /// If a coding is unknown, or there are more than four, the content is kept undecoded.
    ///
    /// # Errors
    ///
    /// If there is no memory for a decoder.
    pub fn new<'v>(values: impl Iterator<Item = &'v [u8]>, most: u64) -> Result<Self, Failure> {
        let mut steps = Vec::new();
        for name in values.flat_map(|value| value.split(|byte| *byte == b',')) {
            let coder = match name.trim_ascii().to_ascii_lowercase().as_slice() {
                b"" | b"identity" => continue,
                b"gzip" | b"x-gzip" => Coder::Gzip(Decompress::new_gzip(DEFLATE_WINDOW_BITS)),
                b"deflate" => Coder::Deflate(None, Vec::new()),
                b"br" => Coder::Brotli(BrotliDecoder::new()),
                b"zstd" => Coder::zstd()?,
                _ => return Ok(Self::keeping()),
            };
            steps.push(Step {
                coder,
                input: Vec::new(),
                used: 0,
                filled: false,
                stage: Stage::NotBegun,
                made: 0,
            });
        }
        if steps.len() > MAX_STEPS {
            return Ok(Self::keeping());
        }
        // The header lists codings in the order they were applied.
        steps.reverse();
        // A coding makes content that cannot be compressed slightly longer.
        let most = most
            .saturating_add(most / 8)
            .saturating_add(PIECE_BYTES as u64);
        Ok(Self {
            steps,
            keeps: false,
            most,
        })
    }

    fn keeping() -> Self {
        Self {
            keeps: true,
            ..Self::default()
        }
    }

    /// Whether coded content is kept undecoded.
    #[must_use]
    pub const fn keeps(&self) -> bool {
        self.keeps
    }

    /// Whether there is nothing to decode.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.steps.is_empty()
    }

    /// Takes a received piece, which [`Decoding::advance`] decodes. Content without a coding goes straight to the
    /// sink.
    ///
    /// # Errors
    ///
    /// An error of the sink.
    pub fn take(&mut self, bytes: &[u8], sink: &mut impl Sink) -> Result<(), Failure> {
        match self.steps.first_mut() {
            Some(step) => {
                step.give(bytes);
                Ok(())
            }
            None => sink.take(bytes),
        }
    }

    /// Decodes received content for at most one turn, and passes the result to the sink; `room` has [`PIECE_BYTES`].
    /// Returns the work done, in bytes: less than [`TURN_BYTES`] means that nothing is left to decode.
    ///
    /// # Errors
    ///
    /// [`Failure::MalformedCoding`], [`Failure::ContentTooLong`], or an error of the sink.
    pub fn advance(&mut self, room: &mut [u8], sink: &mut impl Sink) -> Result<usize, Failure> {
        let mut work = 0;
        // The last step goes first, so none holds more than one piece of the step before it.
        while work < TURN_BYTES
            && let Some(place) = self.steps.iter().rposition(Step::has_work)
        {
            let step = &mut self.steps[place];
            let progress = step.advance(room)?;
            work += progress.used + progress.made;
            let (made, most) = (step.made, self.most);
            let piece = &room[..progress.made];
            match self.steps.get_mut(place + 1) {
                Some(next) => next.give(piece),
                None if piece.is_empty() => {}
                None => sink.take(piece)?,
            }
            if made > most {
                return Err(Failure::ContentTooLong);
            }
        }
        Ok(work)
    }

    /// Checks that the content is complete.
    ///
    /// # Errors
    ///
    /// [`Failure::MalformedCoding`] if a coding has not ended.
    pub fn end(&self) -> Result<(), Failure> {
        // Empty content decodes to empty content in every coding.
        if self.steps.iter().any(|step| step.stage == Stage::UnderWay) {
            Err(Failure::MalformedCoding)
        } else {
            Ok(())
        }
    }
}

impl Step {
    fn give(&mut self, bytes: &[u8]) {
        if self.used == self.input.len() {
            self.input.clear();
            self.used = 0;
        }
        self.input.extend_from_slice(bytes);
    }

    fn has_work(&self) -> bool {
        self.used < self.input.len() || self.filled
    }

    /// Decodes one piece into `room`.
    fn advance(&mut self, room: &mut [u8]) -> Result<Progress, Failure> {
        if !self.goes_on()? {
            let used = self.input.len() - self.used;
            (self.used, self.filled) = (self.input.len(), false);
            return Ok(Progress {
                used,
                made: 0,
                ended: true,
            });
        }
        let rest = &self.input[self.used..];
        if !rest.is_empty() {
            self.stage = Stage::UnderWay;
        }
        let progress = self.coder.decode(rest, room)?;
        self.used += progress.used;
        self.made += progress.made as u64;
        if progress.ended {
            self.stage = Stage::Ended;
        }
        self.filled = progress.made == room.len();
        let stands = progress.used == 0 && progress.made == 0 && !progress.ended;
        if stands && self.used < self.input.len() {
            return Err(Failure::MalformedCoding);
        }
        Ok(progress)
    }

    /// Whether the coding continues, or another member follows the one that ended; anything else is garbage.
    fn goes_on(&mut self) -> Result<bool, Failure> {
        match self.stage {
            Stage::NotBegun | Stage::UnderWay => return Ok(true),
            Stage::Over => return Ok(false),
            Stage::Ended => {}
        }
        match (&self.coder, self.input.get(self.used)) {
            (_, None) => return Ok(false),
            (Coder::Gzip(_), Some(0x1f)) => {
                self.coder = Coder::Gzip(Decompress::new_gzip(DEFLATE_WINDOW_BITS));
            }
            (Coder::Zstd(_), Some(0x28 | 0x50..=0x5f)) => self.coder = Coder::zstd()?,
            _ => {
                self.stage = Stage::Over;
                return Ok(false);
            }
        }
        Ok(true)
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
                    // A zlib header (RFC 1950, 2.2): method 8, and both bytes together a multiple of 31.
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
