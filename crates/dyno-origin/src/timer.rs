//! Waits until a moment, accurate to some ten microseconds.
//!
//! The runtime's own timer rounds up to the next millisecond, which would distort every planned delay. Here an alarm of
//! the thread is set to the earliest moment for which a task waits.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use dyno_io::Alarm;
use tokio::sync::Notify;

/// The timer of one thread.
#[derive(Debug)]
pub(crate) struct Timer {
    alarm: Option<Alarm>,
    waiting: RefCell<BTreeMap<(Instant, u64), Waker>>,
    next: Cell<u64>,
    /// Notified when the earliest moment becomes earlier.
    earlier: Notify,
}

impl Timer {
    /// Creates a timer for the current thread's runtime; it fires only while [`Timer::run`] is polled.
    pub(crate) fn new() -> io::Result<Rc<Self>> {
        Ok(Rc::new(Self::with(Some(Alarm::new()?))))
    }

    /// Creates a timer that fires only when [`Timer::wake`] is called: its caller decides when to sleep.
    pub(crate) fn without_alarm() -> Rc<Self> {
        Rc::new(Self::with(None))
    }

    /// The earliest moment for which a task waits.
    pub(crate) fn first(&self) -> Option<Instant> {
        let waiting = self.waiting.borrow();
        waiting.first_key_value().map(|((moment, _), _)| *moment)
    }

    /// Waits until a task waits for an earlier moment than all others.
    pub(crate) async fn earlier(&self) {
        self.earlier.notified().await;
    }

    fn with(alarm: Option<Alarm>) -> Self {
        Self {
            alarm,
            waiting: RefCell::default(),
            next: Cell::new(0),
            earlier: Notify::new(),
        }
    }

    /// Wakes the tasks that are due, at each alarm, until the runtime ends.
    pub(crate) async fn run(&self) -> io::Result<()> {
        while let Some(alarm) = &self.alarm {
            alarm.expired().await?;
            self.wake()?;
        }
        Ok(())
    }

    /// Wakes the tasks that are due.
    pub(crate) fn wake(&self) -> io::Result<()> {
        let mut waiting = self.waiting.borrow_mut();
        let now = Instant::now();
        while let Some(first) = waiting.first_entry() {
            if first.key().0 > now {
                return self.set(first.key().0);
            }
            first.remove().wake();
        }
        Ok(())
    }

    fn set(&self, moment: Instant) -> io::Result<()> {
        self.alarm.as_ref().map_or(Ok(()), |alarm| {
            alarm.set(moment.saturating_duration_since(Instant::now()))
        })
    }

    /// Waits until `moment`; returns at once if it has passed.
    pub(crate) fn until(&self, moment: Instant) -> Until<'_> {
        Until {
            timer: self,
            moment,
            id: None,
        }
    }
}

/// The future of [`Timer::until`].
#[derive(Debug)]
pub(crate) struct Until<'t> {
    timer: &'t Timer,
    moment: Instant,
    id: Option<u64>,
}

impl Future for Until<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.moment {
            return Poll::Ready(());
        }
        let timer = self.timer;
        let id = *self
            .id
            .get_or_insert_with(|| timer.next.replace(timer.next.get() + 1));
        let key = (self.moment, id);
        let mut waiting = timer.waiting.borrow_mut();
        waiting.insert(key, context.waker().clone());
        let is_first = waiting
            .first_key_value()
            .is_some_and(|(first, _)| *first == key);
        if is_first {
            timer.earlier.notify_one();
            if timer.set(self.moment).is_err() {
                // Without its timer, a thread still serves: it sends the answer early.
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

impl Drop for Until<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id {
            self.timer.waiting.borrow_mut().remove(&(self.moment, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Runs `test` on a thread like that of an origin.
    fn on_a_thread<F: Future<Output = ()>>(test: impl FnOnce(Rc<Timer>) -> F) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        tokio::task::LocalSet::new().block_on(&runtime, async {
            let timer = Timer::new().unwrap();
            let running = timer.clone();
            tokio::task::spawn_local(async move { running.run().await });
            test(timer).await;
        });
    }

    #[test]
    fn moments_come_in_their_order_and_never_early() {
        // On a busy machine, moments may pass before a task waits for them: then their order means nothing.
        let due = [0, 10, 10, 20, 30];
        let mut orders = [1, 30, 300].into_iter().map(order_of);
        assert!(orders.any(|order| order == due));
    }

    /// The order in which waits end, for delays that are multiples of `factor`.
    fn order_of(factor: u64) -> Vec<u64> {
        let order = Rc::new(RefCell::new(Vec::new()));
        let seen = order.clone();
        on_a_thread(|timer| async move {
            let start = Instant::now();
            let tasks: Vec<_> = [30, 10, 20, 0, 10]
                .into_iter()
                .map(|after_ms| {
                    let (timer, order) = (timer.clone(), order.clone());
                    tokio::task::spawn_local(async move {
                        let moment = start + Duration::from_millis(after_ms * factor);
                        timer.until(moment).await;
                        assert!(Instant::now() >= moment);
                        order.borrow_mut().push(after_ms);
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
        });
        seen.take()
    }

    #[test]
    fn who_stops_waiting_is_forgotten() {
        on_a_thread(|timer| async move {
            let soon = Instant::now() + Duration::from_millis(5);
            tokio::select! {
                biased;
                () = timer.until(soon + Duration::from_secs(60)) => unreachable!("a minute has not passed"),
                () = timer.until(soon) => {}
            }
            assert!(timer.waiting.borrow().is_empty());
        });
    }
}
