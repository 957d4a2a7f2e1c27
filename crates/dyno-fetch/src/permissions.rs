//! What the `robots.txt` of each origin permits (`--robots`): remembers the rules, with limits of time and memory.

use std::cell::RefCell;
use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dyno_client::Failure;
use tokio::sync::oneshot;

use crate::listed::Origin;
use crate::options::Options;
use crate::robots::{Rules, product};

/// How long rules are used (RFC 9309, 2.4).
const KEPT: Duration = Duration::from_secs(24 * 3_600);
/// Time until the file of an origin is requested again after it could not be read.
const UNREACHABLE: Duration = Duration::from_secs(300);
/// Time until the file of an origin is requested again after the origin could not be reached, as in [`crate::host_health`].
const DOWN: Duration = Duration::from_secs(60);
/// Limits of the remembered files; beyond them, the oldest is dropped and requested again.
const MOST_ORIGINS: usize = 64 << 10;
const MOST_BYTES: usize = 32 << 20;

/// What the file of an origin says.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// Its rules for this crawler. A file that does not exist allows everything.
    Rules(Rc<Rules>),
    /// The file could not be read, so everything is forbidden (RFC 9309, 2.3.1.4).
    Unreachable(Cause),
    /// The origin itself could not be reached. Its URLs have the same error.
    Failed(Failure),
}

/// Why a file could not be read.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Cause {
    Status(u16),
    Failure(Failure),
}

impl fmt::Display for Cause {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Status(status) => write!(formatter, "{status}"),
            Self::Failure(failure) => formatter.write_str(failure.full_name()),
        }
    }
}

impl Answer {
    /// How long it is used; zero if the next URL asks again.
    const fn lifetime(&self) -> Duration {
        match self {
            Self::Rules(_) => KEPT,
            Self::Unreachable(_) => UNREACHABLE,
            // Of a redirect, of this machine, or remembered elsewhere.
            Self::Failed(
                Failure::PrivateRedirect
                | Failure::HostDown
                | Failure::TooManyOpenFiles
                | Failure::NoLocalPort
                | Failure::Io(_),
            ) => Duration::ZERO,
            Self::Failed(_) => DOWN,
        }
    }

    fn size(&self) -> usize {
        match self {
            Self::Rules(rules) => rules.size(),
            Self::Unreachable(_) | Self::Failed(_) => 0,
        }
    }
}

/// Answers of origins; no clock, no I/O.
#[derive(Debug)]
struct Answers {
    known: HashMap<Rc<Origin>, Known>,
    /// Origins in the order of their answers.
    order: VecDeque<(Rc<Origin>, u64)>,
    /// Length of all rules.
    bytes: usize,
    next: u64,
    most_origins: usize,
    most_bytes: usize,
}

#[derive(Debug)]
struct Known {
    answer: Answer,
    until: Instant,
    number: u64,
}

impl Answers {
    fn new(most_origins: usize, most_bytes: usize) -> Self {
        Self {
            known: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            next: 0,
            most_origins,
            most_bytes,
        }
    }

    fn get(&self, origin: &Origin, now: Instant) -> Option<Answer> {
        let known = self.known.get(origin).filter(|known| known.until > now)?;
        Some(known.answer.clone())
    }

    /// Stores an answer; the newest stays, however long it is.
    fn insert(&mut self, origin: Rc<Origin>, answer: Answer, until: Instant) {
        self.remove(&origin);
        let number = self.next;
        self.next += 1;
        self.bytes += answer.size();
        self.order.push_back((origin.clone(), number));
        self.known.insert(
            origin,
            Known {
                answer,
                until,
                number,
            },
        );
        while self.known.len() > 1
            && (self.known.len() > self.most_origins
                || self.bytes > self.most_bytes
                || self.order.len() > 2 * self.most_origins)
        {
            let Some((origin, number)) = self.order.pop_front() else {
                return;
            };
            // A later answer of that origin is further back in the order.
            if self
                .known
                .get(&origin)
                .is_some_and(|known| known.number == number)
            {
                self.remove(&origin);
            }
        }
    }

    fn remove(&mut self, origin: &Origin) {
        if let Some(known) = self.known.remove(origin) {
            self.bytes -= known.answer.size();
        }
    }
}

/// Permissions of all URLs of a crawl.
#[derive(Debug)]
pub(crate) struct Permissions {
    /// Name of this crawler in the files.
    pub product: String,
    answers: RefCell<Answers>,
    /// URLs that wait for the file of an origin, which has been requested.
    waiting: RefCell<HashMap<Rc<Origin>, Vec<oneshot::Sender<()>>>>,
}

impl Permissions {
    /// Creates them under `--robots`.
    pub(crate) fn new(options: &Options) -> Option<Self> {
        options.robots.then(|| Self {
            product: product(options.sent_user_agent()).to_owned(),
            answers: RefCell::new(Answers::new(MOST_ORIGINS, MOST_BYTES)),
            waiting: RefCell::default(),
        })
    }

    /// The answer of an origin, if it is known.
    pub(crate) fn known(&self, origin: &Origin, now: Instant) -> Option<Answer> {
        self.answers.borrow().get(origin, now)
    }

    /// Registers a URL that waits for the answer of an origin; `None` if it is the first, and must ask.
    pub(crate) fn join(&self, origin: &Rc<Origin>) -> Option<oneshot::Receiver<()>> {
        let mut waiting = self.waiting.borrow_mut();
        let Some(others) = waiting.get_mut(origin) else {
            waiting.insert(origin.clone(), Vec::new());
            return None;
        };
        let (sender, receiver) = oneshot::channel();
        others.push(sender);
        Some(receiver)
    }

    /// Stores an answer, and lets the URLs go on that wait for it.
    pub(crate) fn answered(&self, origin: &Rc<Origin>, answer: &Answer, now: Instant) {
        let lifetime = answer.lifetime();
        if !lifetime.is_zero() {
            let mut answers = self.answers.borrow_mut();
            answers.insert(origin.clone(), answer.clone(), now + lifetime);
        }
        // Dropping a sender wakes its URL.
        drop(self.waiting.borrow_mut().remove(origin));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use url::Url;

    use super::*;

    fn origin(number: u8) -> Rc<Origin> {
        Origin::of(&Url::parse(&format!("http://a{number}.test/")).unwrap()).unwrap()
    }

    fn rules(paths: usize) -> Answer {
        let lines: Vec<_> = (0..paths)
            .map(|path| format!("disallow: /{path:03}"))
            .collect();
        let file = format!("user-agent: *\n{}", lines.join("\n"));
        Answer::Rules(Rules::parse(file.as_bytes(), "bot").into())
    }

    proptest! {
        #[test]
        fn memory_has_a_bound_and_no_answer_is_used_too_long(
            inserts in prop::collection::vec((0..20_u8, 0..12_usize, 0..40_u64), 0..200),
        ) {
            let (start, mut answers) = (Instant::now(), Answers::new(8, 200));
            let at = |second| start + Duration::from_secs(second);
            for (second, (number, paths, life)) in inserts.iter().enumerate() {
                let (now, answer) = (second as u64, rules(*paths));
                let size = answer.size();
                answers.insert(origin(*number), answer, at(now + life));
                prop_assert!(answers.known.len() <= 8 && answers.order.len() <= 16);
                prop_assert!(answers.bytes <= 200 || answers.known.len() == 1);
                let sum: usize = answers.known.values().map(|known| known.answer.size()).sum();
                prop_assert_eq!(answers.bytes, sum);
                let found = answers.get(&origin(*number), at(now));
                prop_assert_eq!(found.map(|answer| answer.size()), (*life > 0).then_some(size));
                prop_assert!(answers.get(&origin(*number), at(now + life)).is_none());
            }
        }
    }

    #[test]
    fn an_answer_is_kept_as_long_as_its_kind_allows() {
        let (now, permissions) = (
            Instant::now(),
            Permissions::new(&Options {
                robots: true,
                ..Options::default()
            })
            .unwrap(),
        );
        let s = Duration::from_secs;
        let cases = [
            (rules(1), 86_400),
            (Answer::Unreachable(Cause::Status(503)), 300),
            (
                Answer::Unreachable(Cause::Failure(Failure::HeadTimeout)),
                300,
            ),
            (Answer::Failed(Failure::HostNotFound), 60),
            (Answer::Failed(Failure::PrivateRedirect), 0),
        ];
        for (number, (answer, kept)) in (0..).zip(cases) {
            let origin = origin(number);
            assert!(permissions.join(&origin).is_none(), "the first URL asks");
            let mut other = permissions.join(&origin).expect("the second waits");
            permissions.answered(&origin, &answer, now);
            assert_eq!(other.try_recv(), Err(oneshot::error::TryRecvError::Closed));
            let is_known = |after| permissions.known(&origin, now + after).is_some();
            assert!(!is_known(s(kept)));
            assert_eq!(kept > 0, is_known(s(kept.saturating_sub(1))));
        }
    }
}
