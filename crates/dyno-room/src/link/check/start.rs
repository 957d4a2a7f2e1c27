//! When the threads that measure a link begin, all at once, and until when they wait.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use dyno_link::Nanos;

use crate::cpu::CpuSet;
use crate::link::urgency;

/// How long after its time a probe may come back, or the rest of a train.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);
/// From the moment in which all are ready to the first packet; and how long before its time a thread is woken.
pub(super) const LEAD: Duration = Duration::from_millis(1);

/// A common beginning of all threads.
pub(super) struct Start {
    ready: Barrier,
    begin: OnceLock<Instant>,
    stopped: AtomicBool,
}

/// The moment from which all count, and whether they are to stop.
pub(super) struct Begun<'s> {
    pub(super) at: Instant,
    stopped: &'s AtomicBool,
}

impl Begun<'_> {
    /// Sleeps until shortly before a moment.
    pub(super) fn sleep_until(&self, moment: Instant) {
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if left <= LEAD || self.is_stopped() {
                return;
            }
            sleep(left.saturating_sub(LEAD).min(PATIENCE));
        }
    }

    /// Whether what is not there by this moment is not waited for any more.
    pub(super) fn is_over(&self, until: Instant) -> bool {
        self.is_stopped() || Instant::now() > until
    }

    /// Whether nothing more is to be sent.
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }
}

impl Start {
    pub(super) fn of(threads: usize) -> Self {
        Self {
            ready: Barrier::new(threads),
            begin: OnceLock::new(),
            stopped: AtomicBool::new(false),
        }
    }

    /// Has the threads that wait or send come to their end.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Has the calling thread run where and when it must, since it is the link that is to be measured and not the wait for a CPU; gives
    /// the moment from which all count.
    pub(super) fn wait(&self, cpus: Option<&CpuSet>) -> Begun<'_> {
        // The subject's CPUs have nothing to do yet; any other does too.
        let _ = cpus.map(CpuSet::pin);
        urgency::take();
        self.ready.wait();
        Begun {
            at: *self.begin.get_or_init(|| Instant::now() + LEAD),
            stopped: &self.stopped,
        }
    }
}

pub(super) fn length(time: Nanos) -> Duration {
    Duration::from_nanos(time.0)
}
