//! Serves the requests of a connection one after another: reads, waits until the answer is due, sends it.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dyno_http::request::Parser;
use dyno_http::{Limits, Method, Parse, Version, body, write};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use super::behaviour::{Answer, Behaviour, Plan};
use super::record::{Distribution, Kept, Record, Times};
use crate::live::nanos;
use crate::message::Input;
use crate::timer::Timer;

/// Content of every answer.
const CONTENT: &[u8] = b"Hello, World!";

/// Status of an answer that is not refused.
const GOOD: u16 = 200;

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
    last_arrival_ns: u64,
    requests: u64,
    given_up: u64,
    connections: u64,
    arrived_in_stall: u64,
    refused: u64,
    last_answer_ns: u64,
    gaps: Times,
    drawn: Times,
    service: Times,
    planned: Times,
    lateness: Times,
    kept: Option<Vec<Kept>>,
}

/// A request that waits for its answer.
#[derive(Debug, Clone, Copy)]
struct Due {
    arrived: Instant,
    at: Instant,
    status: u16,
    /// Number of the request, from 0.
    number: usize,
}

impl Calibrated {
    pub(super) fn new(behaviour: &Behaviour, keep_requests: bool, timer: Rc<Timer>) -> Self {
        let state = State {
            plan: Plan::new(behaviour),
            first_arrival: None,
            last_arrival_ns: 0,
            requests: 0,
            given_up: 0,
            connections: 0,
            arrived_in_stall: 0,
            refused: 0,
            last_answer_ns: 0,
            gaps: Times::new(),
            drawn: Times::new(),
            service: Times::new(),
            planned: Times::new(),
            lateness: Times::new(),
            kept: keep_requests.then(Vec::new),
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
        let state = &mut *state;
        let first = *state.first_arrival.get_or_insert(arrived);
        let arrived_ns = nanos(first, arrived);
        let Answer {
            due_ns,
            service_ns,
            status,
        } = state.plan.answer(arrived_ns);
        if state.requests > 0 {
            state.gaps.add(arrived_ns - state.last_arrival_ns);
        }
        state.last_arrival_ns = arrived_ns;
        state.requests += 1;
        state.arrived_in_stall += u64::from(state.plan.stall_end_ns(arrived_ns).is_some());
        state.planned.add(due_ns.saturating_sub(arrived_ns));
        if status == GOOD {
            state.drawn.add(service_ns);
        } else {
            state.refused += 1;
        }
        let kept = state.kept.as_mut();
        let number = kept.map_or(0, |kept| {
            kept.push(Kept {
                arrived_ns,
                service_ns,
                due_ns,
                sent_ns: None,
                status,
            });
            kept.len() - 1
        });
        Due {
            arrived,
            at: first + Duration::from_nanos(due_ns),
            status,
            number,
        }
    }

    /// Notes that an answer was passed to the kernel.
    fn answered(&self, due: Due) {
        let now = Instant::now();
        let mut state = self.state.borrow_mut();
        state.service.add(nanos(due.arrived, now));
        state.lateness.add(nanos(due.at, now));
        let sent_ns = state.first_arrival.map_or(0, |first| nanos(first, now));
        state.last_answer_ns = sent_ns;
        if let Some(kept) = &mut state.kept {
            kept[due.number].sent_ns = Some(sent_ns);
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
            refused: state.refused,
            gaps: Distribution::from(&state.gaps),
            drawn: Distribution::from(&state.drawn),
            service,
            planned: Distribution::from(&state.planned),
            lateness: Distribution::from(&state.lateness),
            waiting_ns: u64::try_from(waiting.as_nanos()).unwrap_or(u64::MAX),
            requests_kept: state.kept.unwrap_or_default(),
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
        let (framing, keep_alive, version, is_head) = loop {
            match self.parser.parse(self.input.bytes()) {
                Ok(Parse::Partial) => self.receive().await?,
                Ok(Parse::Complete { head, bytes }) => {
                    let keep_alive = head.keep_alive();
                    let is_head = head.method == Method::Head;
                    let (framing, version) = (head.framing, head.version);
                    write_answer(&mut self.answer, GOOD, version, keep_alive, is_head);
                    self.input.consume(bytes);
                    break (framing, keep_alive, version, is_head);
                }
                Err(_) => return Err(Gone),
            }
        };
        self.drain(framing).await?;
        let due = self.calibrated.arrive(Instant::now());
        if due.status != GOOD {
            write_answer(&mut self.answer, due.status, version, keep_alive, is_head);
        }
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
fn write_answer(out: &mut Vec<u8>, status: u16, version: Version, keep_alive: bool, is_head: bool) {
    out.clear();
    let head = write::response(out, Version::Http11, status)
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
