//! One thread of a run: its runtime, its work while its request loops send, its report.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::time::{Duration, Instant};

use dyno_io::{Alarm, thread_cpu_time, thread_waited_ns};
use tokio::runtime::LocalOptions;
use tokio::task::spawn_local;

use crate::connector::Connector;
use crate::http2_pool::Http2Pool;
use crate::request_loop::RequestLoop;
use crate::samples::Sample;
use crate::tally::Tally;
use crate::worker::{Common, Worker};

/// Events that the runtime takes from the kernel at a time. Few, so that the answers that they announce are still in the cache of
/// the CPU when they are taken: 9,000 connections make 8 % more requests per CPU second than with the 1,024 of tokio, 64 connections
/// the same.
const EVENTS_PER_POLL: usize = 64;

/// Tasks that run before the runtime asks for events again: all that are ready, where tokio's 61 would ask amid a batch.
const TASKS_PER_POLL: u32 = 4096;

/// How often a thread looks for what is late: timeouts and rests are kept to this.
const SWEEP: Duration = Duration::from_millis(10);

/// No more often, however short the timeout is: the request loops would have no time between the sweeps.
const SHORTEST_SWEEP: Duration = Duration::from_millis(1);

/// The longest that a run waits for the connections that it begins with.
const LONGEST_OPENING: Duration = Duration::from_secs(10);

/// Measurements of a thread in one interval.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub(crate) thread: usize,
    /// Counted from 0.
    pub(crate) number: u64,
    /// Requests that are open at its end.
    pub(crate) open: u64,
    pub(crate) tally: Tally,
    /// Of the last stretch only.
    pub(crate) last: Option<ThreadEnd>,
}

/// Results of a thread at its end.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the unit stands in the names")]
pub(crate) struct ThreadEnd {
    /// When it ended.
    pub(crate) end_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) spun_ns: u64,
    /// For its CPU, while others had it.
    pub(crate) waited_ns: Option<u64>,
}

/// Ingredients of a thread.
pub(crate) struct Parts {
    pub(crate) index: usize,
    pub(crate) cpu: Option<usize>,
    /// How many connections are its own, and the number of the first.
    pub(crate) connections: usize,
    pub(crate) first_connection: usize,
    pub(crate) common: Arc<Common>,
    pub(crate) connector: Connector,
    pub(crate) start: Receiver<Instant>,
    pub(crate) stretches: Sender<Stretch>,
    /// Tallies to be used again.
    pub(crate) spare: Receiver<Tally>,
    pub(crate) samples: Option<SyncSender<Vec<Sample>>>,
}

/// Runs a thread's part to its end. The last stretch that it reports has what it leaves behind.
pub(crate) fn run(parts: Parts) -> io::Result<()> {
    let common = parts.common.clone();
    let pinned = parts.cpu.map_or(Ok(()), dyno_io::pin);
    let runtime = pinned.and_then(|()| {
        dyno_io::runtime()
            .max_io_events_per_tick(EVENTS_PER_POLL)
            .event_interval(TASKS_PER_POLL)
            .build_local(LocalOptions::default())
    });
    match runtime {
        Ok(runtime) => runtime.block_on(serve(parts)),
        Err(error) => {
            // A thread that cannot begin waits here, too: the others would wait for it for ever.
            common.ready.wait();
            Err(error)
        }
    }
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
    let (cpu_before, waited_before_ns) = (thread_cpu_time(), thread_waited_ns());
    worker.begin(start);
    let mut reporter = Reporter {
        thread: parts.index,
        number: 0,
        stretches: parts.stretches,
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
        while now_ns >= worker.stretch_ns(reporter.number + 1) {
            reporter.report(worker.tally_so_far(&reporter.spare), worker.open(), None);
        }
        tokio::select! {
            biased;
            () = worker.finished.notified() => break,
            expired = sweeps.expired() => expired?,
        }
    }
    let waited_ns = thread_waited_ns().zip(waited_before_ns);
    let last = worker.last(
        thread_cpu_time().saturating_sub(cpu_before),
        waited_ns.map(|(now, before)| now - before),
    );
    let open = worker.open();
    reporter.report(worker.tally.take(), open, Some(last));
    Ok(())
}

/// Starts the request loops, and waits until each has the connection that it begins with, or could not have it.
async fn prepare(worker: &Rc<Worker>, connections: usize) -> io::Result<Alarm> {
    let sweeps = Alarm::new()?;
    sweeps.every((worker.plan.timeout / 5).clamp(SHORTEST_SWEEP, SWEEP))?;
    spawn_request_loops(worker, connections);
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

/// Starts the request loops, and what wakes them when a request is due.
fn spawn_request_loops(worker: &Rc<Worker>, connections: usize) {
    let streams = worker.plan.streams;
    for connection in 0..connections {
        let http2_pool = Rc::new(Http2Pool::default());
        for stream in 0..streams {
            let number = connection * streams + stream;
            let (worker, http2_pool) = (worker.clone(), http2_pool.clone());
            spawn_local(async move {
                RequestLoop::new(worker.clone(), number, http2_pool)
                    .run()
                    .await;
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
            let wake = |request_loop: usize| worker.slots[request_loop].wake();
            let pacing = worker
                .queue
                .run(|| worker.now_ns(), &worker.requests_ended, wake);
            pacing.await.expect("a timer that was made can be set");
        });
    }
}

/// Sends what was measured.
struct Reporter {
    thread: usize,
    number: u64,
    stretches: Sender<Stretch>,
    spare: Receiver<Tally>,
}

impl Reporter {
    fn report(&mut self, tally: Tally, open: u64, last: Option<ThreadEnd>) {
        let stretch = Stretch {
            thread: self.thread,
            number: self.number,
            open,
            tally,
            last,
        };
        self.number += 1;
        // The receiver is gone when the run was given up.
        drop(self.stretches.send(stretch));
    }
}
