//! The time of one URL: its stage, the limits that apply in it, and the waits that do not count.

use std::cell::Cell;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use dyno_client::Failure;
use tokio::time::sleep_until;

use crate::options::Options;

/// The step that a URL waits for; each has its own error when its time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Resolving,
    Connecting,
    ConnectingByProxy,
    ShakingHands,
    Head,
    Content,
    /// The content of a redirect, which is not needed.
    Skipping,
}

impl Stage {
    /// The name in rows as JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Resolving => "lookup",
            Self::Connecting => "connection",
            Self::ConnectingByProxy => "proxy",
            Self::ShakingHands => "TLS handshake",
            Self::Head => "head",
            Self::Content => "content",
            Self::Skipping => "rest of a redirect",
        }
    }

    /// Returns the failure for a timeout in this step.
    const fn timeout(self) -> Failure {
        match self {
            Self::Resolving => Failure::ResolveTimeout,
            Self::Connecting => Failure::ConnectTimeout,
            Self::ConnectingByProxy => Failure::ProxyTimeout,
            Self::ShakingHands => Failure::TlsTimeout,
            Self::Head => Failure::HeadTimeout,
            Self::Content | Self::Skipping => Failure::BodyTimeout,
        }
    }

    /// Whether the connection was ready, and an answer is awaited.
    pub(crate) const fn is_answer(self) -> bool {
        matches!(self, Self::Head | Self::Content | Self::Skipping)
    }
}

/// The limits of a URL's time. None is longer than the whole.
#[derive(Debug, Clone, Copy)]
struct Limits {
    whole: Duration,
    connect: Duration,
    idle: Duration,
}

/// The stage of a URL, and when its time is over.
#[derive(Debug)]
pub(crate) struct StageClock {
    limits: Limits,
    begun: Instant,
    stage: Cell<Stage>,
    /// When the connection began; of an answer, when the last of it arrived.
    since: Cell<Instant>,
    /// Whether a part of the answer has arrived since `since`.
    progressed: Cell<bool>,
    /// Time that does not count.
    aside: Cell<Duration>,
    /// Since when the clock stands still.
    stopped: Cell<Option<Instant>>,
    /// Whether the URL is tried again after a failure.
    is_retry: Cell<bool>,
    /// Answers to this URL with `Retry-After` that held up their hosts.
    pub pauses: Cell<u32>,
    /// `Crawl-delay` in the `robots.txt` of its host: the interval between two requests.
    pub crawl_delay: Cell<Duration>,
    /// Whether its failure was retried already, for all URLs of the host.
    pub is_final: Cell<bool>,
}

impl StageClock {
    /// Starts the clock of a URL.
    pub(crate) fn new(options: &Options, now: Instant) -> Self {
        let whole = options.timeout;
        Self {
            limits: Limits {
                whole,
                connect: options.connect_timeout.min(whole),
                idle: options.idle_timeout.min(whole),
            },
            begun: now,
            stage: Cell::new(Stage::Resolving),
            since: Cell::new(now),
            progressed: Cell::new(false),
            aside: Cell::default(),
            stopped: Cell::default(),
            is_retry: Cell::default(),
            pauses: Cell::default(),
            crawl_delay: Cell::default(),
            is_final: Cell::default(),
        }
    }

    /// The step that the URL waits for.
    pub(crate) const fn stage(&self) -> Stage {
        self.stage.get()
    }

    /// Enters the next stage of a connection or an answer.
    pub(crate) fn set(&self, stage: Stage) {
        self.stage.set(stage);
        self.progressed();
    }

    /// Begins a connection, or to wait for a head: from now on, the time limit of that runs.
    pub(crate) fn begin(&self, stage: Stage, now: Instant) {
        self.stage.set(stage);
        self.since.set(now);
        self.progressed.set(false);
    }

    /// Notes that a part of the answer has arrived.
    #[inline]
    pub(crate) fn progressed(&self) {
        self.progressed.set(true);
    }

    /// Whether the URL is tried again after a failure.
    pub(crate) fn is_retry(&self) -> bool {
        self.is_retry.get()
    }

    /// Limits only the whole time of the URL during the pause before a retry.
    pub(crate) fn pause(&self, pause: Duration, now: Instant) {
        self.is_retry.set(true);
        self.begin(self.stage.get(), now + pause);
    }

    /// Stops the clock.
    pub(crate) fn stop(&self, now: Instant) {
        self.stopped.set(Some(now));
    }

    /// Lets the clock continue; returns how long it stood still.
    pub(crate) fn resume(&self, now: Instant) -> Duration {
        let waited = self
            .stopped
            .take()
            .map_or(Duration::ZERO, |since| now - since);
        self.aside.set(self.aside.get() + waited);
        self.since.set(self.since.get() + waited);
        waited
    }

    /// Time of the URL so far.
    pub(crate) fn elapsed(&self, now: Instant) -> Duration {
        (now - self.begun).saturating_sub(self.aside.get())
    }

    /// When the time of this stage, or of the URL, is over; `None` while the clock stands still.
    fn due(&self) -> Option<Instant> {
        if self.stopped.get().is_some() {
            return None;
        }
        let limit = if self.stage.get().is_answer() {
            self.limits.idle
        } else {
            self.limits.connect
        };
        let whole = self.begun + self.limits.whole + self.aside.get();
        Some(whole.min(self.since.get() + limit))
    }

    /// Reads the system's clock for a part of the answer that has arrived, if its time matters.
    fn note_progress(&self) {
        if self.progressed.take()
            && self.stage.get().is_answer()
            && self.limits.idle < self.limits.whole
        {
            self.since.set(Instant::now());
        }
    }

    /// Completes the work, if it ends in time.
    ///
    /// There is one timer per URL. It is set again only when it fires too early, or must fire earlier: most URLs need
    /// it once, however many reads their answer takes.
    ///
    /// # Errors
    ///
    /// The timeout of the stage.
    pub(crate) async fn limit<T>(&self, work: impl Future<Output = T>) -> Result<T, Failure> {
        let mut work = pin!(work);
        let mut timer = pin!(sleep_until(self.due().unwrap_or(self.begun).into()));
        std::future::poll_fn(|context| {
            if let Poll::Ready(done) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(done));
            }
            self.note_progress();
            loop {
                let Some(due) = self.due() else {
                    return Poll::Pending;
                };
                if due < timer.deadline().into_std() {
                    timer.as_mut().reset(due.into());
                }
                if timer.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                if due <= Instant::now() {
                    return Poll::Ready(Err(self.stage.get().timeout()));
                }
                timer.as_mut().reset(due.into());
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use super::*;

    fn clock(whole: u64, connect: u64, idle: u64, now: Instant) -> StageClock {
        let options = Options {
            timeout: Duration::from_secs(whole),
            connect_timeout: Duration::from_secs(connect),
            idle_timeout: Duration::from_secs(idle),
            ..Options::default()
        };
        StageClock::new(&options, now)
    }

    #[test]
    fn each_stage_has_its_limit_and_none_exceeds_the_whole() {
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let clock = clock(300, 5, 10, start);
        assert_eq!(clock.due(), Some(at(5)));
        clock.begin(Stage::Head, at(3));
        assert_eq!(clock.due(), Some(at(13)));
        clock.begin(Stage::Resolving, at(4));
        clock.set(Stage::ShakingHands);
        assert_eq!(clock.due(), Some(at(9)));
        clock.pause(Duration::from_secs(20), at(8));
        assert_eq!(clock.due(), Some(at(33)));
        clock.begin(Stage::Head, at(295));
        assert_eq!(clock.due(), Some(at(300)));
        let whole = super::tests::clock(5, 60, 60, start);
        whole.begin(Stage::Head, at(4));
        assert_eq!(whole.due(), Some(at(5)));
    }

    #[test]
    fn a_wait_aside_counts_in_no_limit() {
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        let clock = clock(20, 5, 10, start);
        clock.stop(at(2));
        assert_eq!(clock.due(), None);
        assert_eq!(clock.resume(at(102)), Duration::from_secs(100));
        assert_eq!(clock.due(), Some(at(105)));
        assert_eq!(clock.elapsed(at(104)), Duration::from_secs(4));
        clock.begin(Stage::Head, at(115));
        assert_eq!(clock.due(), Some(at(120)));
    }

    #[tokio::test(flavor = "current_thread")]
    async fn silence_ends_an_answer_with_the_name_of_its_stage() {
        let cases = [
            (Stage::Resolving, Failure::ResolveTimeout),
            (Stage::Connecting, Failure::ConnectTimeout),
            (Stage::ShakingHands, Failure::TlsTimeout),
            (Stage::Head, Failure::HeadTimeout),
            (Stage::Content, Failure::BodyTimeout),
        ];
        for (stage, failure) in cases {
            let options = Options {
                timeout: Duration::from_secs(3_600),
                connect_timeout: Duration::from_millis(2),
                idle_timeout: Duration::from_millis(2),
                ..Options::default()
            };
            let clock = StageClock::new(&options, Instant::now());
            let work = async {
                clock.begin(stage, Instant::now());
                pending::<()>().await;
            };
            assert_eq!(clock.limit(work).await, Err(failure));
        }
    }
}
