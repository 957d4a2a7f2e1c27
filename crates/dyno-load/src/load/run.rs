//! A run from its start to its report.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use super::aggregate::{Aggregate, Live};
use super::connector::{Connector, Reachable};
use super::error::Error;
use super::hdr_log;
use super::names;
use super::pacer::Pacer;
use super::plan::Plan;
use super::report::Report;
use super::samples;
use super::schedule::Schedule;
use super::summing_up::report;
use super::tally::{Tally, Times};
use super::thread::{self as load_thread, Parts, Stretch};
use super::usage::Cpu;
use super::worker::Common;
use crate::open_files;
use crate::transport::{Traffic, tls};

/// How long the stretches are in which a run is told of to whoever watches, and to nobody.
const WATCHED: Duration = Duration::from_millis(200);
const UNWATCHED: Duration = Duration::from_secs(1);

/// Whoever wants to know how a run is going.
pub type Watch<'w> = &'w mut dyn FnMut(&Live);

/// Sends what the plan says until it ends, or `stop` is set.
///
/// # Errors
///
/// If it cannot begin, or a file cannot be written. What fails of the requests is in the report. Where connections fail and
/// nothing was sent for a second, such as with a port where nobody listens, it ends.
pub fn run(
    plan: Plan,
    stop: &Arc<AtomicBool>,
    mut watch: Option<Watch<'_>>,
) -> Result<Report, Error> {
    let _ = open_files::raise();
    let plan = Arc::new(plan);
    let mut dns = Times::default();
    let servers = names::reachable(
        plan.requests.servers(),
        &plan.reroute,
        plan.timeout,
        stop,
        &mut dns,
    );
    let client = client(&plan)?;
    let writer = match &plan.samples {
        Some(path) => {
            let writer = samples::Writer::start(path, plan.clone());
            Some((
                path,
                writer.map_err(|source| Error::create("--samples", path, source))?,
            ))
        }
        None => None,
    };
    let mut log = HdrLog::create(&plan, SystemTime::now())?;

    let threads = plan.cpus.len().clamp(1, plan.connections);
    let stretch = if watch.is_some() { WATCHED } else { UNWATCHED };
    let common = Arc::new(Common {
        schedule: Schedule::new(
            plan.pace.map(|(rate, arrivals)| Pacer::new(rate, arrivals)),
            plan.termination,
        ),
        plan: plan.clone(),
        stop: stop.clone(),
        ready: Barrier::new(threads + 1),
        stretch,
    });
    let (told, listening) = mpsc::channel();
    let mut crew = Crew::start(&common, threads, &servers, client.as_ref(), &told, |_| {
        writer.as_ref().map(|(_, writer)| writer.sender())
    })?;
    drop(told);
    common.ready.wait();
    let before = Cpu::now();
    // Connections were opened before: a server whose queue overflows takes seconds for it, and all times count from here.
    let started = SystemTime::now();
    crew.go(Instant::now());

    let mut aggregate = Aggregate::new(threads, stretch);
    aggregate.total.dns.merge(&dns);
    listen(
        &listening,
        &mut aggregate,
        &crew,
        &mut log,
        &mut watch,
        stop,
    )?;
    let cpu = Cpu::now().since_s(&before);
    let traffic = crew.join()?;
    if let Some((path, writer)) = writer {
        writer
            .finish()
            .map_err(|source| Error::file(path, source))?;
    }
    log.finish()?;
    let interrupted = stop.load(Ordering::Relaxed);
    Ok(report(
        &plan,
        &common,
        &aggregate,
        started,
        interrupted,
        cpu,
        &traffic,
    ))
}

fn client(plan: &Plan) -> Result<Option<tls::Client>, Error> {
    if !plan.requests.servers().iter().any(|server| server.is_tls) {
        return Ok(None);
    }
    let trust = if plan.insecure {
        tls::Trust::Anybody
    } else {
        tls::Trust::Authorities(plan.authorities.as_deref())
    };
    let protocols: &[&[u8]] = if plan.http2 { &[b"h2"] } else { &[b"http/1.1"] };
    let client = tls::Client::new(trust, protocols).map_err(|source| Error::Authorities {
        path: plan.authorities.clone().unwrap_or_default(),
        source,
    })?;
    Ok(Some(client))
}

/// The threads of a run.
struct Crew {
    threads: Vec<thread::JoinHandle<io::Result<()>>>,
    starts: Vec<Sender<Instant>>,
    spares: Vec<Sender<Tally>>,
    traffic: Vec<Arc<Traffic>>,
}

impl Crew {
    fn start(
        common: &Arc<Common>,
        threads: usize,
        servers: &[Reachable],
        client: Option<&tls::Client>,
        told: &Sender<Stretch>,
        samples: impl Fn(usize) -> Option<mpsc::SyncSender<Vec<samples::Sample>>>,
    ) -> Result<Self, Error> {
        let plan = &common.plan;
        let mut crew = Self {
            threads: Vec::new(),
            starts: Vec::new(),
            spares: Vec::new(),
            traffic: Vec::new(),
        };
        for index in 0..threads {
            let (start, starting) = mpsc::channel();
            let (spare, spares) = mpsc::channel();
            let traffic = Arc::new(Traffic::default());
            // The first ones have one more where they cannot be shared out evenly.
            let own = |thread: usize| plan.connections * thread / threads;
            let parts = Parts {
                index,
                cpu: plan.cpus.get(index).copied(),
                connections: own(index + 1) - own(index),
                first_connection: own(index),
                common: common.clone(),
                connector: Connector::new(
                    servers.to_vec(),
                    client.cloned(),
                    plan.http2,
                    traffic.clone(),
                ),
                start: starting,
                told: told.clone(),
                spare: spares,
                samples: samples(index),
            };
            let thread = thread::Builder::new().name(format!("load-{index}"));
            let thread = thread.spawn(move || load_thread::run(parts));
            crew.threads.push(thread.map_err(Error::Thread)?);
            crew.starts.push(start);
            crew.spares.push(spare);
            crew.traffic.push(traffic);
        }
        Ok(crew)
    }

    fn go(&mut self, start: Instant) {
        for sender in self.starts.drain(..) {
            // A thread that could not begin says why when it is joined.
            let _ = sender.send(start);
        }
    }

    fn join(self) -> Result<Vec<Arc<Traffic>>, Error> {
        for thread in self.threads {
            match thread.join() {
                Ok(ended) => ended.map_err(Error::Thread)?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(self.traffic)
    }
}

/// Puts together what the threads tell until the last has told its last; ends a run that finds nobody to send to.
fn listen(
    listening: &Receiver<Stretch>,
    aggregate: &mut Aggregate,
    crew: &Crew,
    log: &mut HdrLog,
    watch: &mut Option<Watch<'_>>,
    stop: &AtomicBool,
) -> Result<(), Error> {
    while !aggregate.is_over() {
        let Ok(told) = listening.recv() else {
            return Ok(());
        };
        let thread = told.thread;
        let (spare, ended) = aggregate.take(told);
        drop(crew.spares[thread].send(spare));
        for (number, tally) in &ended.seconds {
            log.second(*number, tally)?;
        }
        if !ended.seconds.is_empty() && aggregate.total.reaches_nobody() {
            stop.store(true, Ordering::Relaxed);
        }
        if let (Some(watch), Some(live)) = (watch.as_mut(), ended.live) {
            watch(&live);
        }
    }
    Ok(())
}

/// The log of histograms, where one is wanted.
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
