//! The crawl: reads a line when a slot is free, starts URLs as the limits of their hosts allow, ends when all rows
//! are printed.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};

use dyno_client::Failure;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::sleep_until;
use url::Url;

use crate::error::Error;
use crate::host_limits::HostLimits;
use crate::input::{Line, Lines};
use crate::listed;
use crate::options::Options;
use crate::output::{Failed, Output};
use crate::progress::{self, Figures, Progress};
use crate::report::Report;
use crate::resume;
use crate::row::HEADER;
use crate::rows_file::RowsFile;
use crate::save::Folder;
use crate::shared::Shared;
use crate::walk::walk;
use crate::warc::Warc;

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
    let warc = match &options.warc {
        None => None,
        Some(path) => Some(Warc::open(path, &options)?),
    };
    let journal = match &options.resume {
        None => None,
        Some(path) => {
            let rows = Some(output.try_clone().map_err(Error::Output)?);
            let contents = folder.as_ref().map(Folder::on_disk).transpose()?;
            let archive = warc.as_ref().map(Warc::on_disk).transpose()?;
            let synced = options
                .sync
                .then(|| rows.into_iter().chain(contents).chain(archive).collect());
            let rows = match &options.rows_file {
                None => None,
                Some(path) => {
                    let file = output.try_clone().map_err(Error::Output)?;
                    RowsFile::new(path.clone(), file.into()).map_err(Error::Output)?
                }
            };
            Some(resume::open(path, synced, rows)?)
        }
    };
    let lines = Lines::new(input).map_err(Error::Input)?;
    let output = Rc::new(Output::new(output, journal).map_err(Error::Output)?);
    if options.column_names {
        output.begin(HEADER);
    }
    let (started, begun) = (SystemTime::now(), Instant::now());
    let mut signals = Signals::new().map_err(Error::Start)?;
    let progress = Progress::new(options.progress.take(), options.observer.take(), begun);
    let file = options.cacert.clone().unwrap_or_default();
    let crawl = Crawl::new(
        Rc::new(Shared::new(options, folder, warc).map_err(|source| Error::Tls { file, source })?),
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
        ended = crawl.run(lines) => {
            ended?;
            shared.close_archive()?;
            return Ok(End::Finished(report(false)));
        }
    };
    // Adds the printed rows to the journal, unless a second signal arrives.
    tokio::select! {
        biased;
        _ = signals.next() => {}
        failed = &mut pump => return failed.unwrap_err().into(),
        () = output.noted() => {}
    }
    shared.close_archive()?;
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
    /// URLs in flight by host, while an observer counts them.
    hosts: Option<HashMap<Rc<str>, usize>>,
    /// Lines taken from the list.
    lines: u64,
}

/// A line of the list with its parsed URL.
struct Listed {
    line: Line,
    url: Result<Url, Failure>,
}

impl Crawl {
    fn new(shared: Rc<Shared>, output: Rc<Output>, progress: Progress) -> Self {
        let options = &shared.options;
        let slots = options.slots();
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
            hosts: progress.counts_hosts().then(HashMap::new),
            lines: 0,
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
                return Err(error);
            }
            let aside = self.limits.as_ref().map_or(0, HostLimits::aside);
            if ended && self.under_way.is_empty() && aside == 0 {
                break;
            }
            let congested = self.output.is_congested();
            let turns = &self.shared.turns;
            let is_full = self.limits.as_ref().is_some_and(HostLimits::is_full) || turns.is_full();
            let has_slot = self.in_flight() < self.slots && !congested;
            let (due, expiry) = (self.due(has_slot), self.shared.pool.borrow().next_expiry());
            tokio::select! {
                biased;
                Some(host) = self.under_way.join_next() => self.ended(host.ok().flatten()),
                () = turns.changed(), if turns.is_used() => {}
                line = lines.next(), if has_slot && !ended && !is_full => match line.map_err(Error::Input)? {
                    Some(line) => self.take(line)?,
                    None => ended = true,
                },
                () = self.output.relieved(), if congested => {}
                () = until(due) => {}
                () = until(expiry) => self.shared.pool.borrow_mut().expire(Instant::now()),
                _ = tick.tick(), if self.progress.is_watched() => self.watch(&lines),
            }
        }
        self.output.flushed().await;
        self.watch(&lines);
        Ok(())
    }

    /// When the next URL may begin under the limits of its host.
    fn due(&self, has_slot: bool) -> Option<Instant> {
        let limits = self.limits.as_ref().and_then(HostLimits::next_due);
        let due = limits.into_iter().chain(self.shared.turns.next_due());
        due.min().filter(|_| has_slot)
    }

    fn take(&mut self, line: Line) -> Result<(), Error> {
        if let Some(selection) = &mut self.shared.tally.borrow_mut().selection
            && !selection.takes(&line.bytes)
        {
            return Ok(());
        }
        self.lines += 1;
        if self.output.is_done(line.number, &line.bytes)? {
            self.shared.tally.borrow_mut().skipped += 1;
            return Ok(());
        }
        let url = listed::parse(&line.bytes, self.shared.options.strict_urls);
        let listed = Listed { line, url };
        match (&mut self.limits, listed.host()) {
            (Some(limits), Some(host)) => limits.offer(&host, listed, Instant::now()),
            (None, Some(host)) if self.hosts.is_some() => self.begin(listed, Some(host.into())),
            // A line without a host is not limited.
            _ => self.begin(listed, None),
        }
        Ok(())
    }

    /// URLs that occupy a slot.
    fn in_flight(&self) -> usize {
        self.under_way.len() - self.shared.turns.aside()
    }

    /// Starts URLs whose turn it is, while slots are free.
    fn begin_waiting(&mut self) {
        while self.in_flight() < self.slots {
            if self.shared.turns.start_next() {
                continue;
            }
            if self.shared.turns.is_full() {
                return;
            }
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
        if let (Some(hosts), Some(host)) = (&mut self.hosts, &host) {
            *hosts.entry(host.clone()).or_default() += 1;
        }
        let (shared, output) = (self.shared.clone(), self.output.clone());
        self.under_way.spawn_local(async move {
            walk(&shared, &output, &line, url).await;
            host
        });
    }

    fn ended(&mut self, host: Option<Rc<str>>) {
        let Some(host) = host else { return };
        if let Some(limits) = &mut self.limits {
            limits.ended(&host);
        }
        if let Some(hosts) = &mut self.hosts
            && let Entry::Occupied(mut count) = hosts.entry(host)
        {
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    fn watch(&mut self, lines: &Lines) {
        let (now, tally) = (Instant::now(), self.shared.tally.borrow());
        let set_aside = self.limits.as_ref().map_or(0, HostLimits::aside);
        let figures = Figures {
            elapsed: self.progress.elapsed(now),
            done: tally.done,
            skipped: tally.skipped,
            errors: &tally.errors,
            in_flight: self.in_flight(),
            hosts: self.hosts.as_ref().map_or(0, HashMap::len),
            aside: set_aside + self.shared.turns.aside(),
            received_bytes: self.shared.traffic.received_bytes(),
            lines: self.lines,
            list_bytes: lines.taken_bytes(),
        };
        self.progress.write(figures, now);
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
