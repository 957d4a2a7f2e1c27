//! Plays the script of a host on one connection, and keeps the transcript.

use std::future::{pending, poll_fn};
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use dyno_web::{Block, Scheme};
use rustls::ProtocolVersion;
use rustls::server::Acceptor;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{LazyConfigAcceptor, StartHandshake};

use super::certificate;
use super::requests::{Requests, frame};
use crate::connection_info::ConnectionInfo;
use crate::http::LINGER;
use crate::live::Shared;
use crate::message::Input;
use crate::scripts::{
    Accept, Before, CLOSED, ConnectionScript, PEER_CLOSED, PEER_RESET, RESET, ROOM_ENDED, Scripts,
    Step, Transcript, What,
};
use crate::timer::Timer;
use crate::wire::Wire;
use crate::worker::Worker;

/// Bytes of one read.
const READ: usize = 16 << 10;
/// Longest head whose `Host` is looked for.
const LONGEST_HEAD: usize = 16 << 10;

/// The scripted host of a connection: the owner of its address or, where all hosts share an address, the host that a
/// request without TLS names. The bytes read for that are in `input`.
pub(crate) async fn host_of(
    scripts: &Scripts,
    info: &ConnectionInfo,
    block: Option<Block>,
    wire: &mut Wire,
    input: &mut Input,
) -> Option<usize> {
    if !scripts.share_addresses() {
        return scripts.at(block);
    }
    if info.scheme == Scheme::Https {
        return None;
    }
    loop {
        if let Some(host) = named_host(input.bytes()) {
            return scripts.named(&host);
        }
        let bytes = input.bytes();
        let is_over = bytes
            .windows(3)
            .any(|it| it == b"\n\r\n" || it.starts_with(b"\n\n"));
        if is_over || bytes.len() > LONGEST_HEAD {
            return None;
        }
        // An end or an error is returned again by the next read.
        if !matches!(input.fill(wire).await, Ok(true)) {
            return None;
        }
    }
}

/// The host that the first bytes of a connection name in a whole line `Host`, in lower case, without a port.
fn named_host(bytes: &[u8]) -> Option<String> {
    let whole = &bytes[..=bytes.iter().rposition(|byte| *byte == b'\n')?];
    let fields = whole.split(|byte| *byte == b'\n').skip(1);
    let host = fields
        .take_while(|line| !line.trim_ascii().is_empty())
        .find(|line| line.len() > 5 && line[..5].eq_ignore_ascii_case(b"host:"))?;
    let host = std::str::from_utf8(host[5..].trim_ascii()).ok()?;
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    Some(name.to_ascii_lowercase())
}

/// Serves a connection of a host from its acceptance to its end; `input` has the bytes read so far.
pub(crate) async fn serve(
    scripts: Arc<Scripts>,
    host: usize,
    info: &ConnectionInfo,
    wire: Wire,
    input: Input,
) {
    let mut recording = Recording::new(&scripts, host, info);
    let script = &scripts.host(host).script;
    match script.accept {
        Accept::Serve => {}
        Accept::Reset => {
            wire.reset();
            return recording.end(RESET);
        }
        Accept::Stall => return recording.end_with_peer(&wire).await,
    }
    let line = if info.scheme == Scheme::Http || script.tls.raw {
        Line::Plain(wire)
    } else {
        let mut acceptor = LazyConfigAcceptor::new(Acceptor::default(), wire);
        let line = match (&mut acceptor).await {
            Ok(start) => shake_hands(start, &mut recording).await,
            Err(error) => {
                recording.fail(&error);
                None
            }
        };
        match line {
            Some(line) => line,
            None => return,
        }
    };
    Player::new(line, recording, input.bytes()).play().await;
}

/// Serves a connection whose hello named a host.
pub(crate) async fn serve_handshake(
    scripts: Arc<Scripts>,
    host: usize,
    info: &ConnectionInfo,
    start: StartHandshake<Wire>,
) {
    let mut recording = Recording::new(&scripts, host, info);
    if let Some(line) = shake_hands(start, &mut recording).await {
        Player::new(line, recording, &[]).play().await;
    }
}

/// Does the handshake of a host, or what its script wants in place of it; `None` if the connection is over.
async fn shake_hands(start: StartHandshake<Wire>, recording: &mut Recording) -> Option<Line> {
    let scripts = recording.scripts.clone();
    let host = scripts.host(recording.host);
    let name = start.client_hello().server_name().map(str::to_owned);
    recording.transcript.server_name = name;
    if let Some(before) = host.script.tls.before {
        recording.transcript.handshake = format!("failed: scripted {before:?}").to_lowercase();
        refuse(before, start.io, recording).await;
        return None;
    }
    let tls = &recording.worker.tls;
    let config = host.config.get_or_init(|| {
        let config = certificate::config(&host.script, tls);
        config.map_err(|error| error.to_string())
    });
    let config = match config {
        Ok(config) => config.clone(),
        Err(error) => {
            recording.transcript.handshake = format!("failed: {error}");
            recording.end(CLOSED);
            return None;
        }
    };
    match start.into_stream(config).into_fallible().await {
        Ok(stream) => {
            let session = stream.get_ref().1;
            let alpn = session.alpn_protocol();
            let transcript = &mut recording.transcript;
            transcript.alpn = alpn.map(|name| String::from_utf8_lossy(name).into_owned());
            transcript.tls_version = Some(match session.protocol_version() {
                Some(ProtocolVersion::TLSv1_2) => "1.2",
                _ => "1.3",
            });
            "ok".clone_into(&mut transcript.handshake);
            Some(Line::Tls(Box::new(stream)))
        }
        Err((error, mut wire)) => {
            recording.fail(&error);
            // The client must have time to read the alert: a close with unread bytes would reset the connection.
            drop(wire.shutdown().await);
            let timer = recording.worker.timer.clone();
            tokio::select! {
                _ = wire.until_peer_goes() => {}
                () = timer.until(Instant::now() + LINGER) => {}
            }
            None
        }
    }
}

/// Does what a script wants in place of a handshake.
async fn refuse(before: Before, mut wire: Wire, recording: &mut Recording) {
    match before {
        Before::Stall => return recording.end_with_peer(&wire).await,
        Before::Reset => {
            wire.reset();
            return recording.end(RESET);
        }
        Before::Close => {}
        Before::Alert(description) => {
            // A record with a fatal alert.
            drop(wire.write_all(&[21, 3, 3, 0, 2, 2, description]).await);
        }
    }
    drop(wire.shutdown().await);
    recording.end(CLOSED);
    drop(wire.until_peer_goes().await);
}

/// The alert that a client sent, by its name in the RFC, in snake case.
fn alert_of(error: &io::Error) -> Option<String> {
    let cause = error.get_ref()?.downcast_ref()?;
    let rustls::Error::AlertReceived(alert) = cause else {
        return None;
    };
    let name = format!("{alert:?}");
    Some(match name.as_str() {
        "UnrecognisedName" => "unrecognized_name".to_owned(),
        "EncryptedClientHelloRequired" => "ech_required".to_owned(),
        _ => snake_case(&name),
    })
}

fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let letters: Vec<char> = name.chars().collect();
    for (index, letter) in letters.iter().enumerate() {
        let begins_word = index > 0
            && letter.is_uppercase()
            && (letters[index - 1].is_lowercase()
                || letters
                    .get(index + 1)
                    .is_some_and(|next| next.is_lowercase()));
        if begins_word {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// The transcript of a connection, which is kept when it is dropped, even by the end of the room.
struct Recording {
    scripts: Arc<Scripts>,
    host: usize,
    worker: Rc<Worker>,
    transcript: Transcript,
}

impl Recording {
    fn new(scripts: &Arc<Scripts>, host: usize, info: &ConnectionInfo) -> Self {
        let name = scripts.host(host).script.name.clone();
        scripts.open.fetch_add(1, Ordering::Relaxed);
        Self {
            transcript: Transcript::new(name, info.scheme, now_us(&info.worker.shared)),
            scripts: scripts.clone(),
            host,
            worker: info.worker.clone(),
        }
    }

    fn now_us(&self) -> u64 {
        now_us(&self.worker.shared)
    }

    fn end(&mut self, end: &'static str) {
        let now = self.now_us();
        if self.transcript.end(now, end) {
            self.scripts.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Waits until the peer goes, and reads nothing.
    async fn end_with_peer(&mut self, wire: &Wire) {
        drop(wire.until_peer_goes().await);
        let is_reset = wire.is_received().is_err();
        self.end(if is_reset { PEER_RESET } else { PEER_CLOSED });
    }

    /// Notes why a handshake failed.
    fn fail(&mut self, error: &io::Error) {
        self.transcript.handshake = match (alert_of(error), error.kind()) {
            (Some(alert), _) => format!("alert:{alert}"),
            (None, kind) if is_close(kind) || is_reset(kind) => "closed".to_owned(),
            (None, _) => format!("failed: {error}"),
        };
        self.end_of(error);
    }

    /// Notes the end of a connection by an error: of its peer, unless the origin itself refuses what the peer sent.
    fn end_of(&mut self, error: &io::Error) {
        self.end(match error.kind() {
            kind if is_reset(kind) => PEER_RESET,
            kind if is_close(kind) || alert_of(error).is_some() => PEER_CLOSED,
            _ => CLOSED,
        });
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        self.end(ROOM_ENDED);
        let transcript = &self.transcript;
        let line = transcript.line();
        self.scripts.transcripts.keep(transcript.at_us, &line);
    }
}

/// Microseconds since the trial began.
fn now_us(shared: &Shared) -> u64 {
    shared.elapsed_ns(Instant::now()) / 1_000
}

fn is_close(kind: ErrorKind) -> bool {
    kind == ErrorKind::UnexpectedEof
}

fn is_reset(kind: ErrorKind) -> bool {
    use ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, NotConnected};
    matches!(
        kind,
        BrokenPipe | ConnectionAborted | ConnectionReset | NotConnected
    )
}

/// A connection with or without TLS.
enum Line {
    Plain(Wire),
    Tls(Box<TlsStream<Wire>>),
}

trait Io: AsyncRead + AsyncWrite + Unpin {}

impl<T: AsyncRead + AsyncWrite + Unpin> Io for T {}

impl Line {
    fn io(&mut self) -> Pin<&mut dyn Io> {
        match self {
            Self::Plain(wire) => Pin::new(wire),
            Self::Tls(stream) => Pin::new(stream),
        }
    }

    fn wire(&mut self) -> &mut Wire {
        match self {
            Self::Plain(wire) => wire,
            Self::Tls(stream) => stream.get_mut().0,
        }
    }
}

/// What a step waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// Everything is sent.
    Sent,
    /// The deadline.
    Moment,
    /// So many heads of requests have come.
    Heads(usize),
    /// So many whole requests have come.
    Requests(usize),
    /// So many bytes have come.
    Bytes(u64),
    /// The windows have room for so many bytes on a stream.
    Window(u32, u64),
    /// The peer has sent its last byte.
    End,
}

/// How a wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reached {
    Goal,
    Deadline,
    /// The goal is out of reach: the peer has sent its last byte, or the connection is lost.
    Nothing,
}

/// Heads, whole requests and bytes that steps have expected and got so far.
#[derive(Debug, Clone, Copy, Default)]
struct Expected {
    heads: usize,
    wholes: usize,
    /// From the beginning of the connection; those after a request follow its end.
    bytes: u64,
}

/// A connection that plays a script.
struct Player {
    line: Line,
    recording: Recording,
    timer: Rc<Timer>,
    requests: Requests,
    expected: Expected,
    /// Stream of the last request.
    last_stream: u32,
    /// The number of the current step, from 1.
    step: usize,
    /// Whether a step sends: automatic answers must not fall between its pieces.
    is_sending: bool,
    out: Vec<u8>,
    /// Bytes of `out` that are sent.
    sent: usize,
    /// Whether the peer has sent its last byte.
    has_ended: bool,
    buffer: Box<[u8]>,
}

impl Player {
    fn new(line: Line, recording: Recording, input: &[u8]) -> Self {
        let mut player = Self {
            line,
            timer: recording.worker.timer.clone(),
            recording,
            requests: Requests::new(),
            expected: Expected::default(),
            last_stream: 1,
            step: 0,
            // Until the script is known.
            is_sending: true,
            out: Vec::new(),
            sent: 0,
            has_ended: false,
            buffer: vec![0; READ].into(),
        };
        if !input.is_empty() {
            player.take_in(input);
        }
        player
    }

    /// Plays the script of the next connection of the host, once a byte has come.
    async fn play(mut self) {
        if self.until(Goal::Bytes(1), None).await != Reached::Goal {
            return;
        }
        let scripts = self.recording.scripts.clone();
        let (number, script) = scripts.host(self.recording.host).next_connection();
        self.recording.transcript.connection = number;
        if !script.is_some_and(|script| script.automatic) {
            self.requests.stop_answering();
        }
        self.is_sending = false;
        let mut goes_on = true;
        if let Some(script) = script {
            goes_on = self.play_steps(script).await;
            while goes_on && script.repeat && !self.has_ended {
                goes_on = self.play_steps(script).await;
            }
        }
        if goes_on {
            self.step = 0;
            self.until(Goal::End, None).await;
        }
    }

    /// Plays all steps; returns whether the connection goes on.
    async fn play_steps(&mut self, script: &ConnectionScript) -> bool {
        for (step, number) in script.steps.iter().zip(1..) {
            self.step = number;
            if !self.play_step(step).await {
                return false;
            }
        }
        true
    }

    async fn play_step(&mut self, step: &Step) -> bool {
        match step {
            Step::Expect {
                what,
                count,
                within_ms,
            } => {
                let deadline = within_ms.map(|ms| Instant::now() + Duration::from_millis(ms));
                self.expect(*what, count.unwrap_or(0), deadline).await
            }
            Step::Send {
                base64,
                piece,
                every_ms,
                times,
                forever,
            } => {
                let piece = piece.map_or(base64.0.len(), usize::from);
                let pieces = Pieces {
                    window: None,
                    piece,
                    every: Duration::from_millis(*every_ms),
                    times: if *forever {
                        u64::MAX
                    } else {
                        times.map_or(1, u64::from)
                    },
                    is_endless: *forever,
                };
                self.send(&base64.0, &pieces).await
            }
            Step::Frame {
                kind,
                flags,
                stream,
                payload,
                length,
                times,
                every_ms,
                forever,
                within_window,
            } => {
                let mut bytes = Vec::new();
                let stream = stream.number(self.last_stream);
                frame(&mut bytes, *kind, *flags, stream, &payload.0, *length);
                let window = within_window.then(|| (stream, payload.0.len() as u64));
                let pieces = Pieces {
                    window,
                    piece: bytes.len(),
                    every: Duration::from_millis(*every_ms),
                    times: if *forever {
                        u64::MAX
                    } else {
                        times.map_or(1, u64::from)
                    },
                    is_endless: *forever,
                };
                self.send(&bytes, &pieces).await
            }
            Step::Wait { ms } => {
                let end = Instant::now() + Duration::from_millis(*ms);
                self.until(Goal::Moment, Some(end)).await != Reached::Nothing
            }
            Step::Stall {} => {
                self.recording.end_with_peer(self.line.wire()).await;
                false
            }
            Step::Close {} => {
                self.shut_down().await;
                self.linger().await
            }
            Step::CloseWithoutNotify {} => {
                drop(self.line.wire().shutdown().await);
                self.linger().await
            }
            Step::HalfClose {} => {
                self.shut_down().await;
                true
            }
            Step::KeyUpdate {} => self.update_keys(),
            Step::Reset {} => {
                self.line.wire().reset();
                self.recording.end(RESET);
                false
            }
        }
    }

    /// Changes the keys of TLS; the message about it is sent with the next bytes. Returns whether the connection goes on:
    /// it does not if it has no TLS 1.3.
    fn update_keys(&mut self) -> bool {
        let has_new_keys = match &mut self.line {
            Line::Plain(_) => false,
            Line::Tls(stream) => stream.get_mut().1.refresh_traffic_keys().is_ok(),
        };
        if !has_new_keys {
            self.recording.end(CLOSED);
        }
        has_new_keys
    }

    /// Reads until something has come; returns whether the connection goes on.
    async fn expect(&mut self, what: What, count: u64, deadline: Option<Instant>) -> bool {
        let mut expected = self.expected;
        let goal = match what {
            What::Request => {
                expected.wholes += 1;
                expected.heads = expected.heads.max(expected.wholes);
                Goal::Requests(expected.wholes)
            }
            What::Head => {
                expected.heads += 1;
                Goal::Heads(expected.heads)
            }
            What::Bytes => {
                expected.bytes += count;
                Goal::Bytes(expected.bytes)
            }
            What::End => Goal::End,
        };
        match self.until(goal, deadline).await {
            Reached::Goal => {}
            Reached::Deadline => return true,
            Reached::Nothing => return false,
        }
        let end = match what {
            What::Request => self.requests.wholes().get(expected.wholes - 1),
            What::Head => self.requests.heads().get(expected.heads - 1),
            What::Bytes | What::End => None,
        };
        if let Some(end) = end {
            self.last_stream = end.stream;
            expected.bytes = expected.bytes.max(end.offset);
        }
        self.expected = expected;
        true
    }

    /// Sends bytes in pieces; returns whether the connection goes on.
    async fn send(&mut self, bytes: &[u8], pieces: &Pieces) -> bool {
        self.is_sending = true;
        let mut is_first = true;
        let mut left = if bytes.is_empty() { 0 } else { pieces.times };
        while left > 0 {
            for piece in bytes.chunks(pieces.piece) {
                if !is_first && !pieces.every.is_zero() {
                    let next = Instant::now() + pieces.every;
                    if self.until(Goal::Moment, Some(next)).await == Reached::Nothing {
                        return false;
                    }
                }
                if pieces.is_endless && self.has_ended {
                    return false;
                }
                is_first = false;
                if let Some((stream, bytes)) = pieces.window {
                    // Between frames, automatic answers may be sent.
                    self.is_sending = false;
                    let room = Goal::Window(stream, bytes);
                    if self.until(room, None).await == Reached::Nothing {
                        return false;
                    }
                    self.is_sending = true;
                    self.requests.use_window(stream, bytes.cast_signed());
                }
                self.out.extend_from_slice(piece);
                if self.until(Goal::Sent, None).await == Reached::Nothing {
                    return false;
                }
            }
            left -= 1;
        }
        self.is_sending = false;
        true
    }

    /// Sends `close_notify` over TLS, and the end of TCP.
    async fn shut_down(&mut self) {
        // A connection that is lost needs no end.
        drop(poll_fn(|context| self.line.io().poll_shutdown(context)).await);
    }

    /// Reads what still comes: a close with unread bytes would reset the connection.
    async fn linger(&mut self) -> bool {
        self.recording.end(CLOSED);
        self.is_sending = true;
        self.until(Goal::End, Some(Instant::now() + LINGER)).await;
        false
    }

    /// Reads and sends until a goal is reached.
    async fn until(&mut self, goal: Goal, deadline: Option<Instant>) -> Reached {
        let timer = self.timer.clone();
        let mut late = pin!(async {
            match deadline {
                Some(deadline) => timer.until(deadline).await,
                None => pending().await,
            }
        });
        poll_fn(|context| {
            loop {
                if !self.is_sending {
                    self.requests.take_answers(&mut self.out);
                }
                if self.has_reached(goal) && self.out.is_empty() {
                    return Poll::Ready(Reached::Goal);
                }
                if late.as_mut().poll(context).is_ready() {
                    return Poll::Ready(Reached::Deadline);
                }
                let is_out_of_reach = matches!(
                    goal,
                    Goal::Heads(_) | Goal::Requests(_) | Goal::Bytes(_) | Goal::Window(..)
                );
                if self.has_ended && is_out_of_reach && self.out.is_empty() {
                    return Poll::Ready(Reached::Nothing);
                }
                match self.move_bytes(context) {
                    Ok(true) => {}
                    Ok(false) => return Poll::Pending,
                    Err(error) => {
                        self.lose(&error);
                        return Poll::Ready(Reached::Nothing);
                    }
                }
            }
        })
        .await
    }

    fn has_reached(&self, goal: Goal) -> bool {
        match goal {
            // Before any goal is reached, everything is sent.
            Goal::Sent => true,
            Goal::Moment => false,
            Goal::Heads(count) => self.requests.heads().len() >= count,
            Goal::Requests(count) => self.requests.wholes().len() >= count,
            Goal::Bytes(count) => self.requests.offset() >= count,
            Goal::Window(stream, bytes) => self.requests.window(stream) >= bytes.cast_signed(),
            Goal::End => self.has_ended,
        }
    }

    /// Reads once and sends once; returns whether anything moved.
    fn move_bytes(&mut self, context: &mut Context<'_>) -> io::Result<bool> {
        let mut has_moved = false;
        if !self.has_ended {
            let mut buffer = std::mem::take(&mut self.buffer);
            let mut read = ReadBuf::new(&mut buffer);
            let polled = self.line.io().poll_read(context, &mut read);
            let count = read.filled().len();
            if let Poll::Ready(Ok(())) = polled {
                has_moved = true;
                if count == 0 {
                    self.has_ended = true;
                    self.recording.end(PEER_CLOSED);
                } else {
                    self.take_in(&buffer[..count]);
                }
            }
            self.buffer = buffer;
            if let Poll::Ready(Err(error)) = polled {
                return Err(error);
            }
        }
        if self.sent < self.out.len() {
            let rest = &self.out[self.sent..];
            if let Poll::Ready(count) = self.line.io().poll_write(context, rest) {
                has_moved = true;
                self.note_sent(count?);
            }
        } else if !self.out.is_empty()
            && let Poll::Ready(flushed) = self.line.io().poll_flush(context)
        {
            flushed?;
            has_moved = true;
            self.out.clear();
            self.sent = 0;
        }
        Ok(has_moved)
    }

    fn note_sent(&mut self, count: usize) {
        self.sent += count;
        let now = self.recording.now_us();
        let step = if self.is_sending { self.step } else { 0 };
        self.recording.transcript.sent(now, count, step);
    }

    fn take_in(&mut self, bytes: &[u8]) {
        let now = self.recording.now_us();
        self.recording.transcript.got(now, bytes);
        self.requests.read(bytes);
        self.recording.transcript.requests = self.requests.heads().len();
    }

    /// Notes that the connection is lost. Over TLS 1.3 a client may refuse a certificate after the handshake has ended for
    /// the server.
    fn lose(&mut self, error: &io::Error) {
        self.has_ended = true;
        if self.requests.offset() == 0
            && let Some(alert) = alert_of(error)
        {
            self.recording.transcript.handshake = format!("alert:{alert}");
        }
        self.recording.end_of(error);
    }
}

/// How bytes are sent.
struct Pieces {
    /// Stream and length of the content of each, if it waits for the windows of the client.
    window: Option<(u32, u64)>,
    piece: usize,
    every: Duration,
    times: u64,
    is_endless: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_have_the_names_of_the_rfc() {
        use rustls::AlertDescription as Alert;
        for (alert, expected) in [
            (Alert::UnknownCA, "unknown_ca"),
            (Alert::CertificateExpired, "certificate_expired"),
            (Alert::BadRecordMac, "bad_record_mac"),
            (Alert::NoApplicationProtocol, "no_application_protocol"),
            (Alert::UnknownPSKIdentity, "unknown_psk_identity"),
            (Alert::UnrecognisedName, "unrecognized_name"),
        ] {
            let error = io::Error::other(rustls::Error::AlertReceived(alert));
            assert_eq!(alert_of(&error).as_deref(), Some(expected));
        }
        assert_eq!(alert_of(&ErrorKind::UnexpectedEof.into()), None);
    }

    #[test]
    fn a_host_is_known_by_its_field() {
        for (bytes, expected) in [
            (
                &b"GET / HTTP/1.1\r\nA: b\r\nhOST: A.test:80\r\n"[..],
                Some("a.test"),
            ),
            (b"GET / HTTP/1.1\r\nHost: a.test", None),
            (b"GET / HTTP/1.1\r\n\r\nHost: a.test\r\n", None),
            (b"Host: a.test\r\n", None),
            (b"", None),
        ] {
            assert_eq!(named_host(bytes).as_deref(), expected);
        }
    }
}
