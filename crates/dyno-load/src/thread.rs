//! One thread of a run: its runtime, its request loops and its reports.

use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, Sender, SyncSender};
use std::time::{Duration, Instant};

use dyno_io::{Alarm, thread_cpu_time, thread_waited_ns};
use tokio::runtime::LocalOptions;
use tokio::task::spawn_local;

use crate::address_tally::AddressTallies;
use crate::connector::Connector;
use crate::find::StepCounts;
use crate::http2_pool::Http2Pool;
use crate::labels::LabelTally;
use crate::request_loop::RequestLoop;
use crate::samples::Sample;
use crate::stage_tally::StageTallies;
use crate::tally::Tally;
use crate::worker::{Common, Worker};

/// Events that the runtime takes from the kernel at once. Few, so that the data they announce is still in the CPU's
/// cache when it is read: with 9,000 connections, 8 % more requests per CPU second than with tokio's 1,024; with 64
/// connections no difference.
const EVENTS_PER_POLL: usize = 64;

/// Tasks that run before the runtime polls for events: all that are ready. Tokio's default of 61 would poll in the
/// middle of a batch.
const TASKS_PER_POLL: u32 = 4096;

/// Interval at which a thread checks for expired timeouts and rests, which are accurate to this interval.
const SWEEP: Duration = Duration::from_millis(10);

/// Shortest interval of these checks, however short the timeout: more checks would leave the request loops no time.
const SHORTEST_SWEEP: Duration = Duration::from_millis(1);

/// The longest that a run waits for the connections that it begins with, once the last of them may be opened.
const LONGEST_OPENING: Duration = Duration::from_secs(10);

/// Measurements of a thread in one interval.
#[derive(Debug)]
pub(crate) struct Stretch {
    pub(crate) thread: usize,
    /// Whether it is of the warm-up, which counts in nothing.
    pub(crate) is_warm_up: bool,
    /// Number of the stretch, from 0.
    pub(crate) number: u64,
    /// Requests in flight at the end of the stretch.
    pub(crate) open: u64,
    pub(crate) tally: Tally,
    /// Of the whole run, in the last stretch only.
    pub(crate) labels: Vec<LabelTally>,
    /// Of the whole run, in the last stretch only.
    pub(crate) addresses: AddressTallies,
    /// Results of the thread; in its last stretch only.
    pub(crate) last: Option<ThreadEnd>,
    /// Of the whole run, in the last stretch only; `None` without stages.
    pub(crate) stages: Option<StageTallies>,
    /// Of the whole run, in the last stretch only; `None` without an objective.
    pub(crate) blocks: Option<StepCounts>,
}

/// What a thread reports in its last stretch only.
#[derive(Debug)]
pub(crate) struct Last {
    pub(crate) end: ThreadEnd,
    pub(crate) labels: Vec<LabelTally>,
    pub(crate) addresses: AddressTallies,
    pub(crate) stages: Option<StageTallies>,
    pub(crate) blocks: Option<StepCounts>,
}

/// Results of a thread when it ends.
#[derive(Debug, Clone, Copy)]
#[expect(clippy::struct_field_names, reason = "the unit stands in the names")]
pub(crate) struct ThreadEnd {
    /// When it ended.
    pub(crate) end_ns: u64,
    pub(crate) cpu_ns: u64,
    pub(crate) spun_ns: u64,
    /// Time that it waited for its CPU while other programs had it.
    pub(crate) waited_ns: Option<u64>,
}

/// Everything that a thread starts with.
pub(crate) struct Parts {
    pub(crate) index: usize,
    pub(crate) cpu: Option<usize>,
    /// Number of its connections, and index of the first.
    pub(crate) connections: usize,
    pub(crate) first_connection: usize,
    pub(crate) common: Arc<Common>,
    pub(crate) connector: Connector,
    pub(crate) start: Receiver<Instant>,
    pub(crate) stretches: Sender<Stretch>,
    /// Tallies to reuse.
    pub(crate) spare: Receiver<Tally>,
    pub(crate) samples: Option<SyncSender<Vec<Sample>>>,
}

/// Runs a thread's part of the run to its end. The last stretch that it reports contains its results.
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
            // A thread that cannot begin must also arrive at the barrier, else the others would wait forever.
            common.ready.wait();
            Err(error)
        }
    }
}

async fn serve(parts: Parts) -> io::Result<()> {
    let common = parts.common;
    let worker = Rc::new(Worker::new(
        common.clone(),
        Rc::new(parts.connector),
        parts.connections,
        parts.first_connection,
        parts.samples,
    ));
    let prepared = prepare(&worker, parts.connections).await;
    // The thread has nothing to do while it waits for the others.
    common.ready.wait();
    let sweeps = prepared?;
    let Ok(start) = parts.start.recv() else {
        return Ok(());
    };
    worker.begin(start);
    let mut reporter = Reporter {
        thread: parts.index,
        is_warm_up: false,
        number: 0,
        stretches: parts.stretches,
        spare: parts.spare,
    };
    if let Some(warm_up) = &worker.warm_up {
        reporter.is_warm_up = true;
        watch(warm_up, &sweeps, &mut reporter).await?;
        let last = warm_up.last(Duration::ZERO, None);
        reporter.report(warm_up.tally.take(), 0, Some(last));
        (reporter.is_warm_up, reporter.number) = (false, 0);
    }
    let (cpu_before, waited_before_ns) = (thread_cpu_time(), thread_waited_ns());
    watch(&worker, &sweeps, &mut reporter).await?;
    let waited_ns = thread_waited_ns().zip(waited_before_ns);
    let last = worker.last(
        thread_cpu_time().saturating_sub(cpu_before),
        waited_ns.map(|(now, before)| now - before),
    );
    let open = worker.open();
    reporter.report(worker.tally.take(), open, Some(last));
    Ok(())
}

/// Looks for what is late and reports each stretch, until the run, or its warm-up, is over.
async fn watch(worker: &Worker, sweeps: &Alarm, reporter: &mut Reporter) -> io::Result<()> {
    let common = &worker.common;
    let mut finished = false;
    loop {
        if common.stop.load(Ordering::Relaxed) || common.reached.load(Ordering::Relaxed) {
            worker.end_now();
        }
        let now_ns = worker.now_ns();
        if worker.is_over(now_ns) {
            return Ok(());
        }
        worker.sweep(now_ns);
        if let Some(warm_up) = &worker.warm_up {
            // Its last requests may take longer than it.
            warm_up.sweep(warm_up.now_ns());
        }
        while now_ns >= worker.stretch_ns(reporter.number + 1) {
            let tally = worker.tally_so_far(&reporter.spare);
            reporter.report(tally, worker.open(), None);
        }
        tokio::select! {
            biased;
            // In an open loop nothing may be due for a while before the end.
            () = worker.finished.notified(), if !finished => {
                finished = true;
                if !worker.is_open_loop || worker.common.schedule.is_used_up() {
                    return Ok(());
                }
            }
            expired = sweeps.expired() => expired?,
        }
    }
}

/// Starts the request loops, and waits until each has opened its first connection or failed to.
async fn prepare(worker: &Rc<Worker>, connections: usize) -> io::Result<Alarm> {
    let sweeps = Alarm::new()?;
    sweeps.every((worker.plan.timeout / 5).clamp(SHORTEST_SWEEP, SWEEP))?;
    spawn_request_loops(worker, connections);
    let opening = worker.plan.opening_time();
    let began = Instant::now();
    while began.elapsed() < LONGEST_OPENING.saturating_add(opening)
        && !worker.common.stop.load(Ordering::Relaxed)
        && (opening.is_zero() || !worker.reaches_no_server())
    {
        tokio::select! {
            biased;
            () = worker.prepared.notified() => break,
            expired = sweeps.expired() => expired?,
        }
        worker.sweep(worker.now_ns());
    }
    Ok(sweeps)
}

/// Starts the request loops, and the timer that wakes them when a request is due.
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
    for worker in worker.warm_up.iter().chain([worker]) {
        if !worker.is_open_loop && !worker.ramps() {
            continue;
        }
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

/// Sends the measurements of a thread.
struct Reporter {
    thread: usize,
    is_warm_up: bool,
    number: u64,
    stretches: Sender<Stretch>,
    spare: Receiver<Tally>,
}

impl Reporter {
    fn report(&mut self, tally: Tally, open: u64, last: Option<Last>) {
        let (end, labels, addresses, stages, blocks) = match last {
            None => (None, Vec::new(), AddressTallies::default(), None, None),
            Some(last) => (
                Some(last.end),
                last.labels,
                last.addresses,
                last.stages,
                last.blocks,
            ),
        };
        let stretch = Stretch {
            thread: self.thread,
            is_warm_up: self.is_warm_up,
            number: self.number,
            open,
            tally,
            labels,
            addresses,
            last: end,
            stages,
            blocks,
        };
        self.number += 1;
        // The receiver is gone if the run was abandoned.
        drop(self.stretches.send(stretch));
    }
}
