//! Finds the requests in the bytes of a connection: HTTP/1.x, or HTTP/2 if the bytes begin with its preface.
//!
//! It also counts the flow-control windows that the client gives. It reads what clients may get wrong, so it refuses
//! nothing: bytes that are no request are no request.

use std::collections::HashMap;

/// Longest line that is looked at; the rest of a longer one is skipped.
const LONGEST_LINE: usize = 64 << 10;
/// The size of each flow-control window at first (RFC 9113, section 6.9.2).
const FIRST_WINDOW: i64 = 65_535;
const INITIAL_WINDOW_SIZE: u16 = 4;
/// What follows the first empty line of the preface of HTTP/2 (RFC 9113, section 3.4).
const REST_OF_PREFACE: usize = b"SM\r\n\r\n".len();
const FRAME_HEAD: usize = 9;

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;
/// `END_STREAM` of a request, `ACK` of settings and pings.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Where a head or a whole request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// Its stream, or 1 over HTTP/1.
    pub(crate) stream: u32,
    /// Bytes from the beginning of the connection.
    pub(crate) offset: u64,
}

/// The part of a message that the next byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Head,
    Content(u64),
    ChunkSize,
    Chunk(u64),
    ChunkEnd,
    Trailers,
    Preface(usize),
    FrameHead,
    Payload(u32),
}

/// The head of a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct FrameHead {
    length: u32,
    kind: u8,
    flags: u8,
    stream: u32,
}

/// Room that the client gives for content.
#[derive(Debug)]
struct Windows {
    connection: i64,
    /// Of a stream without updates and content.
    initial: i64,
    /// Updates of each stream, less its content.
    streams: HashMap<u32, i64>,
}

impl Windows {
    fn read_settings(&mut self, payload: &[u8]) {
        for pair in payload.chunks_exact(6) {
            if u16::from_be_bytes([pair[0], pair[1]]) == INITIAL_WINDOW_SIZE {
                let value = u32::from_be_bytes([pair[2], pair[3], pair[4], pair[5]]);
                self.initial = i64::from(value);
            }
        }
    }

    fn add(&mut self, stream: u32, bytes: i64) {
        if stream == 0 {
            self.connection += bytes;
        } else {
            *self.streams.entry(stream).or_default() += bytes;
        }
    }
}

/// The requests of a connection so far.
#[derive(Debug)]
pub(crate) struct Requests {
    state: State,
    /// The current line, or the head or payload of the current frame.
    line: Vec<u8>,
    /// Whether the request line has come.
    begun: bool,
    is_preface: bool,
    length: u64,
    is_chunked: bool,
    frame: FrameHead,
    /// Stream whose last frame of its head has not come, and whether the request ends with its head.
    open_head: Option<(u32, bool)>,
    newest_stream: u32,
    offset: u64,
    heads: Vec<End>,
    wholes: Vec<End>,
    windows: Windows,
    /// What a server must answer to frames, if it answers by itself.
    answers: Option<Vec<u8>>,
}

impl Requests {
    /// Creates a parser, which makes the answers to settings, pings and content over HTTP/2.
    pub(crate) fn new() -> Self {
        Self {
            state: State::Head,
            line: Vec::new(),
            begun: false,
            is_preface: false,
            length: 0,
            is_chunked: false,
            frame: FrameHead::default(),
            open_head: None,
            newest_stream: 0,
            offset: 0,
            heads: Vec::new(),
            wholes: Vec::new(),
            windows: Windows {
                connection: FIRST_WINDOW,
                initial: FIRST_WINDOW,
                streams: HashMap::new(),
            },
            answers: Some(Vec::new()),
        }
    }

    /// The ends of the heads, in the order of their arrival.
    pub(crate) fn heads(&self) -> &[End] {
        &self.heads
    }

    /// The ends of the whole requests, in the order of their arrival.
    pub(crate) fn wholes(&self) -> &[End] {
        &self.wholes
    }

    /// Bytes of content that the client's windows allow on a stream; negative if more were sent.
    pub(crate) fn window(&self, stream: u32) -> i64 {
        let Windows {
            connection,
            initial,
            streams,
        } = &self.windows;
        (*connection).min(initial + streams.get(&stream).unwrap_or(&0))
    }

    /// Takes content that is sent on a stream from the windows.
    pub(crate) fn use_window(&mut self, stream: u32, bytes: i64) {
        self.windows.add(0, -bytes);
        self.windows.add(stream, -bytes);
    }

    /// Bytes read so far.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves the answers that are due to `out`.
    pub(crate) fn take_answers(&mut self, out: &mut Vec<u8>) {
        if let Some(answers) = &mut self.answers {
            out.append(answers);
        }
    }

    /// Makes no answers from now on.
    pub(crate) fn stop_answering(&mut self) {
        self.answers = None;
    }

    /// Reads bytes.
    pub(crate) fn read(&mut self, mut bytes: &[u8]) {
        while let Some((&first, rest)) = bytes.split_first() {
            // Content is skipped at once, everything else byte by byte.
            let (State::Content(left) | State::Chunk(left)) = &mut self.state else {
                self.offset += 1;
                self.read_byte(first);
                bytes = rest;
                continue;
            };
            let count = bytes
                .len()
                .min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= count as u64;
            let is_over = *left == 0;
            self.offset += count as u64;
            bytes = &bytes[count..];
            match self.state {
                State::Content(_) if is_over => self.end_request(),
                State::Chunk(_) if is_over => self.state = State::ChunkEnd,
                _ => {}
            }
        }
    }

    fn read_byte(&mut self, byte: u8) {
        match self.state {
            State::Preface(1) => self.state = State::FrameHead,
            State::Preface(left) => self.state = State::Preface(left - 1),
            State::FrameHead => {
                self.line.push(byte);
                if self.line.len() == FRAME_HEAD {
                    self.begin_frame();
                }
            }
            State::Payload(left) => {
                let is_kept = matches!(self.frame.kind, PING | SETTINGS | WINDOW_UPDATE);
                if is_kept && self.line.len() < LONGEST_LINE {
                    self.line.push(byte);
                }
                if left == 1 {
                    self.end_frame();
                } else {
                    self.state = State::Payload(left - 1);
                }
            }
            _ if byte == b'\n' => {
                let mut line = std::mem::take(&mut self.line);
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                self.read_line(&line);
                line.clear();
                self.line = line;
            }
            _ if self.line.len() < LONGEST_LINE => self.line.push(byte),
            _ => {}
        }
    }

    fn read_line(&mut self, line: &[u8]) {
        match self.state {
            State::Head if !self.begun => {
                // Empty lines before a request are skipped (RFC 9112, section 2.2), and all lines that are no request line.
                self.begun = line.windows(6).any(|bytes| bytes == b" HTTP/");
                self.is_preface = line == b"PRI * HTTP/2.0" && self.heads.is_empty();
            }
            State::Head if !line.is_empty() => self.read_field(line),
            State::Head if self.is_preface => self.state = State::Preface(REST_OF_PREFACE),
            State::Head => {
                self.heads.push(self.end(1));
                self.state = match (self.is_chunked, self.length) {
                    (true, _) => State::ChunkSize,
                    (false, 0) => return self.end_request(),
                    (false, length) => State::Content(length),
                };
            }
            State::ChunkSize => {
                let digits = line.split(|byte| *byte == b';').next().unwrap_or_default();
                let size = std::str::from_utf8(digits.trim_ascii());
                let size = size.map(|digits| u64::from_str_radix(digits, 16));
                self.state = match size {
                    Ok(Ok(0)) => State::Trailers,
                    Ok(Ok(size)) => State::Chunk(size),
                    // Not a chunk: the next line may be one.
                    _ => State::ChunkSize,
                };
            }
            State::ChunkEnd => self.state = State::ChunkSize,
            State::Trailers if line.is_empty() => self.end_request(),
            _ => {}
        }
    }

    fn read_field(&mut self, line: &[u8]) {
        let mut parts = line.splitn(2, |byte| *byte == b':');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else {
            return;
        };
        let value = String::from_utf8_lossy(value.trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.length = value.parse().unwrap_or(0);
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.is_chunked = value.to_ascii_lowercase().ends_with("chunked");
        }
    }

    fn end(&self, stream: u32) -> End {
        End {
            stream,
            offset: self.offset,
        }
    }

    /// Ends a request over HTTP/1.
    fn end_request(&mut self) {
        self.wholes.push(self.end(1));
        self.state = State::Head;
        self.begun = false;
        self.length = 0;
        self.is_chunked = false;
    }

    fn begin_frame(&mut self) {
        let head = std::mem::take(&mut self.line);
        self.frame = FrameHead {
            length: u32::from_be_bytes([0, head[0], head[1], head[2]]),
            kind: head[3],
            flags: head[4],
            stream: u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]),
        };
        if self.frame.length == 0 {
            self.end_frame();
        } else {
            self.state = State::Payload(self.frame.length);
        }
    }

    fn end_frame(&mut self) {
        let payload = std::mem::take(&mut self.line);
        self.state = State::FrameHead;
        let FrameHead {
            kind,
            flags,
            stream,
            ..
        } = self.frame;
        self.answer(&payload);
        match (kind, payload.first_chunk()) {
            (SETTINGS, _) => self.windows.read_settings(&payload),
            (WINDOW_UPDATE, Some(increment)) => {
                let increment = u32::from_be_bytes(*increment);
                self.windows.add(stream, i64::from(increment));
            }
            _ => {}
        }
        let is_last = flags & END_STREAM != 0;
        match kind {
            HEADERS => {
                self.open_head = Some((stream, is_last));
                self.end_head(flags);
            }
            CONTINUATION => self.end_head(flags),
            DATA if is_last => self.wholes.push(self.end(stream)),
            _ => {}
        }
    }

    /// Ends the head of a stream if a frame was its last. The head of a known stream is its trailers.
    fn end_head(&mut self, flags: u8) {
        if flags & END_HEADERS == 0 {
            return;
        }
        let Some((stream, is_whole)) = self.open_head.take() else {
            return;
        };
        if stream > self.newest_stream {
            self.newest_stream = stream;
            self.heads.push(self.end(stream));
        }
        if is_whole {
            self.wholes.push(self.end(stream));
        }
    }

    /// Answers the current frame, and gives back the flow control that it used.
    fn answer(&mut self, payload: &[u8]) {
        let FrameHead {
            length,
            kind,
            flags,
            stream,
        } = self.frame;
        let Some(answers) = &mut self.answers else {
            return;
        };
        let is_acknowledgement = flags & END_STREAM != 0;
        match kind {
            SETTINGS if !is_acknowledgement => frame(answers, SETTINGS, 1, 0, &[], None),
            PING if !is_acknowledgement => frame(answers, PING, 1, 0, payload, None),
            DATA if length > 0 => {
                let increment = length.to_be_bytes();
                frame(answers, WINDOW_UPDATE, 0, 0, &increment, None);
                if flags & END_STREAM == 0 {
                    frame(answers, WINDOW_UPDATE, 0, stream, &increment, None);
                }
            }
            _ => {}
        }
    }
}

/// Adds a frame to `out`; its head claims `length`, or the right one.
pub(crate) fn frame(
    out: &mut Vec<u8>,
    kind: u8,
    flags: u8,
    stream: u32,
    payload: &[u8],
    length: Option<u32>,
) {
    let length = length.unwrap_or_else(|| u32::try_from(payload.len()).unwrap_or(u32::MAX));
    out.extend_from_slice(&length.to_be_bytes()[1..]);
    out.extend_from_slice(&[kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

    /// Heads and whole requests of HTTP/1, as the ends of both.
    const HTTP1: [(&[u8], &[u64], &[u64]); 9] = [
        (b"GET / HTTP/1.1\r\n\r\n", &[18], &[18]),
        (b"\r\nGET / HTTP/1.1\n\n", &[18], &[18]),
        (b"GET / HTTP/1.1\r\nHost: a\r\n", &[], &[]),
        (b"POST / HTTP/1.1\r\ncontent-LENGTH: 3\r\n\r\nabc", &[38], &[41]),
        (b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nab", &[38], &[]),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n0\r\nA: b\r\n\r\n",
            &[47],
            &[70],
        ),
        (
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n",
            &[47],
            &[],
        ),
        (b"GET / HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\n", &[18, 37], &[18, 37]),
        (b"\x16\x03\x01\x00\n\n\xff", &[], &[]),
    ];

    fn read(pieces: &[&[u8]]) -> (Vec<End>, Vec<End>, Vec<u8>) {
        let mut requests = Requests::new();
        for piece in pieces {
            requests.read(piece);
        }
        let mut answers = Vec::new();
        requests.take_answers(&mut answers);
        (requests.heads, requests.wholes, answers)
    }

    fn offsets(ends: &[End]) -> Vec<u64> {
        ends.iter().map(|end| end.offset).collect()
    }

    fn streams(ends: &[End]) -> Vec<u32> {
        ends.iter().map(|end| end.stream).collect()
    }

    #[test]
    fn requests_of_http1_end_with_their_content() {
        for (bytes, heads, wholes) in HTTP1 {
            let (seen_heads, seen_wholes, answers) = read(&[bytes]);
            let text = String::from_utf8_lossy(bytes);
            assert_eq!(offsets(&seen_heads), heads, "{text}");
            assert_eq!(offsets(&seen_wholes), wholes, "{text}");
            assert!(answers.is_empty());
        }
    }

    /// Three streams: one with a head in two frames, one with content, one with trailers; settings and a ping between.
    fn http2() -> Vec<u8> {
        let mut bytes = PREFACE.to_vec();
        frame(&mut bytes, SETTINGS, 0, 0, &[0, 3, 0, 0, 0, 9], None);
        frame(&mut bytes, HEADERS, END_STREAM, 1, b"head", None);
        frame(&mut bytes, CONTINUATION, END_HEADERS, 1, b"more", None);
        frame(&mut bytes, SETTINGS, 1, 0, b"", None);
        frame(&mut bytes, HEADERS, END_HEADERS, 3, b"head", None);
        frame(&mut bytes, PING, 0, 0, b"12345678", None);
        frame(&mut bytes, HEADERS, END_HEADERS, 5, b"head", None);
        frame(&mut bytes, DATA, 0, 3, b"abc", None);
        frame(&mut bytes, DATA, END_STREAM, 3, b"d", None);
        frame(
            &mut bytes,
            HEADERS,
            END_HEADERS | END_STREAM,
            5,
            b"trailers",
            None,
        );
        bytes
    }

    #[test]
    fn requests_of_http2_end_with_their_streams() {
        let (heads, wholes, answers) = read(&[&http2()]);
        assert_eq!(streams(&heads), [1, 3, 5]);
        assert_eq!(streams(&wholes), [1, 3, 5]);
        let mut expected = Vec::new();
        frame(&mut expected, SETTINGS, 1, 0, b"", None);
        frame(&mut expected, PING, 1, 0, b"12345678", None);
        frame(&mut expected, WINDOW_UPDATE, 0, 0, &[0, 0, 0, 3], None);
        frame(&mut expected, WINDOW_UPDATE, 0, 3, &[0, 0, 0, 3], None);
        frame(&mut expected, WINDOW_UPDATE, 0, 0, &[0, 0, 0, 1], None);
        assert_eq!(answers, expected);
    }

    #[test]
    fn windows_are_as_the_client_gives_them() {
        let mut requests = Requests::new();
        requests.read(PREFACE);
        assert_eq!(requests.window(1), 65_535);
        requests.use_window(1, 65_000);
        assert_eq!((requests.window(1), requests.window(3)), (535, 535));
        let mut bytes = Vec::new();
        frame(&mut bytes, WINDOW_UPDATE, 0, 0, &[0, 1, 0, 0], None);
        requests.read(&bytes);
        assert_eq!((requests.window(1), requests.window(3)), (535, 65_535));
        let mut bytes = Vec::new();
        frame(&mut bytes, SETTINGS, 0, 0, &[0, 4, 0, 0, 0, 9], None);
        frame(&mut bytes, WINDOW_UPDATE, 0, 1, &[0, 1, 0, 0], None);
        frame(&mut bytes, WINDOW_UPDATE, 0, 1, &[0, 1], None);
        requests.read(&bytes);
        assert_eq!((requests.window(1), requests.window(3)), (545, 9));
    }

    #[test]
    fn a_frame_may_lie_about_its_length() {
        let mut bytes = Vec::new();
        frame(&mut bytes, DATA, 0, 1, b"ab", Some(70_000));
        assert_eq!(bytes, b"\x01\x11\x70\x00\x00\x00\x00\x00\x01ab");
    }

    proptest! {
        #[test]
        fn any_cut_of_the_bytes_is_read_alike(which in 0..=HTTP1.len(), cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6)) {
            let bytes = HTTP1.get(which).map_or_else(http2, |case| case.0.to_vec());
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
            places.extend([0, bytes.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect();
            prop_assert_eq!(read(&pieces), read(&[&bytes]));
        }

        #[test]
        fn no_bytes_are_refused(bytes: Vec<u8>, is_http2: bool) {
            let first: &[u8] = if is_http2 { PREFACE } else { b"" };
            let mut requests = Requests::new();
            requests.read(first);
            requests.read(&bytes);
            prop_assert_eq!(requests.offset(), (first.len() + bytes.len()) as u64);
        }
    }
}
