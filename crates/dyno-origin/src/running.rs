//! A running origin: its progress, its trials and their records.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use dyno_web::Fault;
use rustix::thread::Pid;
use tokio::sync::mpsc::UnboundedSender;
use tokio::sync::oneshot;

use crate::access_log::AccessLog;
use crate::counters::{self, Counters};
use crate::error::Error;
use crate::listen;
use crate::live::{Shared, Snapshot};
use crate::report::OriginReport;
use crate::serving::{self, Plan};
use crate::throughput::Throughput;
use crate::worker::{Seen, TurnOver};

/// A running origin. Dropping it stops it.
#[derive(Debug)]
pub struct Running {
    pub(crate) threads: Vec<Thread>,
    /// Thread ids.
    pub(crate) numbers: Vec<Pid>,
    /// Senders of the order to start a new trial, one per thread.
    pub(crate) orders: Vec<UnboundedSender<TurnOver>>,
    /// Counters at the start of the trial.
    pub(crate) before: Mutex<Before>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) http: Vec<SocketAddr>,
    pub(crate) https: Vec<SocketAddr>,
    pub(crate) dns: Vec<SocketAddr>,
}

/// Counters that continue from trial to trial, as read when one began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Before {
    /// Time that the threads had waited for their CPUs.
    waited_ns: Option<u64>,
    snapshot: Snapshot,
}

impl Default for Before {
    fn default() -> Self {
        Self {
            waited_ns: Some(0),
            snapshot: Snapshot::default(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Thread {
    /// Dropping it stops the thread.
    stop: oneshot::Sender<()>,
    thread: JoinHandle<Option<Seen>>,
}

/// Everything that an origin observed.
#[derive(Debug)]
pub struct Record {
    /// Its counters.
    pub report: OriginReport,
    /// Answers completed in each 200 ms after [`Running::begin`].
    pub throughput: Throughput,
    /// Every request, if they were logged.
    pub arrivals: AccessLog,
    /// Names that were looked up and have a fault: the first 100 of each thread.
    pub faulty_names: BTreeMap<String, Fault>,
    /// The first names for which the web chose a status of 400 or more, with the first such status.
    pub refusing_names: BTreeMap<String, u16>,
    /// Handshakes that the client ended with an alert, although the host has no TLS fault.
    pub handshakes_refused: u64,
}

impl Running {
    pub(crate) fn spawn(mut self, plans: Vec<Plan>) -> Result<Self, Error> {
        let (ready, begun) = mpsc::channel();
        for plan in plans {
            let (stop, stopped) = oneshot::channel();
            let ready = ready.clone();
            let thread = thread::Builder::new()
                .name(format!("origin-{}", plan.index))
                .spawn(move || serving::run(plan, &ready, stopped))
                .map_err(Error::Thread)?;
            self.threads.push(Thread { stop, thread });
        }
        for _ in &self.threads {
            let number = begun
                .recv()
                .expect("every thread reports whether it could begin")?;
            self.numbers.push(number);
        }
        Ok(self)
    }

    /// The congestion control of its connections; `None` if the kernel does not report it.
    #[must_use]
    pub fn congestion_control() -> Option<String> {
        listen::congestion_control().ok()
    }

    /// Bound addresses of plain HTTP, in the order of the options.
    #[must_use]
    pub fn http(&self) -> &[SocketAddr] {
        &self.http
    }

    /// Bound addresses of HTTP over TLS.
    #[must_use]
    pub fn https(&self) -> &[SocketAddr] {
        &self.https
    }

    /// Bound addresses of DNS.
    #[must_use]
    pub fn dns(&self) -> &[SocketAddr] {
        &self.dns
    }

    /// Starts the trial: the throughput series, and the time waited for CPUs, count from now on.
    pub fn begin(&self) {
        let before = Before {
            waited_ns: dyno_io::waited_ns(&self.numbers),
            ..*self.before()
        };
        *self.before() = before;
        self.shared.begin();
    }

    /// Starts a trial on an origin that has served others: discards all earlier observations, and logs every request
    /// from now on for [`AccessLog::write_csv`].
    pub fn begin_anew(&self) {
        drop(self.turn_over(true));
        *self.before() = Before {
            waited_ns: dyno_io::waited_ns(&self.numbers),
            snapshot: self.shared.snapshot(),
        };
        self.shared.begin();
    }

    /// Ends the trial and returns its observations. The origin continues to serve, and logs no requests.
    #[must_use]
    pub fn end_trial(&self) -> Record {
        let waited_ns = dyno_io::waited_ns(&self.numbers);
        let seen = self.turn_over(false);
        self.record(seen, waited_ns)
    }

    /// Collects the observations of all threads.
    fn turn_over(&self, log_arrivals: bool) -> Vec<Seen> {
        let (seen, received) = mpsc::channel();
        for orders in &self.orders {
            let seen = seen.clone();
            // A thread that has ended has no observations.
            drop(orders.send(TurnOver { log_arrivals, seen }));
        }
        drop(seen);
        received.into_iter().collect()
    }

    fn before(&self) -> std::sync::MutexGuard<'_, Before> {
        // The lock guards one value that is stored at once, so a panic leaves nothing inconsistent.
        self.before.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the progress, with a few loads.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot {
        self.shared.snapshot().since(&self.before().snapshot)
    }

    /// Stops serving and closes all open connections.
    ///
    /// # Panics
    ///
    /// If a thread of the origin panicked.
    #[must_use]
    pub fn stop(mut self) -> Record {
        let waited_ns = dyno_io::waited_ns(&self.numbers);
        let (stops, threads): (Vec<_>, Vec<_>) = self
            .threads
            .drain(..)
            .map(|one| (one.stop, one.thread))
            .unzip();
        drop(stops);
        let seen = threads
            .into_iter()
            .filter_map(|thread| match thread.join() {
                Ok(seen) => seen,
                Err(panic) => std::panic::resume_unwind(panic),
            })
            .collect();
        self.record(seen, waited_ns)
    }

    fn record(&self, seen: Vec<Seen>, waited_ns: Option<u64>) -> Record {
        let (counted, logs): (Vec<_>, Vec<_>) = seen.into_iter().unzip();
        let faulty_names = counted
            .iter()
            .flat_map(|thread: &Counters| thread.faulty_names.clone())
            .collect();
        let refusing_names = counted
            .iter()
            .flat_map(|thread| thread.refusing_names.clone())
            .collect();
        let handshakes_refused = counted.iter().map(|thread| thread.handshakes_refused).sum();
        let (report, throughput) = counters::merge(counted);
        let arrivals = AccessLog::new(logs);
        let before = *self.before();
        let snapshot = self.snapshot();
        let report = OriginReport {
            repeated: report.requests - arrivals.distinct_urls(),
            peak_concurrency: self.shared.peak(),
            sent_bytes: snapshot.sent_bytes,
            received_bytes: snapshot.received_bytes,
            waiting_ns: waited_ns
                .zip(before.waited_ns)
                .map(|(now, before)| now.saturating_sub(before)),
            ..report
        };
        Record {
            report,
            throughput,
            arrivals,
            faulty_names,
            refusing_names,
            handshakes_refused,
        }
    }
}
