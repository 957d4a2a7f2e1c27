//! The crawl: reads a line when a slot is free, starts URLs as the limits of their hosts allow, ends when all rows
//! are printed.

use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use dyno_client::{Failure, tls};
use thiserror::Error;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep_until;
use url::Url;

use crate::host_limits::HostLimits;
use crate::input::{Line, Lines};
use crate::listed;
use crate::options::Options;
use crate::output::{Failed, Output};
use crate::progress::{self, Progress, Snapshot};
use crate::report::Report;
use crate::resume;
use crate::save::{self, Folder};
use crate::shared::Shared;
use crate::walk::walk;

/// URLs of busy hosts that are set aside, per slot: enough to fill the slots even from a list sorted by host, with
/// little memory.
const ASIDE_PER_SLOT: usize = 64;

/// How a crawl ended.
#[derive(Debug)]
pub enum End {
    /// All rows are printed.
    Finished(Box<Report>),
    /// The signal with this number ended the crawl.
    Interrupted(i32, Box<Report>),
    /// The reader of the rows closed its end.
    ReaderGone,
}

/// Reason why a crawl ends early.
#[derive(Debug, Error)]
pub enum Error {
    /// The trusted certificates cannot be used.
    #[error("--cacert {}", file.display())]
    Tls {
        /// File of the certificates; empty if the option was not given.
        file: PathBuf,
        /// Error of TLS.
        source: tls::Error,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Resume(#[from] resume::Error),
    /// The folder for contents cannot be used.
    #[error(transparent)]
    Save(#[from] save::Error),
    /// The list cannot be read.
    #[error("standard input: {0}")]
    Input(io::Error),
    /// Rows cannot be written.
    #[error("standard output")]
    Output(#[source] io::Error),
    /// Sockets or signals cannot be set up.
    #[error("starting: {0}")]
    Start(io::Error),
}

impl Error {
    /// Whether the command line named a wrong file, folder or list.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        match self {
            Self::Resume(error) => error.is_mistake(),
            Self::Save(error) => error.is_mistake(),
            _ => false,
        }
    }
}

/// Fetches the URLs of `input` and prints one row each to `output`.
///
/// # Errors
///
/// If the crawl cannot continue. A problem with a URL or a host is in its row.
pub fn run(options: Options, input: OwnedFd, output: OwnedFd) -> Result<End, Error> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let runtime = runtime.map_err(Error::Start)?;
    let ended = LocalSet::new().block_on(&runtime, crawl(options, input, output));
    // Abandoned work is not waited for.
    runtime.shutdown_background();
    ended
}

async fn crawl(mut options: Options, input: OwnedFd, output: OwnedFd) -> Result<End, Error> {
    let folder = options.save.as_deref().map(Folder::open).transpose()?;
    let journal = match &options.resume {
        None => None,
        Some(path) => {
            let rows = Some(output.try_clone().map_err(Error::Output)?);
            let contents = folder.as_ref().map(Folder::on_disk).transpose()?;
            let synced = options
                .sync
                .then(|| rows.into_iter().chain(contents).collect());
            Some(resume::open(path, synced)?)
        }
    };
    let lines = Lines::new(input).map_err(Error::Input)?;
    let output = Rc::new(Output::new(output, journal).map_err(Error::Output)?);
    let (started, begun) = (SystemTime::now(), Instant::now());
    let mut signals = Signals::new().map_err(Error::Start)?;
    let progress = Progress::new(options.progress.take(), begun);
    let file = options.cacert.clone().unwrap_or_default();
    let crawl = Crawl::new(
        Rc::new(Shared::new(options, folder).map_err(|source| Error::Tls { file, source })?),
        output.clone(),
        progress,
    );
    let shared = crawl.shared.clone();
    let report =
        |interrupted| Box::new(Report::new(&shared, started, begun.elapsed(), interrupted));
    let mut pump = pin!(output.pump());
    let number = tokio::select! {
        biased;
        failed = &mut pump => return failed.unwrap_err().into(),
        number = signals.next() => number,
        ended = crawl.run(lines) => return ended.map(|()| End::Finished(report(false))),
    };
    // Adds the printed rows to the journal, unless a second signal arrives.
    tokio::select! {
        biased;
        _ = signals.next() => {}
        failed = &mut pump => return failed.unwrap_err().into(),
        () = output.noted() => {}
    }
    Ok(End::Interrupted(number, report(true)))
}

impl From<Failed> for Result<End, Error> {
    fn from(failed: Failed) -> Self {
        match failed {
            Failed::Stream(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                Ok(End::ReaderGone)
            }
            Failed::Stream(error) => Err(Error::Output(error)),
            Failed::Journal(error) => Err(error.into()),
        }
    }
}

/// The signals that end a crawl cleanly.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn next(&mut self) -> i32 {
        tokio::select! {
            _ = self.terminate.recv() => SignalKind::terminate().as_raw_value(),
            _ = self.interrupt.recv() => SignalKind::interrupt().as_raw_value(),
        }
    }
}

/// A running crawl.
struct Crawl {
    shared: Rc<Shared>,
    output: Rc<Output>,
    progress: Progress,
    slots: usize,
    /// Tasks of the started URLs; each returns its host, if hosts have limits.
    under_way: JoinSet<Option<Rc<str>>>,
    limits: Option<HostLimits<Listed>>,
}

/// A line of the list with its parsed URL.
struct Listed {
    line: Line,
    url: Result<Url, Failure>,
}

impl Crawl {
    fn new(shared: Rc<Shared>, output: Rc<Output>, progress: Progress) -> Self {
        let options = &shared.options;
        // A URL has one connection at a time; with fewer connections than slots, URLs would wait for a connection
        // while their time runs.
        let slots = options.concurrency.min(options.connections).max(1);
        let limited = options.per_host.is_some() || !options.delay.is_zero();
        let most_at_once = options.per_host.unwrap_or(usize::MAX);
        let limits = limited.then(|| {
            HostLimits::new(
                most_at_once,
                options.delay,
                slots.saturating_mul(ASIDE_PER_SLOT),
            )
        });
        Self {
            shared,
            output,
            progress,
            slots,
            under_way: JoinSet::new(),
            limits,
        }
    }

    async fn run(mut self, mut lines: Lines) -> Result<(), Error> {
        let (mut ended, mut tick) = (false, tokio::time::interval(progress::EVERY));
        loop {
            self.begin_waiting();
            if let Some(error) = self.shared.broken.take() {
                self.output.flushed().await;
                return Err(error.into());
            }
            let aside = self.limits.as_ref().map_or(0, HostLimits::aside);
            if ended && self.under_way.is_empty() && aside == 0 {
                break;
            }
            let congested = self.output.is_congested();
            let is_full = self.limits.as_ref().is_some_and(HostLimits::is_full);
            let has_slot = self.under_way.len() < self.slots && !congested;
            let (due, expiry) = (self.due(has_slot), self.shared.pool.borrow().next_expiry());
            tokio::select! {
                biased;
                Some(host) = self.under_way.join_next() => self.ended(host.ok().flatten()),
                line = lines.next(), if has_slot && !ended && !is_full => match line.map_err(Error::Input)? {
                    Some(line) => self.take(line)?,
                    None => ended = true,
                },
                () = self.output.relieved(), if congested => {}
                () = until(due) => {}
                () = until(expiry) => self.shared.pool.borrow_mut().expire(Instant::now()),
                _ = tick.tick(), if self.progress.is_watched() => self.watch(),
            }
        }
        self.output.flushed().await;
        self.watch();
        Ok(())
    }

    /// When the next URL may begin under the limits of its host.
    fn due(&self, has_slot: bool) -> Option<Instant> {
        self.limits.as_ref().filter(|_| has_slot)?.next_due()
    }

    fn take(&mut self, line: Line) -> Result<(), Error> {
        if self.output.is_done(line.number, &line.bytes)? {
            return Ok(());
        }
        let url = listed::parse(&line.bytes);
        let listed = Listed { line, url };
        match (&mut self.limits, listed.host()) {
            (Some(limits), Some(host)) => limits.offer(&host, listed, Instant::now()),
            // A line without a host is not limited.
            _ => self.begin(listed, None),
        }
        Ok(())
    }

    /// Starts URLs whose hosts allow it, while slots are free.
    fn begin_waiting(&mut self) {
        while self.under_way.len() < self.slots {
            let Some((host, listed)) = self
                .limits
                .as_mut()
                .and_then(|limits| limits.next(Instant::now()))
            else {
                return;
            };
            self.begin(listed, Some(host));
        }
    }

    fn begin(&mut self, Listed { line, url }: Listed, host: Option<Rc<str>>) {
        let (shared, output) = (self.shared.clone(), self.output.clone());
        self.under_way.spawn_local(async move {
            walk(&shared, &output, &line, url).await;
            host
        });
    }

    fn ended(&mut self, host: Option<Rc<str>>) {
        if let (Some(limits), Some(host)) = (&mut self.limits, host) {
            limits.ended(&host);
        }
    }

    fn watch(&mut self) {
        let snapshot = {
            let tally = self.shared.tally.borrow();
            Snapshot {
                done: tally.done,
                errors: tally.errors.values().sum(),
                in_flight: self.under_way.len(),
                aside: self.limits.as_ref().map_or(0, HostLimits::aside),
            }
        };
        self.progress.write(snapshot, Instant::now());
    }
}

impl Listed {
    /// The host whose limits apply.
    fn host(&self) -> Option<Box<str>> {
        Some(self.url.as_ref().ok()?.host_str()?.into())
    }
}

/// Waits until a moment; `None` waits forever.
async fn until(moment: Option<Instant>) {
    /// Shortest wait, so that a timer is never set for a moment in the past while another branch is ready.
    const LEAST: Duration = Duration::from_micros(1);
    match moment {
        Some(moment) => sleep_until(moment.max(Instant::now() + LEAST).into()).await,
        None => std::future::pending().await,
    }
}
