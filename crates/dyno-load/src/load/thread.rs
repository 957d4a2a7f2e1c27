//! One thread of a run: its runtime, what it looks after while its lanes send, what it tells.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::time::{Duration, Instant};

use tokio::runtime::LocalOptions;
use tokio::task::spawn_local;

use super::connector::Connector;
use super::lane::Lane;
use super::pace::Alarm;
use super::samples::Sample;
use super::shared::SharedConnections;
use super::tally::Tally;
use super::usage::{thread_cpu_ns, thread_waited_ns};
use super::worker::{Common, Worker};

/// How often a thread looks for what is late: timeouts and rests are kept to this.
const SWEEP: Duration = Duration::from_millis(10);

/// No more often, however short the timeout is: the lanes would have no time between the sweeps.
const SHORTEST_SWEEP: Duration = Duration::from_millis(1);

/// The longest that a run waits for the connections that it begins with.
const LONGEST_OPENING: Duration = Duration::from_secs(10);

/// What a thread tells of a stretch.
#[derive(Debug)]
pub(super) struct Stretch {
    pub(super) thread: usize,
    /// Counted from 0.
    pub(super) number: u64,
    /// Requests that are open at its end.
    pub(super) open: u64,
    pub(super) tally: Tally,
    /// Of the last stretch only.
    pub(super) last: Option<Last>,
}

/// What a thread leaves behind.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the unit stands in the names")]
pub(super) struct Last {
    /// When it ended.
    pub(super) end_ns: u64,
    pub(super) cpu_ns: u64,
    pub(super) spun_ns: u64,
    /// For its CPU, while others had it.
    pub(super) waited_ns: Option<u64>,
}

/// What a thread is made from.
pub(super) struct Parts {
    pub(super) index: usize,
    pub(super) cpu: Option<usize>,
    /// How many connections are its own, and the number of the first.
    pub(super) connections: usize,
    pub(super) first_connection: usize,
    pub(super) common: Arc<Common>,
    pub(super) connector: Connector,
    pub(super) start: Receiver<Instant>,
    pub(super) told: Sender<Stretch>,
    /// Tallies to be used again.
    pub(super) spare: Receiver<Tally>,
    pub(super) samples: Option<SyncSender<Vec<Sample>>>,
}

/// Runs a thread's part to its end. The last stretch that it tells has what it leaves behind.
pub(super) fn run(parts: Parts) -> io::Result<()> {
    let common = parts.common.clone();
    let runtime = parts.cpu.map_or(Ok(()), pin).and_then(|()| {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        builder.enable_io().build_local(LocalOptions::default())
    });
    match runtime {
        Ok(runtime) => runtime.block_on(serve(parts)),
        Err(error) => {
            // Also by who cannot begin: the others would wait for it for ever.
            common.ready.wait();
            Err(error)
        }
    }
}

/// As in `serving.rs` of dyno-origin, whose errors are not these: no crate below both asks anything of the system.
fn pin(cpu: usize) -> io::Result<()> {
    let mut cpus = rustix::thread::CpuSet::new();
    if cpu >= rustix::thread::CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    cpus.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &cpus)?)
}

async fn serve(parts: Parts) -> io::Result<()> {
    let common = parts.common;
    let worker = Rc::new(Worker::new(
        common.clone(),
        parts.connector,
        parts.connections,
        parts.first_connection,
        parts.samples,
    ));
    let prepared = prepare(&worker, parts.connections).await;
    // Nothing of its own is due while it waits for the others.
    common.ready.wait();
    let sweeps = prepared?;
    let Ok(start) = parts.start.recv() else {
        return Ok(());
    };
    let (cpu_before_ns, waited_before_ns) = (thread_cpu_ns(), thread_waited_ns());
    worker.begin(start);
    let mut teller = Teller {
        thread: parts.index,
        number: 0,
        told: parts.told,
        spare: parts.spare,
    };
    loop {
        if common.stop.load(Ordering::Relaxed) {
            worker.end_now();
        }
        let now_ns = worker.now_ns();
        if worker.is_over(now_ns) {
            break;
        }
        worker.sweep(now_ns);
        while now_ns >= worker.stretch_ns(teller.number + 1) {
            teller.tell(worker.tally_so_far(&teller.spare), worker.open(), None);
        }
        tokio::select! {
            biased;
            () = worker.finished.notified() => break,
            expired = sweeps.expired() => expired?,
        }
    }
    let waited_ns = thread_waited_ns().zip(waited_before_ns);
    let last = worker.last(
        thread_cpu_ns() - cpu_before_ns,
        waited_ns.map(|(now, before)| now - before),
    );
    let open = worker.open();
    teller.tell(worker.tally.take(), open, Some(last));
    Ok(())
}

/// Starts the lanes, and waits until each has the connection that it begins with, or could not have it.
async fn prepare(worker: &Rc<Worker>, connections: usize) -> io::Result<Alarm> {
    let sweeps = Alarm::new()?;
    sweeps.every((worker.plan.timeout / 5).clamp(SHORTEST_SWEEP, SWEEP))?;
    spawn_lanes(worker, connections);
    let began = Instant::now();
    while began.elapsed() < LONGEST_OPENING && !worker.common.stop.load(Ordering::Relaxed) {
        tokio::select! {
            biased;
            () = worker.prepared.notified() => break,
            expired = sweeps.expired() => expired?,
        }
        worker.sweep(worker.now_ns());
    }
    Ok(sweeps)
}

/// Starts the lanes, and what wakes them when a request is due.
fn spawn_lanes(worker: &Rc<Worker>, connections: usize) {
    let streams = worker.plan.streams;
    for connection in 0..connections {
        let shared = Rc::new(SharedConnections::default());
        for stream in 0..streams {
            let number = connection * streams + stream;
            let (worker, shared) = (worker.clone(), shared.clone());
            spawn_local(async move {
                Lane::new(worker.clone(), number, shared).run().await;
                worker.running.set(worker.running.get() - 1);
                if worker.running.get() == 0 {
                    worker.finished.notify_one();
                }
            });
        }
    }
    if worker.is_open_loop || worker.ramps() {
        let worker = worker.clone();
        spawn_local(async move {
            let wake = |lane: usize| worker.slots[lane].wake();
            let pacing = worker.queue.run(|| worker.now_ns(), &worker.turns, wake);
            pacing.await.expect("a timer that was made can be set");
        });
    }
}

/// Tells what was measured.
struct Teller {
    thread: usize,
    number: u64,
    told: Sender<Stretch>,
    spare: Receiver<Tally>,
}

impl Teller {
    fn tell(&mut self, tally: Tally, open: u64, last: Option<Last>) {
        let stretch = Stretch {
            thread: self.thread,
            number: self.number,
            open,
            tally,
            last,
        };
        self.number += 1;
        // Nobody listens any more when the run was given up.
        drop(self.told.send(stretch));
    }
}
