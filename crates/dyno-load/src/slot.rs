//! State of one request loop: its own task writes it, and the sweep that enforces deadlines reads it.

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Poll, Waker};

use dyno_client::Failure;

/// Stage of a connection (or, with HTTP/2, of one of its streams).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Has no request.
    Free,
    /// Has a request whose time has not come.
    Waiting,
    /// Failed, and pauses before it tries again.
    Resting,
    /// Has a request and connects for it.
    Connecting,
    /// Has a request and connects to a proxy, or through it.
    ConnectingByProxy,
    /// In the TLS handshake.
    Handshaking,
    /// Has sent the request; the head of the answer has not arrived.
    Head,
    /// Receiving the answer's content.
    Content,
}

/// State of one request loop.
#[derive(Debug)]
pub(crate) struct Slot {
    pub(crate) stage: Cell<Stage>,
    /// Intended time of its request; `u64::MAX` before its first.
    pub(crate) intended_ns: Cell<u64>,
    /// Deadline of its current stage.
    deadline_ns: Cell<u64>,
    woken: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            stage: Cell::new(Stage::Free),
            intended_ns: Cell::new(u64::MAX),
            deadline_ns: Cell::new(u64::MAX),
            woken: Cell::new(false),
            waker: RefCell::default(),
        }
    }
}

impl Slot {
    /// Stores the waker of the calling task. Called once, because a task keeps its waker.
    pub(crate) async fn adopt(&self) {
        poll_fn(|context| {
            *self.waker.borrow_mut() = Some(context.waker().clone());
            Poll::Ready(())
        })
        .await;
    }

    /// Wakes the task.
    pub(crate) fn wake(&self) {
        self.woken.set(true);
        if let Some(waker) = &*self.waker.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Waits for [`Slot::wake`].
    pub(crate) async fn wait_for_wake(&self) {
        poll_fn(|_| {
            if self.woken.replace(false) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Pauses until a sweep finds that this moment has passed.
    pub(crate) async fn rest_until(&self, moment_ns: u64) {
        self.stage.set(Stage::Resting);
        self.deadline_ns.set(moment_ns);
        self.wait_for_wake().await;
        self.deadline_ns.set(u64::MAX);
        self.stage.set(Stage::Free);
    }

    /// Wakes the task if its deadline has passed.
    pub(crate) fn sweep(&self, now_ns: u64) {
        if now_ns >= self.deadline_ns.get() {
            self.deadline_ns.set(u64::MAX);
            self.wake();
        }
    }

    /// Runs `work` until the deadline. While nothing is late this costs two stores; the sweep does the rest.
    ///
    /// # Errors
    ///
    /// The timeout of the stage that `work` was in, or the failure of `work`.
    #[inline]
    pub(crate) async fn with_deadline<T>(
        &self,
        deadline_ns: u64,
        mut work: Pin<&mut impl Future<Output = Result<T, Failure>>>,
    ) -> Result<T, Failure> {
        self.deadline_ns.set(deadline_ns);
        let outcome = poll_fn(|context| match work.as_mut().poll(context) {
            Poll::Pending if self.woken.replace(false) => Poll::Ready(Err(self.timeout())),
            outcome => outcome,
        })
        .await;
        self.deadline_ns.set(u64::MAX);
        self.woken.set(false);
        outcome
    }

    fn timeout(&self) -> Failure {
        match self.stage.get() {
            Stage::ConnectingByProxy => Failure::ProxyTimeout,
            Stage::Handshaking => Failure::TlsTimeout,
            Stage::Head => Failure::HeadTimeout,
            Stage::Content => Failure::BodyTimeout,
            _ => Failure::ConnectTimeout,
        }
    }
}
