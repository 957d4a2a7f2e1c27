//! A common start of the threads that measure a link, and their timeouts.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Barrier, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

use dyno_link::Nanos;

use crate::cpu::CpuSet;
use crate::link::scheduling;

/// How late a probe or the end of a train may arrive.
pub(super) const PATIENCE: Duration = Duration::from_millis(20);
/// Time from when all threads are ready to the first packet; also how early a thread is woken.
pub(super) const LEAD: Duration = Duration::from_millis(1);

/// A common start of all threads.
pub(super) struct Start {
    ready: Barrier,
    begin: OnceLock<Instant>,
    stopped: AtomicBool,
}

/// The common start time, and whether to stop.
pub(super) struct Begun<'s> {
    pub(super) at: Instant,
    stopped: &'s AtomicBool,
}

impl Begun<'_> {
    /// Sleep until shortly before a moment.
    pub(super) fn sleep_until(&self, moment: Instant) {
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            if left <= LEAD || self.is_stopped() {
                return;
            }
            sleep(left.saturating_sub(LEAD).min(PATIENCE));
        }
    }

    /// Return whether to stop waiting for arrivals due by this moment.
    pub(super) fn is_over(&self, until: Instant) -> bool {
        self.is_stopped() || Instant::now() > until
    }

    /// Return whether to stop sending.
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

    /// End the threads that wait or send.
    pub(super) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// Pin the calling thread and raise its priority, so that the measurement does not include waits for a CPU; return
    /// the common start time.
    pub(super) fn wait(&self, cpus: Option<&CpuSet>) -> Begun<'_> {
        // The subject's CPUs are idle; if they are not available, any other CPU will do.
        let _ = cpus.map(CpuSet::pin);
        scheduling::raise_priority();
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
