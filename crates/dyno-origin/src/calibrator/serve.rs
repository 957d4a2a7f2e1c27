//! Serves the requests of a connection one after another: reads, waits until the answer is due, sends it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dyno_http::request::Parser;
use dyno_http::{Limits, Method, Parse, Version, body, write};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::behaviour::{Behaviour, Plan};
use super::record::{Distribution, Record, Times};
use crate::live::nanos;
use crate::message::Input;
use crate::timer::Timer;

/// Content of every answer.
const CONTENT: &[u8] = b"Hello, World!";

/// The connection has ended or is unusable.
struct Gone;

/// State that the connections of a calibrator share.
#[derive(Debug)]
pub(super) struct Calibrated {
    timer: Rc<Timer>,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    plan: Plan,
    first_arrival: Option<Instant>,
    requests: u64,
    given_up: u64,
    connections: u64,
    arrived_in_stall: u64,
    last_answer_ns: u64,
    service: Times,
    planned: Times,
    lateness: Times,
}

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct Due {
    arrived: Instant,
    at: Instant,
}

impl Calibrated {
    pub(super) fn new(behaviour: &Behaviour, timer: Rc<Timer>) -> Self {
        let state = State {
            plan: Plan::new(behaviour),
            first_arrival: None,
            requests: 0,
            given_up: 0,
            connections: 0,
            arrived_in_stall: 0,
            last_answer_ns: 0,
            service: Times::new(),
            planned: Times::new(),
            lateness: Times::new(),
        };
        Self {
            timer,
            state: RefCell::new(state),
        }
    }

    /// Waits for `time`.
    pub(super) async fn rest(&self, time: Duration) {
        self.timer.until(Instant::now() + time).await;
    }

    /// Notes that a request has arrived completely; returns when its answer is due.
    fn arrive(&self, arrived: Instant) -> Due {
        let mut state = self.state.borrow_mut();
        let first = *state.first_arrival.get_or_insert(arrived);
        let arrived_ns = nanos(first, arrived);
        let due_ns = state.plan.due_ns(arrived_ns);
        state.requests += 1;
        state.arrived_in_stall += u64::from(state.plan.stall_end_ns(arrived_ns).is_some());
        state.planned.add(due_ns.saturating_sub(arrived_ns));
        Due {
            arrived,
            at: first + Duration::from_nanos(due_ns),
        }
    }

    /// Notes that an answer was passed to the kernel.
    fn answered(&self, due: Due) {
        let now = Instant::now();
        let mut state = self.state.borrow_mut();
        state.service.add(nanos(due.arrived, now));
        state.lateness.add(nanos(due.at, now));
        if let Some(first) = state.first_arrival {
            state.last_answer_ns = nanos(first, now);
        }
    }

    /// Returns the record.
    pub(super) fn into_record(self, waiting: Duration) -> Record {
        let state = self.state.into_inner();
        let service = Distribution::from(&state.service);
        Record {
            requests: state.requests,
            answers: service.count,
            given_up: state.given_up,
            connections: state.connections,
            answers_span_ns: state.last_answer_ns,
            arrived_in_stall: state.arrived_in_stall,
            service,
            planned: Distribution::from(&state.planned),
            lateness: Distribution::from(&state.lateness),
            waiting_ns: u64::try_from(waiting.as_nanos()).unwrap_or(u64::MAX),
        }
    }
}

/// Serves the requests of one connection.
pub(super) async fn serve(calibrated: Rc<Calibrated>, stream: TcpStream) {
    calibrated.state.borrow_mut().connections += 1;
    let mut connection = Connection {
        calibrated,
        stream,
        input: Input::new(),
        parser: Parser::new(Limits::default()),
        answer: Vec::with_capacity(128),
    };
    while let Ok(true) = connection.next().await {}
}

struct Connection {
    calibrated: Rc<Calibrated>,
    stream: TcpStream,
    input: Input,
    parser: Parser,
    answer: Vec<u8>,
}

impl Connection {
    /// Serves one request; returns whether another may follow.
    async fn next(&mut self) -> Result<bool, Gone> {
        let (framing, keep_alive) = loop {
            match self.parser.parse(self.input.bytes()) {
                Ok(Parse::Partial) => self.receive().await?,
                Ok(Parse::Complete { head, bytes }) => {
                    let keep_alive = head.keep_alive();
                    let is_head = head.method == Method::Head;
                    write_answer(&mut self.answer, head.version, keep_alive, is_head);
                    let framing = head.framing;
                    self.input.consume(bytes);
                    break (framing, keep_alive);
                }
                Err(_) => return Err(Gone),
            }
        };
        self.drain(framing).await?;
        let due = self.calibrated.arrive(Instant::now());
        self.wait(due).await?;
        self.stream
            .write_all(&self.answer)
            .await
            .map_err(|_| Gone)?;
        self.calibrated.answered(due);
        Ok(keep_alive)
    }

    async fn receive(&mut self) -> Result<(), Gone> {
        match self.input.fill(&mut self.stream).await {
            Ok(true) => Ok(()),
            _ => Err(Gone),
        }
    }

    /// Reads and discards a request's body.
    async fn drain(&mut self, framing: body::Framing) -> Result<(), Gone> {
        let mut decoder = body::Decoder::new(framing, &Limits::default());
        loop {
            let drained = decoder.drain(self.input.bytes()).map_err(|_| Gone)?;
            self.input.consume(drained.consumed);
            if drained.done {
                return Ok(());
            }
            self.receive().await?;
        }
    }

    /// Waits until the answer is due. If the peer closes first, it has given up the request.
    async fn wait(&mut self, due: Due) -> Result<(), Gone> {
        let timer = self.calibrated.timer.clone();
        let mut until = std::pin::pin!(timer.until(due.at));
        loop {
            tokio::select! {
                biased;
                () = &mut until => return Ok(()),
                received = self.input.fill(&mut self.stream), if self.input.has_room() => {
                    if !matches!(received, Ok(true)) {
                        self.calibrated.state.borrow_mut().given_up += 1;
                        return Err(Gone);
                    }
                }
            }
        }
    }
}

/// Writes an answer into `out`, replacing its content.
fn write_answer(out: &mut Vec<u8>, version: Version, keep_alive: bool, is_head: bool) {
    out.clear();
    let head = write::response(out, Version::Http11, 200)
        .and_then(|head| head.field("Content-Type", b"text/plain"))
        .expect("a status of three digits and a plain field are valid")
        .content_length(CONTENT.len() as u64);
    let head = match (keep_alive, version) {
        (false, _) => head.close(),
        (true, Version::Http10) => head
            .field("Connection", b"keep-alive")
            .expect("a plain field is valid"),
        (true, Version::Http11) => head,
    };
    head.end();
    if !is_head {
        out.extend_from_slice(CONTENT);
    }
}
