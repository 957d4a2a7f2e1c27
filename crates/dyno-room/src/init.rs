//! The room's first process: mounts files, starts and ends programs, reaps every process.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;

use crate::channel::Channel;
use crate::cpu::CpuSet;
use crate::cpu_time::{CpuTime, NANOSECONDS_PER_SECOND};
use crate::error::{Result, RoomError, Step};
use crate::mounts;
use crate::options::NamesAndTrust;
use crate::peer::Peer;
use crate::process::{self, Ended, Reaped};
use crate::program::Streams;
use crate::protocol::{Cause, Event, Instants, NameFiles, Program, Request, ResidentPeak};
use crate::signals::Signals;
use crate::subject::{Subject, SubjectPlace};

/// Time between SIGTERM and SIGKILL for a subject.
const GRACE_NS: u64 = 2_000_000_000;
/// Additional time for a peer's keeper to reap the processes that it killed.
const REAPING_NS: u64 = NANOSECONDS_PER_SECOND;

/// Options of the room's first process.
#[derive(Debug)]
pub(crate) struct InitOptions {
    pub(crate) channel: Channel,
    pub(crate) subject_namespace: Option<OwnedFd>,
    pub(crate) group_entries: Vec<OwnedFd>,
    pub(crate) subject_cpus: CpuSet,
    pub(crate) hostname: String,
}

/// Run the room's first process; return when the room has ended.
pub(crate) fn run(options: InitOptions) {
    // The parent is outside of this PID namespace, so that its PID is not visible here. If it is already gone, the channel is closed.
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
            // The engine reads this as the answer to its first request.
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
    /// Whether the peer is the subject's driver.
    is_driven: bool,
    subject_cpu: CpuTime,
    peak_resident_bytes: u64,
}

impl Init {
    fn prepare(options: InitOptions) -> std::result::Result<Self, (Channel, RoomError)> {
        let prepared = rustix::system::sethostname(options.hostname.as_bytes())
            .step(|| format!("naming the room `{}`", options.hostname))
            .and_then(|()| mounts::isolate_mounts())
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
                peak_resident_bytes: 0,
            }),
        }
    }

    /// Serve requests until the subject has ended or the engine is gone.
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

    /// Wait for a request, an ended child or the next deadline; return whether the first and the second have come.
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

    /// Reap all ended children; return true if the subject is among them.
    fn reap_ended(&mut self) -> bool {
        while self.signals.take().is_some() {}
        let mut subject_ended = false;
        while let Some(reaped) = process::reap(false) {
            let at = Instants::now();
            subject_ended |= self.record(reaped, at);
        }
        subject_ended
    }

    /// Record a child's change of state; return true if it is the subject and has ended.
    fn record(&mut self, reaped: Reaped, at: Instants) -> bool {
        if let Some(peer) = self.peer.as_mut().filter(|peer| peer.pid() == reaped.pid) {
            if peer.ended(&reaped, at) {
                let end = peer.end();
                self.send(&Event::PeerEnded(end));
            }
            return false;
        }
        let is_subject = self
            .subject
            .as_ref()
            .is_some_and(|subject| subject.pid() == reaped.pid);
        if reaped.ended == Ended::Stopped {
            if is_subject && self.subject.as_ref().is_some_and(Subject::has_terminal) {
                self.send(&Event::SubjectStopped);
            }
            return false;
        }
        self.subject_cpu.cpu_user_ns += reaped.cpu.cpu_user_ns;
        self.subject_cpu.cpu_system_ns += reaped.cpu.cpu_system_ns;
        self.peak_resident_bytes = self.peak_resident_bytes.max(reaped.peak_resident_bytes);
        if let Some(subject) = self.subject.as_ref().filter(|_| is_subject) {
            let (exit_code, signal) = match reaped.ended {
                Ended::Code(code) => (Some(code), None),
                Ended::Signal(signal) => (None, Some(signal)),
                Ended::Stopped => (None, None),
            };
            self.send(&Event::SubjectEnded {
                at,
                exit_code,
                signal,
                cause: subject.cause(),
                asked_ns: subject.asked_ns(),
                ignored_sigterm: subject.ignored_sigterm(),
            });
        }
        is_subject
    }

    /// Kill and reap all remaining processes, so that the account includes them.
    fn finish(&mut self) {
        self.end_peer();
        process::kill_every_other();
        while let Some(reaped) = process::reap(true) {
            self.record(reaped, Instants::now());
        }
        self.send(&Event::Finished {
            subject: self.subject_cpu,
            peak: ResidentPeak {
                subject: self.peak_resident_bytes,
                init: process::own_peak_resident_bytes(),
            },
            peer: self.peer.as_ref().map(Peer::end),
        });
    }

    /// End the peer program and wait until its keeper has reaped it. The wait is bounded, because a remaining process of the subject can
    /// stop a keeper.
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
            // After an interruption the loop waits again.
            let _ = poll(&mut descriptors, Some(&time_until(until_ns)));
            self.reap_ended();
        }
    }

    /// Carry out one request; return false if the engine is gone.
    fn answer(&mut self) -> bool {
        let Ok(Some((request, descriptors))) = self.channel.receive::<Request>() else {
            return false;
        };
        let answer = match request {
            Request::InstallNamesAndTrust {
                names_and_trust,
                names,
            } => install_names_and_trust(&names_and_trust, &names),
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
                self.subject.iter().for_each(Subject::resume);
                return true;
            }
            Request::Leave => {
                self.finish();
                return false;
            }
        };
        self.send(&answer.unwrap_or_else(|error| Event::Failed(error.to_string())));
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
        // A driver has no more work after the subject; any other peer serves the subject until its end.
        if let Some(driver) = self.peer.as_mut().filter(|_| self.is_driven) {
            driver.end_all();
        }
    }

    fn send(&self, event: &Event) {
        // If the engine is gone, the next read of the channel ends this process.
        let _ = self.channel.send(event, &[]);
    }
}

/// Return the time from now to an instant of the monotonic clock.
fn time_until(instant_ns: u64) -> Timespec {
    let left_ns = instant_ns.saturating_sub(Instants::now().monotonic_ns);
    Timespec {
        tv_sec: i64::try_from(left_ns / NANOSECONDS_PER_SECOND).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(left_ns % NANOSECONDS_PER_SECOND).unwrap_or(0),
    }
}

fn install_names_and_trust(names_and_trust: &NamesAndTrust, names: &NameFiles) -> Result<Event> {
    mounts::install_names_and_trust(names_and_trust, names)?;
    Ok(Event::NamesAndTrustInstalled)
}
