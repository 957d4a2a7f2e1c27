//! The thread that carries packets between the ends of a link.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use dyno_link::{Link, Way};

use super::chunk_pool::ChunkPool;
use super::line::{Done, Line};
use super::pace::Pace;
use super::scheduling;
use super::tun::Tun;
use super::wake_event::WakeEvent;
use crate::cpu::CpuSet;
use crate::cpu_time::CpuTime;
use crate::error::{Result, RoomError, Step};
use crate::process::thread_cpu_time;

/// The two ends of a link.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Sends the subject's packets and receives its peer's.
    pub(crate) subject: Tun,
    /// Sends the peer's packets and receives the subject's.
    pub(crate) peer: Tun,
}

/// Orders to the emulator's thread.
#[derive(Debug)]
enum Order {
    /// Discard all packets, restart packet numbers at 0 and reset the CPU time.
    Begin(Sender<()>),
    /// Report the counters since the last `Begin`.
    Report(Sender<EmulatorTotals>),
    End,
}

/// Totals of an emulator since the last `begin`.
#[derive(Debug)]
pub(crate) struct EmulatorTotals {
    pub(crate) up: Done,
    pub(crate) down: Done,
    pub(crate) cpu: CpuTime,
}

/// A running emulator. Dropping it ends its thread and removes its devices.
#[derive(Debug)]
pub(crate) struct Emulator {
    orders: Sender<Order>,
    wake_event: Arc<WakeEvent>,
    thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// Start carrying packets between these ends, on this CPU.
    pub(crate) fn start(
        ends: Ends,
        link: &Link,
        seed: u64,
        cpu: usize,
        shared: bool,
    ) -> Result<Self> {
        let wake_event = Arc::new(WakeEvent::new()?);
        let (orders, received) = channel();
        let worker = Worker {
            ends,
            up: Line::new(link.up, seed, Way::Up),
            down: Line::new(link.down, seed, Way::Down),
            pace: Pace::new(shared),
            orders: received,
            wake_event: wake_event.clone(),
            begun: CpuTime::default(),
        };
        // Created here, so that their threads run on the caller's CPUs and not on the link's.
        let pools = [ChunkPool::filled_ahead(), ChunkPool::filled_ahead()];
        let thread = Builder::new()
            .name("link".to_owned())
            .spawn(move || {
                // The room has checked that this CPU may be used.
                let _ = CpuSet::from([cpu]).pin();
                scheduling::raise_priority();
                worker.run(pools);
            })
            .step(|| "starting the thread of the link".to_owned())?;
        Ok(Self {
            orders,
            wake_event,
            thread: Some(thread),
        })
    }

    /// Discard all counters and all packets in flight.
    pub(crate) fn begin(&self) -> Result<()> {
        self.ask(Order::Begin)
    }

    /// Return the counters since [`begin`](Self::begin).
    pub(crate) fn totals(&self) -> Result<EmulatorTotals> {
        self.ask(Order::Report)
    }

    fn ask<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Result<T> {
        let (answer, answered) = channel();
        self.give(order(answer));
        answered
            .recv()
            .map_err(|_| RoomError::Init("the thread of the link has ended".to_owned()))
    }

    fn give(&self, order: Order) {
        // If the thread is gone, the wait for the answer fails.
        let _ = self.orders.send(order);
        self.wake_event.wake();
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.give(Order::End);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// State of the emulator's thread.
struct Worker {
    ends: Ends,
    up: Line,
    down: Line,
    pace: Pace,
    orders: Receiver<Order>,
    wake_event: Arc<WakeEvent>,
    begun: CpuTime,
}

impl Worker {
    fn run(mut self, [up, down]: [ChunkPool; 2]) {
        self.up.make_ready(up);
        self.down.make_ready(down);
        loop {
            let Ends { subject, peer } = &self.ends;
            let mut busy = self.up.accept(subject);
            busy |= self.up.deliver(peer);
            busy |= self.down.accept(peer);
            busy |= self.down.deliver(subject);
            if self.wake_event.take() && !self.execute_orders() {
                return;
            }
            if busy {
                self.pace.busy();
            } else {
                self.rest();
            }
        }
    }

    fn rest(&mut self) {
        let due = [self.up.next_due(), self.down.next_due()];
        let ends = [self.ends.subject.as_fd(), self.ends.peer.as_fd()];
        self.pace
            .rest(due.into_iter().flatten().min(), ends, &self.wake_event);
    }

    /// Execute all orders; return false if the last one ends the thread.
    fn execute_orders(&mut self) -> bool {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Begin(answer) => {
                    self.up.reset(&self.ends.subject);
                    self.down.reset(&self.ends.peer);
                    self.begun = thread_cpu_time();
                    let _ = answer.send(());
                }
                Order::Report(answer) => {
                    let _ = answer.send(EmulatorTotals {
                        up: self.up.done(),
                        down: self.down.done(),
                        cpu: thread_cpu_time().since(self.begun),
                    });
                }
                Order::End => return false,
            }
        }
        true
    }
}
