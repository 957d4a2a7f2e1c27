//! One connection to a name server for all queries (RFC 7766; over TLS RFC 7858): queries do not wait for earlier answers, and
//! answers come in any order. It opens with the first query, and again once the server has closed it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use tokio::task::{AbortHandle, spawn_local};

use super::name_server::{NameServer, Transport};
use crate::failure::Failure;
use crate::sockets::Sockets;
use crate::stream::Stream;
use crate::tls;

/// How often a query is sent. Servers close connections that were idle, or had many queries: then it is sent on another one.
const MAX_SENDS: usize = 8;
/// Bytes of queries that are written at once.
const BATCH_BYTES: usize = 16 << 10;
/// Bytes that are read at once.
const READ_BYTES: usize = 4 << 10;
/// The head of a message: nothing shorter is an answer (RFC 1035, section 4.1.1).
const HEAD_BYTES: usize = 12;

/// The connection to one name server.
#[derive(Debug)]
pub(super) struct Pipeline {
    server: NameServer,
    tls: Option<tls::Client>,
    open: RefCell<Option<Open>>,
    /// When the last answer came.
    heard: Rc<Cell<Option<Instant>>>,
}

#[derive(Debug)]
struct Open {
    queries: UnboundedSender<Query>,
    task: AbortHandle,
}

#[derive(Debug)]
struct Query {
    bytes: Vec<u8>,
    reply: oneshot::Sender<Delivery>,
}

/// The end of a query.
#[derive(Debug)]
enum Delivery {
    /// The answer, and the number that the query had.
    Answer(u16, Vec<u8>),
    /// The server closed a connection on which it had answered.
    Closed,
    Failed(Failure),
}

impl Pipeline {
    pub const fn new(
        server: NameServer,
        tls: Option<tls::Client>,
        heard: Rc<Cell<Option<Instant>>>,
    ) -> Self {
        Self {
            server,
            tls,
            open: RefCell::new(None),
            heard,
        }
    }

    /// Sends a query, and returns the answer with the number that the query had: another one if its own was in use.
    pub async fn exchange(&self, query: &[u8]) -> Result<(u16, Vec<u8>), Failure> {
        for _ in 0..MAX_SENDS {
            let (reply, delivery) = oneshot::channel();
            self.send(Query {
                bytes: query.to_vec(),
                reply,
            });
            match delivery.await {
                Ok(Delivery::Answer(id, bytes)) => return Ok((id, bytes)),
                Ok(Delivery::Closed) => {}
                Ok(Delivery::Failed(failure)) => return Err(failure),
                // Another lookup gave the connection up.
                Err(_) => return Err(Failure::ResolveTimeout),
            }
        }
        Err(Failure::ClosedBeforeAnswer)
    }

    /// Closes the connection, so that the next query opens another one.
    pub fn give_up(&self) {
        if let Some(open) = self.open.take() {
            open.task.abort();
        }
    }

    fn send(&self, mut query: Query) {
        let mut open = self.open.borrow_mut();
        if let Some(open) = &*open {
            match open.queries.send(query) {
                Ok(()) => return,
                Err(unsent) => query = unsent.0,
            }
        }
        let (queries, received) = unbounded_channel();
        let task = drive(
            self.server.clone(),
            self.tls.clone(),
            received,
            self.heard.clone(),
        );
        let task = spawn_local(task).abort_handle();
        // The task has the other end: this cannot fail.
        drop(queries.send(query));
        *open = Some(Open { queries, task });
    }
}

/// Runs a connection until it ends, and delivers its end to all queries without an answer.
async fn drive(
    server: NameServer,
    tls: Option<tls::Client>,
    mut queries: UnboundedReceiver<Query>,
    heard: Rc<Cell<Option<Instant>>>,
) {
    let waiting = RefCell::default();
    let answered = Cell::new(false);
    let failure = match connect(&server, tls).await {
        Err(failure) => failure,
        Ok(stream) => {
            let (from, to) = tokio::io::split(stream);
            let on_answer = || {
                answered.set(true);
                heard.set(Some(Instant::now()));
            };
            tokio::select! {
                failure = receive(from, &waiting, on_answer) => failure,
                failure = transmit(to, &mut queries, &waiting) => failure,
            }
        }
    };
    queries.close();
    let unsent = std::iter::from_fn(|| queries.try_recv().ok()).map(|query| query.reply);
    for reply in waiting.take().into_values().chain(unsent) {
        // A lookup that ended needs no answer.
        drop(reply.send(if answered.get() {
            Delivery::Closed
        } else {
            Delivery::Failed(failure)
        }));
    }
}

async fn connect(server: &NameServer, tls: Option<tls::Client>) -> Result<Stream, Failure> {
    // Neither the sockets of the crawl nor its count of bytes: a Unix socket leads to servers, not to name servers.
    let sockets = Arc::<Sockets>::default();
    let wire = sockets.open(server.address, Arc::default()).await?;
    match (&server.transport, tls) {
        (Transport::Tls(name), Some(tls)) => {
            Ok(Stream::Encrypted(tls.handshake(wire, name).await?.stream))
        }
        (Transport::Tls(_), None) => Err(Failure::TlsProtocol),
        (Transport::Udp | Transport::Tcp, _) => Ok(Stream::Plain(wire)),
    }
}

type Waiting = RefCell<HashMap<u16, oneshot::Sender<Delivery>>>;

/// Writes queries, those that are ready at once; returns why it ended.
async fn transmit(
    mut to: impl AsyncWrite + Unpin,
    queries: &mut UnboundedReceiver<Query>,
    waiting: &Waiting,
) -> Failure {
    let mut batch = Vec::new();
    while let Some(first) = queries.recv().await {
        let mut next = Some(first);
        while let Some(Query { bytes, reply }) = next {
            let id = free_id(&bytes, &waiting.borrow());
            if let Some(id) = id {
                let length = u16::try_from(bytes.len()).expect("a query is short");
                batch.extend_from_slice(&length.to_be_bytes());
                batch.extend_from_slice(&id.to_be_bytes());
                batch.extend_from_slice(&bytes[2..]);
                waiting.borrow_mut().insert(id, reply);
            } else {
                drop(reply.send(Delivery::Failed(Failure::ResolverFailed)));
            }
            next = (batch.len() < BATCH_BYTES)
                .then(|| queries.try_recv().ok())
                .flatten();
        }
        let written = async {
            to.write_all(&batch).await?;
            to.flush().await
        };
        if let Err(error) = written.await {
            return Failure::from_io(&error);
        }
        batch.clear();
    }
    Failure::ResolveTimeout
}

/// The number of a query, or the next one that no query on this connection has (RFC 7766, section 6.2.1).
fn free_id<V>(query: &[u8], waiting: &HashMap<u16, V>) -> Option<u16> {
    let own = u16::from_be_bytes(*query.first_chunk()?);
    (0..=u16::MAX)
        .map(|step| own.wrapping_add(step))
        .find(|id| !waiting.contains_key(id))
}

/// Reads and delivers answers; returns why it ended.
async fn receive(
    mut from: impl AsyncRead + Unpin,
    waiting: &Waiting,
    on_answer: impl Fn(),
) -> Failure {
    let (mut frames, mut room) = (Frames::default(), vec![0; READ_BYTES]);
    loop {
        match from.read(&mut room).await {
            Ok(0) => return Failure::ClosedBeforeAnswer,
            Ok(count) => frames.add(&room[..count]),
            Err(error) => return Failure::from_io(&error),
        }
        while let Some(message) = frames.take() {
            let id = message.first_chunk().map(|id| u16::from_be_bytes(*id));
            let Some(id) = id.filter(|_| message.len() >= HEAD_BYTES) else {
                continue;
            };
            let reply = waiting.borrow_mut().remove(&id);
            if let Some(reply) = reply {
                on_answer();
                drop(reply.send(Delivery::Answer(id, message)));
            }
        }
    }
}

/// Messages in a stream, where a length of two bytes precedes each (RFC 1035, section 4.2.2).
#[derive(Debug, Default)]
struct Frames {
    bytes: Vec<u8>,
    /// Bytes at the beginning that were taken.
    taken: usize,
}

impl Frames {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next whole message.
    fn take(&mut self) -> Option<Vec<u8>> {
        let (length, rest) = self.bytes[self.taken..].split_first_chunk()?;
        let length = usize::from(u16::from_be_bytes(*length));
        let message = rest.get(..length)?.to_vec();
        self.taken += 2 + length;
        Some(message)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tokio::io::duplex;
    use tokio::task::LocalSet;

    use super::*;

    proptest! {
        #[test]
        fn any_split_of_the_stream_has_the_same_messages(
            messages in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8),
            cuts in prop::collection::vec(1..20_usize, 1..200),
        ) {
            let stream: Vec<u8> = messages
                .iter()
                .flat_map(|message| {
                    let length = u16::try_from(message.len()).unwrap().to_be_bytes();
                    [length.to_vec(), message.clone()].concat()
                })
                .collect();
            let (mut frames, mut found, mut rest) = (Frames::default(), Vec::new(), &stream[..]);
            for cut in cuts.iter().cycle() {
                let (now, later) = rest.split_at((*cut).min(rest.len()));
                frames.add(now);
                found.extend(std::iter::from_fn(|| frames.take()));
                rest = later;
                if rest.is_empty() {
                    break;
                }
            }
            prop_assert_eq!(found, messages);
            // The beginning of a message is none, whatever its length claims.
            frames.add(&[0xff, 0xff, 1, 2, 3]);
            prop_assert_eq!(frames.take(), None);
        }
    }

    #[test]
    fn a_query_in_flight_keeps_its_number() {
        let mut waiting = HashMap::from([(7, "query"), (8, "query")]);
        assert_eq!(free_id(&[0, 6], &waiting), Some(6));
        assert_eq!(free_id(&[0, 7], &waiting), Some(9));
        waiting.extend((0..=u16::MAX).map(|id| (id, "query")));
        assert_eq!(free_id(&[0, 7], &waiting), None);
        waiting.remove(&3);
        assert_eq!(free_id(&[0xff, 0xff], &waiting), Some(3));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn answers_in_any_order_reach_their_queries_and_strange_ones_do_not() {
        let (near, mut far) = duplex(1 << 10);
        let (from, to) = tokio::io::split(near);
        let waiting = Waiting::default();
        let (queries, mut received) = unbounded_channel();
        let mut deliveries = Vec::new();
        for _ in 0..2 {
            let (reply, delivery) = oneshot::channel();
            let bytes = vec![0; HEAD_BYTES];
            queries.send(Query { bytes, reply }).unwrap();
            deliveries.push(delivery);
        }
        let server = async {
            let mut asked = [0; 2 * (2 + HEAD_BYTES)];
            far.read_exact(&mut asked).await.unwrap();
            // Numbers 0 and 1: both queries had 0.
            assert_eq!((asked[3], asked[2 + HEAD_BYTES + 3]), (0, 1));
            let answer = |id: u8, last: u8| {
                let mut message = vec![0, 12, 0, id];
                message.extend([0; HEAD_BYTES - 3]);
                message.push(last);
                message
            };
            let stream = [
                vec![0, 0],
                vec![0, 2, 0, 1],
                answer(9, 9),
                answer(1, 11),
                answer(1, 99),
                answer(0, 10),
            ];
            far.write_all(&stream.concat()).await.unwrap();
            // The rest of a message that claims 65,535 bytes never comes.
            far.write_all(&[0xff, 0xff, 0]).await.unwrap();
            drop(far);
        };
        let client = async {
            tokio::select! {
                failure = receive(from, &waiting, || {}) => failure,
                failure = transmit(to, &mut received, &waiting) => failure,
            }
        };
        let (failure, ()) = tokio::join!(client, server);
        assert_eq!(failure, Failure::ClosedBeforeAnswer);
        for (number, delivery) in deliveries.into_iter().enumerate() {
            let Delivery::Answer(id, message) = delivery.await.unwrap() else {
                panic!("no answer");
            };
            let found = (usize::from(id), usize::from(message[HEAD_BYTES - 1]));
            assert_eq!(found, (number, 10 + number));
        }
    }

    /// Starts a server that closes each connection after so many answers, which are the queries themselves.
    async fn closing_after(answers: usize) -> (NameServer, Rc<Cell<usize>>) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Rc::new(Cell::new(0));
        let counted = connections.clone();
        spawn_local(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                counted.set(counted.get() + 1);
                for _ in 0..answers {
                    let mut message = [0; 2 + HEAD_BYTES];
                    if stream.read_exact(&mut message).await.is_err() {
                        break;
                    }
                    stream.write_all(&message).await.unwrap();
                }
            }
        });
        let server = NameServer {
            address,
            transport: Transport::Tcp,
        };
        (server, connections)
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_closed_connection_is_opened_again_unless_it_had_no_answer() {
        let run = async {
            let query = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
            let (server, connections) = closing_after(2).await;
            let pipeline = Pipeline::new(server, None, Rc::default());
            for _ in 0..6 {
                assert!(pipeline.exchange(&query).await.is_ok());
            }
            assert_eq!(connections.get(), 3);
            let (server, connections) = closing_after(0).await;
            let pipeline = Pipeline::new(server, None, Rc::default());
            assert!(pipeline.exchange(&query).await.is_err());
            assert_eq!(connections.get(), 1);
        };
        LocalSet::new().run_until(run).await;
    }
}
