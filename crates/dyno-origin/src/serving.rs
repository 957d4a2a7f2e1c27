//! One thread of an origin: its CPU, its runtime, its connections.

use std::cell::{Cell, RefCell};
use std::io;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use dyno_web::{Scheme, Web};
use rustix::thread::{Pid, gettid};
use tokio::net::TcpStream;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local};

use crate::access_log::{Fingerprints, ThreadLog};
use crate::bounds::Bounds;
use crate::cached_connections::CachedConnections;
use crate::clock::Clock;
use crate::connection_info::ConnectionInfo;
use crate::connections::Connections;
use crate::control::ControlConnection;
use crate::counters::Counters;
use crate::date::Date;
use crate::error::Error;
use crate::live::Shared;
use crate::prepared::Pages;
use crate::scripts::Scripts;
use crate::timer::Timer;
use crate::tls::Tls;
use crate::worker::{Seen, TurnOver, Worker};
use crate::{connection, dns};

/// Pause of accepting after an error that would recur at once, such as a lack of descriptors.
const REST: Duration = Duration::from_millis(10);
const SECOND: Duration = Duration::from_secs(1);

/// Sockets of a thread of an origin.
#[derive(Default)]
pub(crate) struct Sockets {
    pub(crate) listeners: Vec<(Scheme, TcpListener)>,
    pub(crate) names_udp: Vec<UdpSocket>,
    pub(crate) names_tcp: Vec<TcpListener>,
}

/// Everything that a thread of an origin starts with.
pub(crate) struct Plan {
    pub(crate) index: usize,
    pub(crate) cpu: Option<usize>,
    pub(crate) web: Arc<Web>,
    pub(crate) pages: Arc<Pages>,
    pub(crate) tls: Arc<Tls>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) fingerprints: Fingerprints,
    pub(crate) log_arrivals: bool,
    pub(crate) sockets: Sockets,
    pub(crate) faulty_blocks: bool,
    pub(crate) bounds: Option<Bounds>,
    pub(crate) scripts: Option<Arc<Scripts>>,
    pub(crate) control: Option<mpsc::Sender<ControlConnection>>,
    pub(crate) orders: UnboundedReceiver<TurnOver>,
}

/// Serves until `stop` fires; sends its thread id, or the reason why it could not begin, over `ready`.
pub(crate) fn run(
    plan: Plan,
    ready: &mpsc::Sender<Result<Pid, Error>>,
    stop: oneshot::Receiver<()>,
) -> Option<Seen> {
    let pinned = plan.cpu.map_or(Ok(()), |cpu| {
        dyno_io::pin(cpu).map_err(|source| Error::Pin { cpu, source })
    });
    let runtime = pinned.and_then(|()| dyno_io::runtime().build().map_err(Error::Thread));
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            // Without a receiver, the thread that started this one has ended.
            drop(ready.send(Err(error)));
            return None;
        }
    };
    let tasks = LocalSet::new();
    let begun = tasks.block_on(&runtime, async { begin(plan) });
    let worker = match begun {
        Ok(worker) => worker,
        Err(error) => {
            drop(ready.send(Err(Error::Thread(error))));
            return None;
        }
    };
    drop(ready.send(Ok(gettid())));
    // A dropped sender also means stop.
    drop(tasks.block_on(&runtime, stop));
    // Ends all tasks, which hold references to the worker.
    drop(tasks);
    drop(runtime);
    let worker = Rc::into_inner(worker).expect("all tasks have ended");
    Some((worker.counters.into_inner(), worker.log.into_inner()))
}

/// Starts the tasks of a thread: those that accept connections, and those for shared work.
fn begin(plan: Plan) -> io::Result<Rc<Worker>> {
    let names = plan.bounds.map(|bounds| bounds.names);
    let names = names.filter(|_| !plan.log_arrivals);
    let worker = Rc::new(Worker {
        counters: RefCell::new(Counters::new(names)),
        log: RefCell::new(ThreadLog::new(
            plan.fingerprints.clone(),
            plan.log_arrivals,
            names,
        )),
        web: plan.web,
        pages: plan.pages,
        tls: plan.tls,
        shared: plan.shared,
        fingerprints: plan.fingerprints,
        timer: Timer::new()?,
        clock: Clock::default(),
        date: Date::default(),
        answer_cache: RefCell::default(),
        cached: CachedConnections::new()?,
        open: Connections::new(plan.bounds),
        delayed_queries: Cell::new(0),
        faulty_blocks: plan.faulty_blocks,
        scripts: plan.scripts,
        control: plan.control,
        index: plan.index,
        connections: Cell::new(0),
        epoch: Cell::new(0),
        sending_since: Cell::new(Instant::now()),
    });
    look_after(&worker, plan.orders);
    for (scheme, listener) in plan.sockets.listeners {
        accept_http(worker.clone(), scheme, listener)?;
    }
    for socket in plan.sockets.names_udp {
        let socket = Rc::new(tokio::net::UdpSocket::from_std(socket)?);
        spawn_local(dns::serve_udp(worker.clone(), socket));
    }
    for listener in plan.sockets.names_tcp {
        accept_names(worker.clone(), listener)?;
    }
    Ok(worker)
}

/// Starts the tasks that execute orders, wake tasks that are due, and answer from the cache.
fn look_after(worker: &Rc<Worker>, mut orders: UnboundedReceiver<TurnOver>) {
    let ordered = worker.clone();
    spawn_local(async move {
        while let Some(order) = orders.recv().await {
            ordered.turn_over(&order);
        }
    });
    let timer = worker.timer.clone();
    spawn_local(async move { timer.run().await });
    if worker.open.bounds().is_some() {
        let closing = worker.clone();
        spawn_local(async move {
            loop {
                closing.timer.until(Instant::now() + SECOND).await;
                closing.tick();
            }
        });
    }
    let answering = worker.clone();
    spawn_local(async move { answering.cached.run(&answering).await });
}

fn accept_http(worker: Rc<Worker>, scheme: Scheme, listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    spawn_local(async move {
        accept(&worker.clone(), &listener, |stream, local| {
            let connection = worker.enter();
            let info = ConnectionInfo {
                worker: worker.clone(),
                scheme,
                number: worker.next_connection(),
                connection: connection.clone(),
                local,
                server_name: None,
            };
            connection.serve(connection::serve(info, stream));
        })
        .await;
    });
    Ok(())
}

fn accept_names(worker: Rc<Worker>, listener: TcpListener) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    spawn_local(async move {
        accept(&worker.clone(), &listener, |stream, _| {
            let connection = worker.enter();
            connection.serve(dns::serve_tcp(worker.clone(), connection.clone(), stream));
        })
        .await;
    });
    Ok(())
}

/// Accepts connections until the runtime ends.
async fn accept(
    worker: &Worker,
    listener: &tokio::net::TcpListener,
    mut accepted: impl FnMut(TcpStream, SocketAddr),
) {
    loop {
        let stream = listener.accept().await.map(|(stream, _)| stream);
        match stream.and_then(|stream| stream.local_addr().map(|local| (stream, local))) {
            Ok((stream, local)) => accepted(stream, local),
            // A connection that its peer closed before it was accepted is no reason to pause.
            Err(error)
                if error.kind() == io::ErrorKind::ConnectionAborted
                    || error.kind() == io::ErrorKind::NotConnected => {}
            Err(_) => worker.timer.until(std::time::Instant::now() + REST).await,
        }
    }
}
