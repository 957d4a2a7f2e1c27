//! The addresses of all servers during a run: asked anew when connections fail or from time to time, and published to all
//! threads.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use dyno_client::Failure;

use crate::addresses::Sources;
use crate::tally::Times;

/// Shortest time between two lookups of a name.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
/// Lookups that run at the same time.
const AT_ONCE: usize = 32;
/// Addresses that are counted apart; further ones are counted together in the last.
const MAX_NUMBERS: usize = 1000;
/// No address.
const NONE: usize = usize::MAX;

/// An address and its number in the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Numbered {
    pub(crate) address: SocketAddr,
    pub(crate) number: usize,
}

/// The addresses of a server, or the failure of the lookup.
pub(crate) type Addresses = Result<Arc<[Numbered]>, Failure>;

/// The addresses of all servers, by the index of the server.
#[derive(Debug)]
pub(crate) struct Names {
    lists: Mutex<Vec<Addresses>>,
    numbers: Mutex<Numbers>,
    /// How often a list has changed.
    version: AtomicUsize,
    /// Number of the address of the first connection.
    main: AtomicUsize,
    lookups: Mutex<Times>,
    /// Where failures are reported; `None` if no server is looked up.
    events: Option<Sender<Event>>,
}

#[derive(Debug)]
enum Event {
    /// A connection to this server failed.
    Failed(usize),
    Answered(usize, Duration, Result<Vec<SocketAddr>, Failure>),
    End,
}

/// The thread that keeps the addresses up to date, which ends with this value.
#[derive(Debug)]
pub(crate) struct Keeper(Option<Sender<Event>>);

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Some(events) = &self.0 {
            drop(events.send(Event::End));
        }
    }
}

impl Names {
    /// Takes the sources of each server with the answers of its first lookup; looks the names up again in a thread of
    /// its own, each `refresh`, and after failures.
    pub(crate) fn start(
        servers: Vec<(Sources, Result<Vec<SocketAddr>, Failure>)>,
        refresh: Option<Duration>,
    ) -> (Arc<Self>, Keeper) {
        let mut numbers = Numbers::default();
        let (sources, found): (Vec<_>, Vec<_>) = servers.into_iter().unzip();
        let lists = found.into_iter();
        let lists = lists.map(|found| found.map(|found| numbers.of_all(&found)));
        let lists = Mutex::new(lists.collect());
        let are_asked = sources.iter().any(Sources::have_a_name);
        let (sender, events) = mpsc::channel();
        let names = Arc::new(Self {
            lists,
            numbers: Mutex::new(numbers),
            version: AtomicUsize::new(0),
            main: AtomicUsize::new(NONE),
            lookups: Mutex::default(),
            events: are_asked.then(|| sender.clone()),
        });
        if !are_asked {
            return (names, Keeper(None));
        }
        let agenda = Agenda::new(&sources, refresh, Instant::now());
        let (own, answers) = (names.clone(), sender.clone());
        let thread = thread::Builder::new().name("names".to_owned());
        let spawned = thread.spawn(move || own.keep(&sources, agenda, &events, &answers));
        // Without a thread the first answers stay.
        drop(spawned);
        (names, Keeper(Some(sender)))
    }

    /// The addresses of all servers now, and their version.
    pub(crate) fn all(&self) -> (usize, Vec<Addresses>) {
        let lists = lock(&self.lists);
        (self.version(), lists.clone())
    }

    pub(crate) fn version(&self) -> usize {
        self.version.load(Ordering::Relaxed)
    }

    /// Notes that a connection to a server failed, so that its name is looked up again.
    pub(crate) fn failed(&self, server: usize) {
        if let Some(events) = &self.events {
            drop(events.send(Event::Failed(server)));
        }
    }

    /// Whether this is the address of the first connection of the run; the first call decides.
    pub(crate) fn is_main(&self, number: usize) -> bool {
        let main = self.main.load(Ordering::Relaxed);
        if main != NONE {
            return main == number;
        }
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let first = self.main.compare_exchange(NONE, number, success, failure);
        first.map_or_else(|main| main == number, |_| true)
    }

    /// The number of the address of the first connection.
    pub(crate) fn main(&self) -> Option<usize> {
        let main = self.main.load(Ordering::Relaxed);
        (main != NONE).then_some(main)
    }

    /// The text of each number, and how many addresses the last one stands for if they are counted together.
    pub(crate) fn texts(&self) -> (Vec<String>, Option<u64>) {
        let numbers = lock(&self.numbers);
        let mut texts: Vec<String> = numbers.known.iter().map(ToString::to_string).collect();
        let grouped = numbers.places.len().checked_sub(MAX_NUMBERS);
        let grouped = grouped.filter(|more| *more > 0).map(|more| more as u64 + 1);
        if let (Some(last), Some(_)) = (texts.last_mut(), grouped) {
            "(other)".clone_into(last);
        }
        (texts, grouped)
    }

    /// The durations of the lookups during the run.
    pub(crate) fn lookups(&self) -> Times {
        lock(&self.lookups).clone()
    }

    fn keep(
        &self,
        sources: &[Sources],
        mut agenda: Agenda,
        events: &Receiver<Event>,
        answers: &Sender<Event>,
    ) {
        loop {
            for server in agenda.due(Instant::now()) {
                let (sources, answers) = (sources[server].clone(), answers.clone());
                let began = Instant::now();
                let lookup = thread::Builder::new().spawn(move || {
                    let found = sources.look_up();
                    drop(answers.send(Event::Answered(server, began.elapsed(), found)));
                });
                if lookup.is_err() {
                    agenda.answered(server);
                }
            }
            let mut event = match agenda.next_at() {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(at) => events.recv_timeout(at.saturating_duration_since(Instant::now())),
            };
            // Takes all events at once: failures come in thousands.
            loop {
                match event {
                    Ok(Event::Failed(server)) => agenda.ask(server, Instant::now()),
                    Ok(Event::Answered(server, took, found)) => {
                        agenda.answered(server);
                        self.learn(server, took, found);
                    }
                    Ok(Event::End) | Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => break,
                }
                event = events.try_recv().map_err(|_| RecvTimeoutError::Timeout);
            }
        }
    }

    /// Publishes the answer of a lookup. One without addresses changes nothing: a name server that fails must not end
    /// the load.
    fn learn(&self, server: usize, took: Duration, found: Result<Vec<SocketAddr>, Failure>) {
        let took_ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        lock(&self.lookups).record(took_ns);
        let Ok(found) = found else { return };
        let mut lists = lock(&self.lists);
        let known = lists[server].as_deref().unwrap_or_default();
        // Name servers answer in another order each time.
        let is_known = |address: &SocketAddr| known.iter().any(|known| known.address == *address);
        if found.is_empty() || (found.len() == known.len() && found.iter().all(is_known)) {
            return;
        }
        lists[server] = Ok(lock(&self.numbers).of_all(&found));
        self.version.fetch_add(1, Ordering::Relaxed);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The numbers of addresses, in order of appearance.
#[derive(Debug, Default)]
struct Numbers {
    known: Vec<SocketAddr>,
    places: HashMap<SocketAddr, usize>,
}

impl Numbers {
    fn of_all(&mut self, addresses: &[SocketAddr]) -> Arc<[Numbered]> {
        addresses.iter().map(|address| self.of(*address)).collect()
    }

    fn of(&mut self, address: SocketAddr) -> Numbered {
        let next = self.known.len().min(MAX_NUMBERS - 1);
        let number = *self.places.entry(address).or_insert(next);
        if number == self.known.len() {
            self.known.push(address);
        }
        Numbered { address, number }
    }
}

/// Decides when each name is looked up. No I/O; the clock is passed in.
#[derive(Debug)]
struct Agenda {
    names: Vec<Entry>,
    refresh: Option<Duration>,
    running: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    is_name: bool,
    /// When its last lookup began.
    asked_at: Instant,
    next_at: Option<Instant>,
    is_running: bool,
}

impl Agenda {
    fn new(sources: &[Sources], refresh: Option<Duration>, now: Instant) -> Self {
        let entry = |sources: &Sources| Entry {
            is_name: sources.have_a_name(),
            asked_at: now,
            next_at: refresh
                .filter(|_| sources.have_a_name())
                .map(|every| now + every),
            is_running: false,
        };
        Self {
            names: sources.iter().map(entry).collect(),
            refresh,
            running: 0,
        }
    }

    /// Notes that a connection failed: its name is looked up now, or a second after the last lookup began.
    fn ask(&mut self, server: usize, now: Instant) {
        let entry = &mut self.names[server];
        if entry.is_name {
            let at = now.max(entry.asked_at + SHORTEST_INTERVAL);
            entry.next_at = Some(entry.next_at.map_or(at, |next_at| next_at.min(at)));
        }
    }

    /// Begins the lookups that are due.
    fn due(&mut self, now: Instant) -> Vec<usize> {
        let mut due = Vec::new();
        for (server, entry) in self.names.iter_mut().enumerate() {
            if self.running == AT_ONCE {
                break;
            }
            if !entry.is_running && entry.next_at.is_some_and(|next_at| next_at <= now) {
                (entry.asked_at, entry.next_at, entry.is_running) = (now, None, true);
                self.running += 1;
                due.push(server);
            }
        }
        due
    }

    /// Ends a lookup.
    fn answered(&mut self, server: usize) {
        let entry = &mut self.names[server];
        entry.is_running = false;
        self.running -= 1;
        if let Some(every) = self.refresh {
            let at = entry.asked_at + every;
            entry.next_at = Some(entry.next_at.map_or(at, |next_at| next_at.min(at)));
        }
    }

    /// When the next lookup is due; `None` if that depends on an event.
    fn next_at(&self) -> Option<Instant> {
        if self.running == AT_ONCE {
            return None;
        }
        let waiting = self.names.iter().filter(|entry| !entry.is_running);
        waiting.filter_map(|entry| entry.next_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    #[test]
    fn a_name_is_asked_once_a_second_at_most() {
        let start = Instant::now();
        let at = |millis| start + Duration::from_millis(millis);
        let sources = [
            Sources::name("a.test", 80),
            Sources::known(&[address("192.0.2.1:80")]),
        ];
        let mut agenda = Agenda::new(&sources, None, start);
        assert_eq!((agenda.due(at(5_000)), agenda.next_at()), (vec![], None));
        // An address is never asked.
        agenda.ask(1, at(5_000));
        assert_eq!(agenda.next_at(), None);
        agenda.ask(0, at(5_000));
        assert_eq!(agenda.due(at(5_000)), [0]);
        // Failures during its lookup are followed by another, a second after this one began.
        agenda.ask(0, at(5_400));
        assert_eq!((agenda.due(at(7_000)), agenda.next_at()), (vec![], None));
        agenda.answered(0);
        assert_eq!(agenda.next_at(), Some(at(6_000)));
        assert!(agenda.due(at(5_999)).is_empty());
        assert_eq!(agenda.due(at(6_000)), [0]);
        agenda.answered(0);
        agenda.ask(0, at(6_100));
        agenda.ask(0, at(6_900));
        assert_eq!(agenda.next_at(), Some(at(7_000)));
    }

    #[test]
    fn names_are_asked_from_time_to_time() {
        let start = Instant::now();
        let at = |secs| start + Duration::from_secs(secs);
        let sources = [
            Sources::name("a.test", 80),
            Sources::known(&[address("192.0.2.1:80")]),
        ];
        let mut agenda = Agenda::new(&sources, Some(Duration::from_secs(10)), start);
        assert_eq!(agenda.next_at(), Some(at(10)));
        agenda.ask(0, at(4));
        assert_eq!(agenda.due(at(4)), [0]);
        agenda.answered(0);
        assert_eq!(agenda.next_at(), Some(at(14)));
        assert_eq!(agenda.due(at(14)), [0]);
        // An answer that takes longer than the interval is followed by the next lookup at once.
        agenda.answered(0);
        assert_eq!(agenda.due(at(60)), [0]);
    }

    #[test]
    fn few_lookups_run_at_once() {
        let start = Instant::now();
        let sources = vec![Sources::name("a.test", 80); 50];
        let mut agenda = Agenda::new(&sources, None, start);
        let later = start + Duration::from_secs(1);
        (0..50).for_each(|server| agenda.ask(server, later));
        assert_eq!(agenda.due(later).len(), AT_ONCE);
        assert_eq!((agenda.due(later), agenda.next_at()), (vec![], None));
        agenda.answered(3);
        assert_eq!(agenda.due(later), [AT_ONCE]);
    }

    #[test]
    fn a_new_list_is_published_and_an_empty_answer_is_not() {
        let first = [address("192.0.2.1:80"), address("192.0.2.2:80")];
        let servers = vec![(Sources::known(&first), Ok(first.to_vec()))];
        let (names, _keeper) = Names::start(servers, None);
        let learn = |found: Result<&[&str], Failure>| {
            let found = found.map(|texts| texts.iter().map(|text| address(text)).collect());
            names.learn(0, Duration::ZERO, found);
            let (version, lists) = names.all();
            let list = lists[0].as_ref().unwrap();
            (version, list.iter().map(|at| at.number).collect::<Vec<_>>())
        };
        assert_eq!(
            learn(Ok(&["192.0.2.2:80", "192.0.2.1:80"])),
            (0, vec![0, 1])
        );
        assert_eq!(learn(Ok(&[])), (0, vec![0, 1]));
        assert_eq!(learn(Err(Failure::ResolverFailed)), (0, vec![0, 1]));
        assert_eq!(learn(Ok(&["192.0.2.3:80"])), (1, vec![2]));
        assert_eq!(
            learn(Ok(&["192.0.2.1:80", "192.0.2.3:80"])),
            (2, vec![0, 2])
        );
        assert_eq!(names.lookups().histogram().len(), 5);
        assert!(names.is_main(2) && !names.is_main(0) && names.main() == Some(2));
    }

    #[test]
    fn addresses_beyond_the_last_are_counted_together() {
        let many: Vec<SocketAddr> = (0..1_500_u16)
            .map(|number| SocketAddr::from(([192, 0, 2, 1], 1 + number)))
            .collect();
        let (names, _keeper) = Names::start(vec![(Sources::known(&many), Ok(many.clone()))], None);
        let (_, lists) = names.all();
        let numbers: Vec<usize> = lists[0]
            .as_ref()
            .unwrap()
            .iter()
            .map(|at| at.number)
            .collect();
        assert_eq!(numbers[998..1001], [998, 999, 999]);
        let (texts, grouped) = names.texts();
        assert_eq!((texts.len(), grouped), (1000, Some(501)));
        assert_eq!((&*texts[998], &*texts[999]), ("192.0.2.1:999", "(other)"));
    }
}
