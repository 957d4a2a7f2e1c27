//! Records of WARC 1.1 (ISO 28500:2017): writes them, and finds the whole records of a file that was cut short.

use std::fmt::{Display, Write as _};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};

use flate2::bufread::GzDecoder;
use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// First line of a record.
const VERSION: &str = "WARC/1.1\r\n";
/// Follows the block of a record.
const END: &[u8] = b"\r\n\r\n";
/// Longest head of a record that is read; those written here are shorter.
const MAX_HEAD_BYTES: u64 = 1 << 20;
/// Bytes that are read, or compressed, in one step.
const PIECE_BYTES: usize = 64 << 10;
/// Head of a member of gzip (RFC 1952, 2.3): deflate, no name, no time, unknown system.
const GZIP_HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Head of a record that is being written.
#[derive(Debug)]
pub struct Head(String);

impl Head {
    /// Begins the head of a record of this type.
    #[must_use]
    pub fn new(kind: &str) -> Self {
        Self(format!("{VERSION}WARC-Type: {kind}\r\n"))
    }

    /// Adds a field. The value has no control characters.
    pub fn field(&mut self, name: &str, value: impl Display) -> &mut Self {
        write!(self.0, "{name}: {value}\r\n").expect("a string takes all text");
        self
    }

    fn end(mut self, length: u64) -> String {
        self.field("Content-Length", length);
        self.0.push_str("\r\n");
        self.0
    }
}

/// Writes records, each as a member of gzip if they are compressed.
#[derive(Debug)]
pub struct Records<W> {
    /// Where the records go.
    pub out: W,
    gzip: Option<Gzip>,
    buffer: Box<[u8]>,
}

impl<W: Write> Records<W> {
    /// Writes records to `out`.
    pub fn new(out: W, is_compressed: bool) -> Self {
        Self {
            out,
            gzip: is_compressed.then(Gzip::new),
            buffer: vec![0; PIECE_BYTES].into(),
        }
    }

    /// Writes a record, whose block has `length` bytes.
    ///
    /// # Errors
    ///
    /// If the block cannot be read, has another length, or the record cannot be written.
    pub fn write(&mut self, head: Head, length: u64, block: impl Read) -> io::Result<()> {
        if let Some(gzip) = &mut self.gzip {
            gzip.begin(&mut self.out)?;
        }
        self.piece(head.end(length).as_bytes())?;
        let (mut block, mut rest) = (block.take(length), length);
        while rest > 0 {
            let mut buffer = std::mem::take(&mut self.buffer);
            let read = block.read(&mut buffer);
            let written = match read {
                Ok(0) => Err(ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    rest -= read as u64;
                    self.piece(&buffer[..read])
                }
                Err(error) => Err(error),
            };
            self.buffer = buffer;
            written?;
        }
        self.piece(END)?;
        match &mut self.gzip {
            Some(gzip) => gzip.end(&mut self.out),
            None => Ok(()),
        }
    }

    fn piece(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.gzip {
            Some(gzip) => gzip.take(bytes, &mut self.out),
            None => self.out.write_all(bytes),
        }
    }
}

/// Compressor of members; all use its memory, which a compressor for each would allocate anew.
#[derive(Debug)]
struct Gzip {
    deflate: Compress,
    crc: Crc,
    room: Box<[u8]>,
}

impl Gzip {
    fn new() -> Self {
        Self {
            deflate: Compress::new(Compression::default(), false),
            crc: Crc::new(),
            room: vec![0; PIECE_BYTES].into(),
        }
    }

    fn begin(&mut self, out: &mut impl Write) -> io::Result<()> {
        self.deflate.reset();
        self.crc.reset();
        out.write_all(&GZIP_HEAD)
    }

    fn take(&mut self, bytes: &[u8], out: &mut impl Write) -> io::Result<()> {
        self.crc.update(bytes);
        let mut rest = bytes;
        while !rest.is_empty() {
            let (read, _) = self.step(rest, FlushCompress::None, out)?;
            rest = &rest[read..];
        }
        Ok(())
    }

    fn end(&mut self, out: &mut impl Write) -> io::Result<()> {
        while self.step(&[], FlushCompress::Finish, out)?.1 != Status::StreamEnd {}
        out.write_all(&self.crc.sum().to_le_bytes())?;
        out.write_all(&self.crc.amount().to_le_bytes())
    }

    /// Compresses some bytes; returns how many.
    fn step(
        &mut self,
        bytes: &[u8],
        flush: FlushCompress,
        out: &mut impl Write,
    ) -> io::Result<(usize, Status)> {
        let before = (self.deflate.total_in(), self.deflate.total_out());
        let status = self.deflate.compress(bytes, &mut self.room, flush)?;
        let moved = |after: u64, before: u64| usize::try_from(after - before).unwrap_or(usize::MAX);
        out.write_all(&self.room[..moved(self.deflate.total_out(), before.1)])?;
        Ok((moved(self.deflate.total_in(), before.0), status))
    }
}

/// Reads a record, and passes its block to `take` in pieces. Returns its head; `None` if there is no whole record.
///
/// # Errors
///
/// An error of the input.
pub fn read(input: &mut impl BufRead, mut take: impl FnMut(&[u8])) -> io::Result<Option<String>> {
    let mut head = Vec::new();
    loop {
        let line = head.len();
        let room = MAX_HEAD_BYTES.saturating_sub(line as u64);
        input.by_ref().take(room).read_until(b'\n', &mut head)?;
        match &head[line..] {
            b"\r\n" => break,
            line if line.ends_with(b"\n") => {}
            _ => return Ok(None),
        }
    }
    let Some((head, mut rest)) = String::from_utf8(head).ok().and_then(|head| {
        let length = block_bytes(&head)?;
        Some((head, length))
    }) else {
        return Ok(None);
    };
    while rest > 0 {
        let bytes = input.fill_buf()?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let count = bytes.len().min(usize::try_from(rest).unwrap_or(usize::MAX));
        take(&bytes[..count]);
        input.consume(count);
        rest -= count as u64;
    }
    let mut end = Vec::new();
    input
        .by_ref()
        .take(END.len() as u64)
        .read_to_end(&mut end)?;
    Ok((end == END).then_some(head))
}

/// The length of a record's block, from its head.
fn block_bytes(head: &str) -> Option<u64> {
    let mut lines = head.strip_prefix(VERSION)?.split("\r\n");
    lines
        .find_map(|line| line.strip_prefix("Content-Length: "))?
        .parse()
        .ok()
}

/// Returns the length of all whole records at the start of a file, and their number.
///
/// # Errors
///
/// An error of the input; not if it is no record.
pub fn whole(input: impl BufRead, is_compressed: bool) -> io::Result<(u64, u64)> {
    let mut input = Counted { input, bytes: 0 };
    let (mut bytes, mut records) = (0, 0);
    loop {
        let found = if is_compressed {
            let mut member = BufReader::new(GzDecoder::new(&mut input));
            read(&mut member, |_| {}).and_then(|head| {
                // The checksum is compared at the end of the member.
                let is_end = member.read(&mut [0])? == 0;
                Ok(head.is_some() && is_end)
            })
        } else {
            read(&mut input, |_| {}).map(|head| head.is_some())
        };
        match found {
            Ok(true) => (bytes, records) = (input.bytes, records + 1),
            Ok(false) => return Ok((bytes, records)),
            Err(error) => {
                return match error.kind() {
                    ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData => {
                        Ok((bytes, records))
                    }
                    _ => Err(error),
                };
            }
        }
    }
}

/// An input that counts its consumed bytes.
struct Counted<R> {
    input: R,
    bytes: u64,
}

impl<R: BufRead> Read for Counted<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.fill_buf()?.read(room)?;
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for Counted<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.input.fill_buf()
    }

    fn consume(&mut self, count: usize) {
        self.bytes += count as u64;
        self.input.consume(count);
    }
}

/// The head of a request without credentials: archives are passed on.
pub(crate) fn without_credentials(request: &[u8]) -> Vec<u8> {
    const SECRET: [&str; 3] = ["authorization", "cookie", "proxy-authorization"];
    let lines = request.split_inclusive(|byte| *byte == b'\n');
    let is_public = |line: &&[u8]| {
        let name = line.split(|byte| *byte == b':').next().unwrap_or(line);
        !SECRET
            .iter()
            .any(|secret| name.eq_ignore_ascii_case(secret.as_bytes()))
    };
    lines.filter(is_public).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn credentials_are_removed_from_a_request() {
        let request =
            b"GET / HTTP/1.1\r\nHost: a.test\r\nAUTHORIZATION: Basic YTpi\r\nX-Cookie: kept\r\n\
            cookie: a=b\r\nProxy-Authorization: Basic YTpi\r\nAccept: */*\r\n\r\n";
        let public = b"GET / HTTP/1.1\r\nHost: a.test\r\nX-Cookie: kept\r\nAccept: */*\r\n\r\n";
        assert_eq!(without_credentials(request), public);
    }

    proptest! {
        #[test]
        fn records_are_read_back_and_a_cut_file_keeps_those_before_the_cut(
            blocks in vec((0_u8..4, "[ -~]{0,40}", vec(any::<u8>(), 0..3_000)), 0..6),
            is_compressed: bool,
            cut: prop::sample::Index,
        ) {
            let mut records = Records::new(Vec::new(), is_compressed);
            let mut ends = vec![0];
            for (kind, value, block) in &blocks {
                let mut head = Head::new(["warcinfo", "request", "response", "revisit"][usize::from(*kind)]);
                head.field("X-Value", value);
                records.write(head, block.len() as u64, &block[..]).unwrap();
                ends.push(records.out.len());
            }
            let file = records.out;
            prop_assert_eq!(whole(&file[..], is_compressed).unwrap(), (file.len() as u64, blocks.len() as u64));
            for (pair, (_, value, block)) in ends.windows(2).zip(&blocks) {
                let bytes = &file[pair[0]..pair[1]];
                let mut found = Vec::new();
                let head = if is_compressed {
                    read(&mut BufReader::new(GzDecoder::new(bytes)), |piece| found.extend_from_slice(piece))
                } else {
                    read(&mut &bytes[..], |piece| found.extend_from_slice(piece))
                };
                let line = format!("\r\nX-Value: {value}\r\n");
                prop_assert!(head.unwrap().unwrap().contains(&line));
                prop_assert_eq!(&found, block);
            }
            let cut = cut.index(file.len() + 1);
            let before = ends.iter().filter(|end| **end <= cut).max().unwrap();
            prop_assert_eq!(whole(&file[..cut], is_compressed).unwrap().0, *before as u64);
        }
    }

    #[test]
    fn a_block_that_ends_early_is_an_error() {
        let mut records = Records::new(Vec::new(), false);
        let error = records.write(Head::new("response"), 5, &b"1234"[..]);
        assert_eq!(error.unwrap_err().kind(), ErrorKind::UnexpectedEof);
    }

    #[test]
    fn other_files_have_no_whole_record() {
        let others: [&[u8]; 7] = [
            b"",
            b"text\n",
            b"WARC/1.0\r\nContent-Length: 0\r\n\r\n\r\n\r\n",
            b"WARC/1.1\r\n\r\n\r\n\r\n",
            b"WARC/1.1\r\nContent-Length: x\r\n\r\n\r\n\r\n",
            b"WARC/1.1\r\nContent-Length: 18446744073709551615\r\n\r\n\r\n\r\n",
            b"WARC/1.1\r\nContent-Length: 1\r\n\r\n\r\n\r\n",
        ];
        for bytes in others {
            for is_compressed in [false, true] {
                assert_eq!(whole(bytes, is_compressed).unwrap(), (0, 0), "{bytes:?}");
            }
        }
    }
}
