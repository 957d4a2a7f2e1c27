//! A timer of a thread, accurate to some ten microseconds; the runtime's own timer rounds up to the next millisecond.

use std::io;
use std::os::fd::OwnedFd;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// A timer of the current thread's runtime.
#[derive(Debug)]
pub struct Alarm {
    clock: AsyncFd<OwnedFd>,
}

impl Alarm {
    /// Creates a timer that is not set.
    ///
    /// # Errors
    ///
    /// If the process cannot open further files.
    pub fn new() -> io::Result<Self> {
        let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
        let clock = timerfd_create(TimerfdClockId::Monotonic, flags)?;
        Ok(Self {
            clock: watch(clock)?,
        })
    }

    /// Waits for this long.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub async fn after(&self, wait: Duration) -> io::Result<()> {
        self.set(wait)?;
        self.expired().await
    }

    /// Sets the timer to expire once, after this time.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn set(&self, wait: Duration) -> io::Result<()> {
        self.set_both(wait, Duration::ZERO)
    }

    /// Sets the timer to expire periodically from now on.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn every(&self, period: Duration) -> io::Result<()> {
        self.set_both(period, period)
    }

    /// Waits until the timer expires; returns at once if it has expired since the last call.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub async fn expired(&self) -> io::Result<()> {
        loop {
            let mut ready = self.clock.readable().await?;
            // The number of expirations does not matter; reading it resets the descriptor's readiness.
            let read = ready.try_io(|clock| Ok(rustix::io::read(clock.get_ref(), &mut [0; 8])?));
            if let Ok(read) = read {
                return read.map(drop);
            }
        }
    }

    /// Like [`Alarm::expired`], for a task that waits for other events as well.
    ///
    /// # Errors
    ///
    /// The kernel's error.
    pub fn poll_expired(&self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            let mut ready = ready!(self.clock.poll_read_ready(context))?;
            let read = ready.try_io(|clock| Ok(rustix::io::read(clock.get_ref(), &mut [0; 8])?));
            if let Ok(read) = read {
                return Poll::Ready(read.map(drop));
            }
        }
    }

    fn set_both(&self, wait: Duration, period: Duration) -> io::Result<()> {
        let setting = Itimerspec {
            it_interval: timespec(period),
            // Zero would disarm the timer.
            it_value: timespec(wait.max(Duration::from_nanos(1))),
        };
        timerfd_settime(self.clock.get_ref(), TimerfdTimerFlags::empty(), &setting)?;
        Ok(())
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: duration.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: duration.subsec_nanos().into(),
    }
}

/// Registers a descriptor with the current thread's runtime, which reports when it is readable.
///
/// # Errors
///
/// If the descriptor cannot be polled.
#[expect(
    deprecated,
    reason = "an owned descriptor stays open and the same, as the new, unsafe function requires"
)]
pub fn watch(descriptor: OwnedFd) -> io::Result<AsyncFd<OwnedFd>> {
    AsyncFd::with_interest(descriptor, Interest::READABLE)
}
