//! The thread that carries packets from one end of a link to the other.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use dyno_link::{Link, Way};

use super::bell::Bell;
use super::line::{Done, Line};
use super::pace::Pace;
use super::stock::Stock;
use super::tun::Tun;
use super::urgency;
use crate::cpu::CpuSet;
use crate::cpu_time::CpuTime;
use crate::error::{Result, RoomError, Step};
use crate::process::thread_cpu_time;

/// The two ends of a link.
#[derive(Debug)]
pub(crate) struct Ends {
    /// Where the subject's packets come out and its peer's go in.
    pub(crate) subject: Tun,
    /// The other one.
    pub(crate) peer: Tun,
}

/// What an emulator is told.
#[derive(Debug)]
enum Order {
    /// Forget what was: packets are numbered from 0 again, CPU time counts from here.
    Begin(Sender<()>),
    /// Tell what was done since.
    Tell(Sender<Told>),
    End,
}

/// What an emulator did since it was told to begin.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) up: Done,
    pub(crate) down: Done,
    pub(crate) cpu: CpuTime,
}

/// An emulator at work. Dropping it ends it, and with it its devices.
#[derive(Debug)]
pub(crate) struct Emulator {
    orders: Sender<Order>,
    bell: Arc<Bell>,
    thread: Option<JoinHandle<()>>,
}

impl Emulator {
    /// Starts carrying packets between these ends, on this CPU.
    pub(crate) fn start(
        ends: Ends,
        link: &Link,
        seed: u64,
        cpu: usize,
        shared: bool,
    ) -> Result<Self> {
        let bell = Arc::new(Bell::new()?);
        let (orders, received) = channel();
        let worker = Worker {
            ends,
            up: Line::new(link.up, seed, Way::Up),
            down: Line::new(link.down, seed, Way::Down),
            pace: Pace::new(shared),
            orders: received,
            bell: bell.clone(),
            begun: CpuTime::default(),
        };
        // Made here: they run on the CPUs of the caller, not on the link's.
        let stocks = [Stock::kept(), Stock::kept()];
        let thread = Builder::new()
            .name("link".to_owned())
            .spawn(move || {
                // The room has checked that this CPU may be used.
                let _ = CpuSet::from([cpu]).pin();
                urgency::take();
                worker.run(stocks);
            })
            .step(|| "starting the thread of the link".to_owned())?;
        Ok(Self {
            orders,
            bell,
            thread: Some(thread),
        })
    }

    /// Forgets what was carried so far, and what is on its way.
    pub(crate) fn begin(&self) -> Result<()> {
        self.ask(Order::Begin)
    }

    /// What was done since [`begin`](Self::begin).
    pub(crate) fn tell(&self) -> Result<Told> {
        self.ask(Order::Tell)
    }

    fn ask<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Result<T> {
        let (answer, answered) = channel();
        self.give(order(answer));
        answered
            .recv()
            .map_err(|_| RoomError::Init("the thread of the link has ended".to_owned()))
    }

    fn give(&self, order: Order) {
        // A thread that is gone shows in the answer that does not come.
        let _ = self.orders.send(order);
        self.bell.ring();
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

/// The thread's own.
struct Worker {
    ends: Ends,
    up: Line,
    down: Line,
    pace: Pace,
    orders: Receiver<Order>,
    bell: Arc<Bell>,
    begun: CpuTime,
}

impl Worker {
    fn run(mut self, [up, down]: [Stock; 2]) {
        self.up.make_ready(up);
        self.down.make_ready(down);
        loop {
            let Ends { subject, peer } = &self.ends;
            let mut busy = self.up.accept(subject);
            busy |= self.up.deliver(peer);
            busy |= self.down.accept(peer);
            busy |= self.down.deliver(subject);
            if self.bell.take() && !self.obey() {
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
            .rest(due.into_iter().flatten().min(), ends, &self.bell);
    }

    /// Carries out all orders; false when the last is to end.
    fn obey(&mut self) -> bool {
        while let Ok(order) = self.orders.try_recv() {
            match order {
                Order::Begin(answer) => {
                    self.up.begin_anew(&self.ends.subject);
                    self.down.begin_anew(&self.ends.peer);
                    self.begun = thread_cpu_time();
                    let _ = answer.send(());
                }
                Order::Tell(answer) => {
                    let _ = answer.send(Told {
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
