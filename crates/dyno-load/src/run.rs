//! A run from its start to its report.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use dyno_client::{Reroute, Traffic, tls};

use crate::addresses;
use crate::aggregate::Aggregate;
use crate::arrival_process::ArrivalProcess;
use crate::by_proxy;
use crate::confidence::Batches;
use crate::connector::{Connector, Through};
use crate::error::Error;
use crate::hdr_log;
use crate::live::{Event, Second, Watch};
use crate::names::Names;
use crate::plan::Plan;
use crate::report::Report;
use crate::requests::Server;
use crate::samples;
use crate::schedule::{Numbers, Schedule};
use crate::summing_up::measured;
use crate::sums::{Before, Sums};
use crate::tally::{Tally, Times};
use crate::thread::{self as load_thread, Parts, Stretch};
use crate::usage::Cpu;
use crate::worker::Common;

/// Length of a stretch when an observer shows each.
const WATCHED: Duration = Duration::from_millis(200);
const UNWATCHED: Duration = Duration::from_secs(1);
/// Last part of a wait for the start, in which the clock is read all the time.
const SPIN: Duration = Duration::from_micros(500);
/// Interval at which a wait for the start looks at `stop`.
const STOP_CHECK: Duration = Duration::from_millis(50);

/// Runs the plan until it ends, or `stop` is set.
///
/// # Errors
///
/// If the run cannot begin, or a file cannot be written. Failed requests are no error: the report counts them. The run
/// ends early if it sends nothing for a second because connections fail, for instance to a closed port.
pub fn run(
    plan: Plan,
    stop: &Arc<AtomicBool>,
    mut watch: Option<Watch<'_>>,
) -> Result<Report, Error> {
    let _ = dyno_io::open_files::raise();
    let warm_up = plan.warm_up();
    let plan = Arc::new(Plan {
        // With a warm-up, connections begin in it.
        ramp: warm_up.as_ref().map_or(plan.ramp, |_| Duration::ZERO),
        ..plan
    });
    let mut dns = Times::default();
    let lookup = |servers: &[Server], reroute: &Reroute| {
        addresses::resolve_servers(servers, reroute, plan.timeout, stop, &mut dns)
    };
    let (found, ways) = by_proxy::resolve_servers(&plan.requests, &plan.reroute, lookup);
    let (names, keeper) = Names::start(found, plan.dns_refresh);
    let client = client(&plan)?;
    let writer = samples_writer(&plan)?;
    let mut log = HdrLog::create(&plan, SystemTime::now() + plan.warm_up)?;

    let thread_count = plan.cpus.len().clamp(1, plan.connections);
    let is_shown = watch.as_ref().is_some_and(|watch| watch.is_frequent);
    let stretch = if is_shown || plan.until.is_some() {
        WATCHED
    } else {
        UNWATCHED
    };
    // Requests after a warm-up continue its rows and numbers; a recording begins after it.
    let numbers = (warm_up.is_some() && plan.replay.is_none())
        .then(|| Numbers::new(plan.requests.values().rows_to_use_once(), plan.segment));
    let common = |plan: Arc<Plan>, is_warm_up, warm_up| {
        Arc::new(Common {
            schedule: Schedule::new(
                plan.pace
                    .as_ref()
                    .map(|(rate, arrivals)| ArrivalProcess::new(rate.clone(), arrivals.clone())),
                plan.termination,
                plan.segment,
            )
            .numbered_by(numbers.clone()),
            plan,
            stop: stop.clone(),
            ready: Barrier::new(thread_count + 1),
            stretch,
            reached: AtomicBool::new(false),
            is_warm_up,
            warm_up,
        })
    };
    let warm_up = warm_up.map(|plan| common(Arc::new(plan), true, None));
    let mut sums = Sums {
        warm_up: warm_up
            .as_ref()
            .map(|_| Aggregate::new(thread_count, stretch, true)),
        measured: Aggregate::new(thread_count, stretch, false),
        before: Before::default(),
    };
    sums.measured.batches = plan.until.map(Batches::new);
    sums.measured.packed_seconds = (plan.segment.count() > 1).then(Vec::new);
    let common = common(plan.clone(), false, warm_up);
    let (sender, stretches) = mpsc::channel();
    let mut threads = Threads::spawn(
        &common,
        thread_count,
        &ways,
        &names,
        client.as_ref(),
        &sender,
        |_| writer.as_ref().map(|(_, writer)| writer.sender()),
    )?;
    drop(sender);
    common.ready.wait();
    sums.before.cpu = Cpu::now();
    // Connections are already open here: if the server's listen queue overflows, opening takes seconds, and all
    // times count from here.
    let start = wait_for_start(plan.start_at, stop)?;
    let started = SystemTime::now() + plan.warm_up;
    threads.start(start);

    sums.measured.total.dns.merge(&dns);
    listen(
        &stretches, &mut sums, &threads, &mut log, &mut watch, &common,
    )?;
    let cpu = Cpu::now().since_s(&sums.before.cpu);
    let traffic = threads.join()?;
    drop(keeper);
    sums.measured.total.dns.merge(&names.lookups());
    if let Some((path, writer)) = writer {
        writer
            .finish()
            .map_err(|source| Error::file(&path, source))?;
    }
    log.finish()?;
    let measured = measured(
        &plan,
        &common,
        &sums,
        started,
        stop.load(Ordering::Relaxed),
        cpu,
        &traffic,
        &names,
    );
    let mut report = measured.report();
    report.sums = (plan.segment.count() > 1).then(|| Box::new(measured));
    Ok(report)
}

/// Waits until the moment at which all generators start, or until `stop` is set; returns the start. Without a moment,
/// it is now.
fn wait_for_start(moment: Option<Instant>, stop: &AtomicBool) -> Result<Instant, Error> {
    let Some(moment) = moment else {
        return Ok(Instant::now());
    };
    let late = moment.elapsed();
    if !late.is_zero() {
        return Err(Error::Late(late));
    }
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(moment);
        }
        if stop.load(Ordering::Relaxed) {
            return Ok(Instant::now());
        }
        // Sleeps end late; the last part of the wait spins, which delays no other generator.
        if left > SPIN {
            thread::sleep(left.saturating_sub(SPIN).min(STOP_CHECK));
        } else {
            std::hint::spin_loop();
        }
    }
}

/// Starts to write the samples, if they were requested.
fn samples_writer(plan: &Arc<Plan>) -> Result<Option<(PathBuf, samples::Writer)>, Error> {
    let Some(path) = &plan.samples else {
        return Ok(None);
    };
    let writer = samples::Writer::start(path, plan.clone());
    let writer = writer.map_err(|source| Error::create("--samples", path, source))?;
    Ok(Some((path.clone(), writer)))
}

fn client(plan: &Plan) -> Result<Option<tls::Client>, Error> {
    if !plan.requests.servers().iter().any(|server| server.is_tls) {
        return Ok(None);
    }
    let trust = if plan.insecure {
        tls::Trust::AnyCertificate
    } else {
        tls::Trust::Authorities(plan.authorities.as_deref())
    };
    let client = tls::Client::new(trust, &[plan.protocol], &plan.tls).map_err(|source| {
        Error::Authorities {
            path: plan.authorities.clone().unwrap_or_default(),
            source,
        }
    })?;
    Ok(Some(client))
}

/// The threads of a run.
struct Threads {
    handles: Vec<thread::JoinHandle<io::Result<()>>>,
    starts: Vec<Sender<Instant>>,
    spares: Vec<Sender<Tally>>,
    traffic: Vec<Arc<Traffic>>,
}

impl Threads {
    fn spawn(
        common: &Arc<Common>,
        count: usize,
        ways: &[(Server, Option<Through>)],
        names: &Arc<Names>,
        client: Option<&tls::Client>,
        stretches: &Sender<Stretch>,
        samples: impl Fn(usize) -> Option<mpsc::SyncSender<Vec<samples::Sample>>>,
    ) -> Result<Self, Error> {
        let plan = &common.plan;
        let mut threads = Self {
            handles: Vec::new(),
            starts: Vec::new(),
            spares: Vec::new(),
            traffic: Vec::new(),
        };
        for index in 0..count {
            let (start, starting) = mpsc::channel();
            let (spare, spares) = mpsc::channel();
            let traffic = Arc::new(Traffic::default());
            // If the connections do not divide evenly, the first threads have one more.
            let own = |thread: usize| plan.connections * thread / count;
            let parts = Parts {
                index,
                cpu: plan.cpus.get(index).copied(),
                connections: own(index + 1) - own(index),
                first_connection: own(index),
                common: common.clone(),
                connector: Connector::new(
                    ways,
                    names.clone(),
                    own(index),
                    client.cloned(),
                    plan.protocol,
                    plan.sockets.clone(),
                    traffic.clone(),
                ),
                start: starting,
                stretches: stretches.clone(),
                spare: spares,
                samples: samples(index),
            };
            let thread = thread::Builder::new().name(format!("load-{index}"));
            let thread = thread.spawn(move || load_thread::run(parts));
            threads.handles.push(thread.map_err(Error::Thread)?);
            threads.starts.push(start);
            threads.spares.push(spare);
            threads.traffic.push(traffic);
        }
        Ok(threads)
    }

    fn start(&mut self, start: Instant) {
        for sender in self.starts.drain(..) {
            // A thread that could not begin returns its error when it is joined.
            let _ = sender.send(start);
        }
    }

    fn join(self) -> Result<Vec<Arc<Traffic>>, Error> {
        for thread in self.handles {
            match thread.join() {
                Ok(ended) => ended.map_err(Error::Thread)?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(self.traffic)
    }
}

/// Adds up the stretches of all threads until each has sent its last; ends a run that reaches no server.
fn listen(
    stretches: &Receiver<Stretch>,
    sums: &mut Sums,
    threads: &Threads,
    log: &mut HdrLog,
    watch: &mut Option<Watch<'_>>,
    common: &Common,
) -> Result<(), Error> {
    while !sums.measured.is_over() {
        let Ok(stretch) = stretches.recv() else {
            return Ok(());
        };
        let thread = stretch.thread;
        let is_warm_up = stretch.is_warm_up;
        let aggregate = match &mut sums.warm_up {
            Some(warm_up) if is_warm_up => warm_up,
            _ => &mut sums.measured,
        };
        let (spare, ended) = aggregate.take(stretch);
        drop(threads.spares[thread].send(spare));
        if is_warm_up && aggregate.is_over() {
            sums.before = Before::now(&threads.traffic);
        }
        if let Some(watch) = watch {
            if let Some(live) = &ended.live {
                (watch.observer)(Event::Stretch(live));
            }
            for second in &ended.seconds {
                (watch.observer)(Event::Second(Second {
                    is_warm_up,
                    row: second.row,
                    end_s: second.end_s,
                    tally: &second.tally,
                }));
            }
        }
        if is_warm_up {
            continue;
        }
        if sums.measured.batches.as_ref().is_some_and(Batches::is_met) {
            common.reached.store(true, Ordering::Relaxed);
        }
        for second in &ended.seconds {
            log.second(second.row.at_s, &second.tally)?;
        }
        if !ended.seconds.is_empty() && sums.measured.total.reaches_no_server() {
            common.stop.store(true, Ordering::Relaxed);
        }
    }
    Ok(())
}

/// The log of histograms, if one was requested.
struct HdrLog(Option<(PathBuf, BufWriter<File>)>);

impl HdrLog {
    fn create(plan: &Plan, started: SystemTime) -> Result<Self, Error> {
        let Some(path) = &plan.hdr_log else {
            return Ok(Self(None));
        };
        let file = File::create(path).map_err(|source| Error::create("--hdr-log", path, source))?;
        let mut file = BufWriter::new(file);
        hdr_log::begin(&mut file, started).map_err(|source| Error::file(path, source))?;
        Ok(Self(Some((path.clone(), file))))
    }

    fn second(&mut self, number: u64, tally: &Tally) -> Result<(), Error> {
        let Some((path, file)) = &mut self.0 else {
            return Ok(());
        };
        let at = Duration::from_secs(number);
        hdr_log::second(file, at, Duration::from_secs(1), tally)
            .map_err(|source| Error::file(path, source))
    }

    fn finish(self) -> Result<(), Error> {
        let Some((path, file)) = self.0 else {
            return Ok(());
        };
        let written = file.into_inner().map_err(io::IntoInnerError::into_error);
        written
            .map(drop)
            .map_err(|source| Error::file(&path, source))
    }
}
