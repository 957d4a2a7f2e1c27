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
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::task::{LocalSet, spawn_local};

use crate::error::Error;
use crate::listen;
use crate::timer::Timer;
use serve::Calibrated;

/// Pause of accepting after an error that would recur at once, such as a lack of descriptors.
const REST: Duration = Duration::from_millis(1);

/// A listening server with a known behaviour, which does not serve yet.
#[derive(Debug)]
pub struct Calibrator {
    address: SocketAddr,
    listener: TcpListener,
    behaviour: Behaviour,
    keep_requests: bool,
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
        })
    }

    /// Keeps each request for the record: 48 bytes of memory for each.
    #[must_use]
    pub fn keep_requests(mut self, keep: bool) -> Self {
        self.keep_requests = keep;
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
        let tasks = LocalSet::new();
        let calibrated = tasks
            .block_on(&runtime, async { self.begin() })
            .map_err(Error::Thread)?;
        tasks.block_on(&runtime, stop);
        // Ends all tasks, which share the state.
        drop(tasks);
        drop(runtime);
        let calibrated = Rc::into_inner(calibrated).expect("all tasks have ended");
        // The thread never sleeps: whenever it did not run, another program had its CPU, or the CPU did not run at all.
        // Time that the host of a virtual machine took is not included.
        let ran = dyno_io::thread_cpu_time().saturating_sub(ran_before);
        Ok(calibrated.into_record(begun.elapsed().saturating_sub(ran)))
    }

    /// Starts the tasks that accept.
    fn begin(self) -> std::io::Result<Rc<Calibrated>> {
        let timer = Timer::without_alarm();
        spawn_local(stay_awake(timer.clone()));
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
