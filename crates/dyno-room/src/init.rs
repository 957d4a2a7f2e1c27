//! The room's first process: furnishes it, starts and ends what runs in it, reaps everything.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::channel::Channel;
use crate::cpu::CpuSet;
use crate::cpu_time::{CpuTime, NANOSECONDS_PER_SECOND};
use crate::error::{Result, RoomError, Step};
use crate::mounts;
use crate::options::Furnishing;
use crate::peer::Peer;
use crate::process::{self, Ended, Reaped};
use crate::program::Streams;
use crate::protocol::{Cause, Event, Instants, NameFiles, Program, Request};
use crate::signals::Signals;
use crate::subject::{Subject, SubjectPlace};

/// Between asking a subject to end and killing it.
const GRACE_NS: u64 = 2_000_000_000;
/// For so long after its grace a peer's keeper may reap what it has killed.
const REAPING_NS: u64 = NANOSECONDS_PER_SECOND;

/// What the room's first process is given at its birth.
#[derive(Debug)]
pub(crate) struct InitOptions {
    pub(crate) channel: Channel,
    pub(crate) subject_namespace: Option<OwnedFd>,
    pub(crate) group_entries: Vec<OwnedFd>,
    pub(crate) subject_cpus: CpuSet,
    pub(crate) hostname: String,
}

/// The life of the room's first process; returns when the room is over.
pub(crate) fn run(options: InitOptions) {
    // The parent is outside of this PID namespace, so that its number tells nothing here; if it is gone already, the line is closed.
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    process::reset_signal_actions();
    let descriptors = options
        .subject_namespace
        .iter()
        .chain(&options.group_entries);
    let kept: Vec<BorrowedFd> = [options.channel.as_fd()]
        .into_iter()
        .chain(descriptors.map(AsFd::as_fd))
        .collect();
    process::close_all_but(&kept);
    match Init::prepare(options) {
        Ok(mut init) => init.serve(),
        Err((channel, error)) => {
            // The engine reads this in answer to its first request.
            let _ = channel.send(&Event::Failed(error.to_string()), &[]);
        }
    }
}

struct Init {
    channel: Channel,
    signals: Signals,
    place: SubjectPlace,
    subject: Option<Subject>,
    peer: Option<Peer>,
    /// The peer is the subject's driver.
    is_driven: bool,
    subject_cpu: CpuTime,
}

impl Init {
    fn prepare(options: InitOptions) -> std::result::Result<Self, (Channel, RoomError)> {
        let prepared = rustix::system::sethostname(options.hostname.as_bytes())
            .step(|| format!("naming the room `{}`", options.hostname))
            .and_then(|()| mounts::seclude())
            .and_then(|()| Signals::block(&[libc::SIGCHLD]));
        match prepared {
            Err(error) => Err((options.channel, error)),
            Ok(signals) => Ok(Self {
                channel: options.channel,
                signals,
                place: SubjectPlace {
                    namespace: options.subject_namespace,
                    group_entries: options.group_entries,
                    cpus: options.subject_cpus,
                },
                subject: None,
                peer: None,
                is_driven: false,
                subject_cpu: CpuTime::default(),
            }),
        }
    }

    /// Serves until the subject has ended or the engine is gone.
    fn serve(&mut self) {
        loop {
            let (asked, died) = self.wait();
            if died && self.reap_ended() {
                self.finish();
                return;
            }
            if asked && !self.answer() {
                return;
            }
            self.enforce_deadline();
        }
    }

    /// Waits for a request, a dead child, or the next instant that matters: whether the first and the second have come.
    fn wait(&self) -> (bool, bool) {
        let timeout = self
            .subject
            .as_ref()
            .and_then(Subject::next_instant_ns)
            .map(time_until);
        let mut descriptors = [
            PollFd::new(&self.channel, PollFlags::IN),
            PollFd::new(&self.signals, PollFlags::IN),
        ];
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) => {
                let [asked, died] = descriptors.map(|descriptor| !descriptor.revents().is_empty());
                (asked, died)
            }
            Err(_) => (false, false),
        }
    }

    /// Reaps all that have ended; true when the subject is among them.
    fn reap_ended(&mut self) -> bool {
        while self.signals.take().is_some() {}
        let mut subject_ended = false;
        while let Some(reaped) = process::reap(false) {
            let at = Instants::now();
            subject_ended |= self.record(reaped, at);
        }
        subject_ended
    }

    /// Accounts for a child that has changed its state; true when it is the subject and has ended.
    fn record(&mut self, reaped: Reaped, at: Instants) -> bool {
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.pid() == reaped.pid) {
            if peer.ended(&reaped, at) {
                let end = peer.end();
                self.tell(&Event::PeerEnded(end));
            }
            return false;
        }
        let is_subject = self
            .subject
            .as_ref()
            .is_some_and(|subject| subject.pid() == reaped.pid);
        if reaped.ended == Ended::Stopped {
            if is_subject && self.subject.as_ref().is_some_and(Subject::has_terminal) {
                self.tell(&Event::SubjectStopped);
            }
            return false;
        }
        self.subject_cpu.cpu_user_ns += reaped.cpu.cpu_user_ns;
        self.subject_cpu.cpu_system_ns += reaped.cpu.cpu_system_ns;
        if let Some(subject) = self.subject.as_ref().filter(|_| is_subject) {
            let (exit_code, signal) = match reaped.ended {
                Ended::Code(code) => (Some(code), None),
                Ended::Signal(signal) => (None, Some(signal)),
                Ended::Stopped => (None, None),
            };
            self.tell(&Event::SubjectEnded {
                at,
                exit_code,
                signal,
                cause: subject.cause(),
                asked_ns: subject.asked_ns(),
                is_deaf: subject.is_deaf(),
            });
        }
        is_subject
    }

    /// Kills and reaps all that is left, so that nothing of it is missing from the account.
    fn finish(&mut self) {
        self.end_peer();
        process::kill_every_other();
        while let Some(reaped) = process::reap(true) {
            self.record(reaped, Instants::now());
        }
        self.tell(&Event::Finished {
            subject: self.subject_cpu,
            peer: self.peer.as_ref().map(Peer::end),
        });
    }

    /// Has the peer program end and its keeper reap it; not for ever, since what is left of the subject can stop a keeper.
    fn end_peer(&mut self) {
        let Some(peer) = self.peer.as_mut() else {
            return;
        };
        peer.end_all();
        let patience_ns = peer.grace_ns().saturating_add(REAPING_NS);
        let until_ns = Instants::now().monotonic_ns.saturating_add(patience_ns);
        while self.peer.as_ref().is_some_and(|peer| !peer.is_over())
            && Instants::now().monotonic_ns < until_ns
        {
            let mut descriptors = [PollFd::new(&self.signals, PollFlags::IN)];
            // An interrupted wait only means to look again.
            let _ = poll(&mut descriptors, Some(&time_until(until_ns)));
            self.reap_ended();
        }
    }

    /// Carries out one request; false when the engine is gone.
    fn answer(&mut self) -> bool {
        let Ok(Some((request, descriptors))) = self.channel.receive::<Request>() else {
            return false;
        };
        let answer = match request {
            Request::Furnish { furnishing, names } => furnish(&furnishing, &names),
            Request::StartPeer {
                program,
                grace_ns,
                is_driver,
            } => {
                self.is_driven = is_driver;
                self.start_peer(&program, descriptors, grace_ns)
            }
            Request::StartSubject {
                program,
                deadline_ns,
                takes_terminal,
            } => self.start_subject(&program, descriptors, deadline_ns, takes_terminal),
            Request::Stop => {
                self.end_subject(Cause::Stopped);
                return true;
            }
            Request::Continue => {
                self.subject.iter().for_each(Subject::go_on);
                return true;
            }
            Request::Leave => {
                self.finish();
                return false;
            }
        };
        self.tell(&answer.unwrap_or_else(|error| Event::Failed(error.to_string())));
        true
    }

    fn start_peer(
        &mut self,
        program: &Program,
        descriptors: Vec<OwnedFd>,
        grace_ns: u64,
    ) -> Result<Event> {
        let peer = Peer::start(program, descriptors, grace_ns, self.place.network())?;
        let (keeper, at) = (peer.pid(), peer.started());
        self.peer = Some(peer);
        Ok(Event::PeerStarted { keeper, at })
    }

    fn start_subject(
        &mut self,
        program: &Program,
        descriptors: Vec<OwnedFd>,
        deadline_ns: Option<u64>,
        takes_terminal: bool,
    ) -> Result<Event> {
        let streams = Streams::from_descriptors(descriptors)?;
        let subject = Subject::start(program, streams, &self.place, deadline_ns, takes_terminal)?;
        let started = subject.started();
        self.subject = Some(subject);
        Ok(Event::SubjectStarted(started))
    }

    fn enforce_deadline(&mut self) {
        let now = Instants::now().monotonic_ns;
        if self
            .subject
            .as_ref()
            .and_then(Subject::next_instant_ns)
            .is_some_and(|instant| instant <= now)
        {
            self.end_subject(Cause::Deadline);
        }
    }

    fn end_subject(&mut self, cause: Cause) {
        if let Some(subject) = self.subject.as_mut() {
            subject.end(cause, GRACE_NS);
        }
        // One that drives the subject has nothing to do any more; any other serves it until its end.
        if let Some(driver) = self.peer.as_mut().filter(|_| self.is_driven) {
            driver.end_all();
        }
    }

    fn tell(&self, event: &Event) {
        // When nobody listens any more, the next look at the line ends this process.
        let _ = self.channel.send(event, &[]);
    }
}

/// From now until an instant of the monotonic clock.
fn time_until(instant_ns: u64) -> Timespec {
    let left_ns = instant_ns.saturating_sub(Instants::now().monotonic_ns);
    Timespec {
        tv_sec: i64::try_from(left_ns / NANOSECONDS_PER_SECOND).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(left_ns % NANOSECONDS_PER_SECOND).unwrap_or(0),
    }
}

fn furnish(furnishing: &Furnishing, names: &NameFiles) -> Result<Event> {
    mounts::furnish(furnishing, names)?;
    Ok(Event::Furnished)
}
