//! A server whose answers take a known time, against which load generators are calibrated.
//!
//! One thread serves HTTP/1.1 on one address; every path has the same small answer. The [`Behaviour`] alone decides
//! when it is sent. The [`Record`] contains the actual times, including the server's own lateness.

mod behaviour;
mod law;
mod record;
mod serve;

pub use behaviour::Behaviour;
pub use law::Law;
pub use record::{Distribution, Kept, Record};

use std::future::Future;
use std::net::{SocketAddr, TcpListener};
use std::num::NonZeroU64;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dyno_io::Alarm;
use rustix::thread::set_current_timer_slack;
use tokio::task::{LocalSet, spawn_local};

use crate::error::Error;
use crate::listen;
use crate::timer::Timer;
use serve::Calibrated;

/// Pause of accepting after an error that would recur at once, such as a lack of descriptors.
const REST: Duration = Duration::from_millis(1);
/// Bounds of the time before an answer is due in which the thread stays awake, and the step in which it adapts.
const LEAST_MARGIN: Duration = Duration::from_micros(20);
const MOST_MARGIN: Duration = Duration::from_micros(150);
const STEP_OF_MARGIN: Duration = Duration::from_nanos(200);

/// A listening server with a known behaviour, which does not serve yet.
#[derive(Debug)]
pub struct Calibrator {
    address: SocketAddr,
    listener: TcpListener,
    behaviour: Behaviour,
    keep_requests: bool,
    sleep: bool,
}

impl Calibrator {
    /// Listens on an address; port 0 selects a free one.
    ///
    /// # Errors
    ///
    /// If listening on the address fails.
    pub fn listen(address: SocketAddr, behaviour: Behaviour) -> Result<Self, Error> {
        let (address, listeners) = listen::tcp(address, 1)?;
        let listener = listeners
            .into_iter()
            .next()
            .expect("one listener was requested and created");
        Ok(Self {
            address,
            listener,
            behaviour,
            keep_requests: false,
            sleep: false,
        })
    }

    /// Keeps each request for the record: 48 bytes of memory for each.
    #[must_use]
    pub fn keep_requests(mut self, keep: bool) -> Self {
        self.keep_requests = keep;
        self
    }

    /// Sleeps until some tens of microseconds before an answer is due, instead of never: other threads may use its CPU, and answers
    /// are some microseconds later.
    #[must_use]
    pub fn sleep(mut self, sleep: bool) -> Self {
        self.sleep = sleep;
        self
    }

    /// The address on which it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves in this thread until `stop` completes; returns the record.
    ///
    /// # Errors
    ///
    /// If the thread cannot have a runtime or a timer.
    pub fn serve(self, stop: impl Future<Output = ()>) -> Result<Record, Error> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(Error::Thread)?;
        let (begun, ran_before) = (Instant::now(), dyno_io::thread_cpu_time());
        let (sleeps, waited_before) = (self.sleep, dyno_io::thread_waited_ns());
        let tasks = LocalSet::new();
        let calibrated = tasks
            .block_on(&runtime, async { self.begin() })
            .map_err(Error::Thread)?;
        tasks.block_on(&runtime, stop);
        // Ends all tasks, which share the state.
        drop(tasks);
        drop(runtime);
        let calibrated = Rc::into_inner(calibrated).expect("all tasks have ended");
        let waited = if sleeps {
            // Time in which it could have run and another program had its CPU.
            let waited = dyno_io::thread_waited_ns().zip(waited_before);
            let waited_ns = waited.map_or(0, |(after, before)| after.saturating_sub(before));
            Duration::from_nanos(waited_ns)
        } else {
            // The thread never sleeps: whenever it did not run, another program had its CPU, or the CPU did not run at all.
            // Time that the host of a virtual machine took is not included.
            let ran = dyno_io::thread_cpu_time().saturating_sub(ran_before);
            begun.elapsed().saturating_sub(ran)
        };
        Ok(calibrated.into_record(waited))
    }

    /// Starts the tasks that accept.
    fn begin(self) -> std::io::Result<Rc<Calibrated>> {
        let timer = Timer::without_alarm();
        if self.sleep {
            // The default slack of 50 us would delay each sleep; a kernel that refuses this delays more.
            let _ = set_current_timer_slack(Some(NonZeroU64::MIN));
            spawn_local(sleep_until_due(timer.clone(), Alarm::new()?));
        } else {
            spawn_local(stay_awake(timer.clone()));
        }
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        let calibrated = Rc::new(Calibrated::new(&self.behaviour, self.keep_requests, timer));
        let shared = calibrated.clone();
        spawn_local(async move {
            loop {
                if let Ok((stream, _)) = listener.accept().await {
                    spawn_local(serve::serve(shared.clone(), stream));
                } else {
                    shared.rest(REST).await;
                }
            }
        });
        Ok(calibrated)
    }
}

/// Keeps the thread awake: it has a CPU to itself, and the host of a virtual machine may take milliseconds to run a
/// sleeping processor, which would be part of the times that a load generator is compared with. Each round also sends the
/// answers that are due, some ten microseconds earlier than an alarm would.
async fn stay_awake(timer: Rc<Timer>) {
    loop {
        timer.wake().expect("there is no alarm to set");
        // Lets the kernel's own threads run their deferred work.
        rustix::thread::sched_yield();
        tokio::task::yield_now().await;
    }
}

/// Wakes the tasks that are due, and sleeps until shortly before the next one. The margin follows how late the alarm is:
/// one alarm in twenty is later than it.
async fn sleep_until_due(timer: Rc<Timer>, alarm: Alarm) {
    let mut margin = LEAST_MARGIN;
    loop {
        timer.wake().expect("there is no alarm to set");
        let Some(first) = timer.first() else {
            timer.earlier().await;
            continue;
        };
        let now = Instant::now();
        let sleep = first.saturating_duration_since(now).saturating_sub(margin);
        if sleep.is_zero() || alarm.set(sleep).is_err() {
            tokio::task::yield_now().await;
            continue;
        }
        let wakes = now + sleep;
        tokio::select! {
            biased;
            expired = alarm.expired() => {
                let late = Instant::now().saturating_duration_since(wakes);
                margin = match expired {
                    Ok(()) => next_margin(margin, late),
                    Err(_) => MOST_MARGIN,
                };
            }
            () = timer.earlier() => {}
        }
    }
}

/// The margin after an alarm that was `late`: grows by 19 steps or shrinks by one, so that it stays where one in twenty is later (Robbins
/// and Monro 1951).
fn next_margin(margin: Duration, late: Duration) -> Duration {
    let next = if late > margin {
        margin + 19 * STEP_OF_MARGIN
    } else {
        margin.saturating_sub(STEP_OF_MARGIN)
    };
    next.clamp(LEAST_MARGIN, MOST_MARGIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_margin_stays_where_one_alarm_in_twenty_is_later() {
        let mut margin = LEAST_MARGIN;
        // Lateness of 0 to 99 us in a fixed order that covers all values evenly.
        for alarm in 0..20_000_u64 {
            margin = next_margin(margin, Duration::from_micros(alarm * 37 % 100));
        }
        let micros = margin.as_micros();
        assert!((85..=105).contains(&micros), "{micros}");
        assert_eq!(
            next_margin(MOST_MARGIN, Duration::from_secs(1)),
            MOST_MARGIN
        );
        assert_eq!(next_margin(LEAST_MARGIN, Duration::ZERO), LEAST_MARGIN);
    }
}
