//! A room from its making to the start of its subject, as the engine drives it.

use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getpgrp, kill_process};
use rustix::termios::{isatty, tcgetpgrp};

use crate::channel::Channel;
use crate::control_group::{ControlGroup, Wishes};
use crate::cpu::CpuSet;
use crate::error::{Result, RoomError, Step};
use crate::init::{self, InitOptions};
use crate::machine_window::MachineSnapshot;
use crate::memory::MemorySampler;
use crate::network::Network;
use crate::options::{Environment, Furnishing, PeerOptions, RoomOptions, SubjectOptions};
use crate::process::{self, Ended};
use crate::protocol::{Event, Instants, Program, Request};
use crate::running::Running;
use crate::signals::{self, Signals};
use crate::{environment, leftovers, namespaces, program};

/// A sealed room: this process is in the peer's network namespace, the subject's is waiting.
///
/// Dropping it ends everything in it.
#[derive(Debug)]
pub struct Room {
    pub(crate) options: RoomOptions,
    pub(crate) signals: Signals,
    pub(crate) init: InitProcess,
    // After `init`, so that on a drop the processes are gone when their group is removed.
    pub(crate) group: ControlGroup,
    pub(crate) network: Network,
    pub(crate) peer: Option<PeerInRoom>,
    trusts_authorities: bool,
}

/// A peer program that runs.
#[derive(Debug)]
pub(crate) struct PeerInRoom {
    pub(crate) argv: Vec<OsString>,
    /// The number, inside the room, of the process whose descendants are the peer's.
    pub(crate) keeper: i32,
}

impl Room {
    /// Makes the room's namespaces and its first process, and moves this process into the peer's network namespace.
    ///
    /// Call it first in `main`, before any thread is started: the kernel moves single-threaded processes only. Afterwards the
    /// caller may start threads; sockets they open are the peer's. From here on SIGINT, SIGTERM, SIGHUP and SIGQUIT are blocked and
    /// end the subject instead (see [`Running::wait`]), this process runs on the engine's CPUs, may open as many files as the hard limit
    /// allows, and dies with its parent (with the parent's *thread* that started it, as the kernel has it).
    ///
    /// # Errors
    ///
    /// One line that says what the kernel refused and what to do about it.
    pub fn enter(options: &RoomOptions) -> Result<Self> {
        if !process::has_one_thread().step(|| "counting this process's threads".to_owned())? {
            return Err(RoomError::Invalid {
                what: "a room cannot be entered by a process that has several threads".to_owned(),
                cure: "enter it before any is started".to_owned(),
            });
        }
        process::die_with_parent()?;
        process::keep_children();
        let signals = Signals::block(signals::STOPPING)?;
        // The subject takes the terminal's foreground; taking it back must not stop this process.
        signals::block(&[libc::SIGTTOU]).step(|| "blocking SIGTTOU".to_owned())?;
        let allowed = CpuSet::allowed()?;
        options.engine_cpus.check_within(&allowed, "engine")?;
        options.subject_cpus.check_within(&allowed, "subject")?;
        options.engine_cpus.pin()?;
        program::raise_open_files();
        leftovers::sweep();
        let mut group = ControlGroup::create(Wishes {
            cpus: &options.subject_cpus,
            memory_limit_bytes: options.memory_limit_bytes,
        });
        namespaces::gain_privilege()?;
        // Gaining capabilities may have cleared it.
        process::die_with_parent()?;
        let network = Network::build()?;
        let init = InitProcess::start(options, &network, group.take_entries())?;
        Ok(Self {
            options: options.clone(),
            signals,
            init,
            group,
            network,
            peer: None,
            trusts_authorities: false,
        })
    }

    /// Whether the room has IPv6 (a kernel can be without).
    #[must_use]
    pub fn has_ipv6(&self) -> bool {
        self.network.has_ipv6
    }

    /// Kernel settings that could not be made, each with the reason; none is vital.
    #[must_use]
    pub fn refused_settings(&self) -> &[String] {
        &self.network.refused_settings
    }

    /// Whether a signal to stop has come since [`Room::enter`]; preparations may look here.
    #[must_use]
    pub fn interrupted(&self) -> bool {
        let at_once = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let mut descriptors = [PollFd::new(&self.signals, PollFlags::IN)];
        poll(&mut descriptors, Some(&at_once)).is_ok_and(|ready| ready > 0)
    }

    /// Lays the room's files over the machine's: names and trust.
    ///
    /// Call it once, before a program is started; it may be called from another thread than [`Room::enter`].
    ///
    /// # Errors
    ///
    /// One line that names the file and what to do about it.
    pub fn furnish(&mut self, furnishing: &Furnishing) -> Result<()> {
        self.trusts_authorities = !furnishing.authorities.is_empty();
        self.init
            .ask(&Request::Furnish(furnishing.clone()), &[])
            .map(drop)
    }

    /// Starts a peer program in the peer's network namespace, on the engine's CPUs, with an empty standard input.
    ///
    /// It dies with the room. The caller can connect to it at 127.0.0.1 to learn when it is ready.
    ///
    /// # Errors
    ///
    /// When it cannot be executed.
    pub fn start_peer(&mut self, peer: PeerOptions) -> Result<()> {
        let program = self.program(&peer.argv, &peer.environment, peer.directory);
        let answer = self
            .init
            .ask(&Request::StartPeer(program), &[peer.output.as_fd()])?;
        if let Event::PeerStarted { keeper } = answer {
            self.peer = Some(PeerInRoom {
                argv: peer.argv,
                keeper,
            });
        }
        Ok(())
    }

    /// Starts the subject; returns when it has been executed, or could not be (which [`Running::wait`] then tells).
    ///
    /// # Errors
    ///
    /// When the room itself fails.
    pub fn start(mut self, subject: SubjectOptions) -> Result<Running> {
        let deadline_ns = subject
            .deadline
            .map(|deadline| u64::try_from(deadline.as_nanos()).unwrap_or(u64::MAX));
        let terminal = terminal_in_foreground(subject.stdin.as_fd());
        let request = Request::StartSubject {
            program: self.program(&subject.argv, &subject.environment, subject.directory),
            deadline_ns,
            takes_terminal: terminal.is_some(),
        };
        let streams = [
            subject.stdin.as_fd(),
            subject.stdout.as_fd(),
            subject.stderr.as_fd(),
        ];
        self.network.wait_until_operational()?;
        let before = MachineSnapshot::take();
        let answer = match self.init.ask(&request, &streams) {
            Ok(Event::SubjectStarted(at)) => Ok(at),
            Ok(other) => return Err(RoomError::Init(format!("unexpected answer {other:?}"))),
            Err(RoomError::Init(reason)) => Err(reason),
            Err(error) => return Err(error),
        };
        let sampler = match answer {
            Ok(at) => Some(self.sample_memory(at)?),
            Err(_) => None,
        };
        Running::new(self, subject.argv, answer, before, sampler, terminal)
    }

    fn sample_memory(&self, exec: Instants) -> Result<MemorySampler> {
        // The room's own /proc, where nothing but the room is to be seen.
        let proc = PathBuf::from(format!("/proc/{}/root/proc", self.init.pid()));
        MemorySampler::start(proc, self.peer.as_ref().map(|peer| peer.keeper), exec)
            .step(|| "starting the thread that samples memory".to_owned())
    }

    fn program(&self, argv: &[OsString], own: &Environment, directory: Option<PathBuf>) -> Program {
        Program {
            argv: argv.to_vec(),
            variables: environment::variables(own, std::env::vars_os(), self.trusts_authorities),
            directory,
        }
    }
}

/// A copy of this descriptor if it is the terminal in whose foreground this process is.
fn terminal_in_foreground(input: BorrowedFd) -> Option<OwnedFd> {
    let is_foreground = isatty(input) && tcgetpgrp(input).is_ok_and(|group| group == getpgrp());
    is_foreground
        .then(|| input.try_clone_to_owned().ok())
        .flatten()
}

/// The room's first process. Dropping it kills it, and with it the kernel kills all that runs in the room.
#[derive(Debug)]
pub(crate) struct InitProcess {
    /// Absent once it is reaped: then its number may be another's.
    pid: Option<Pid>,
    pub(crate) channel: Channel,
}

impl InitProcess {
    fn start(
        options: &RoomOptions,
        network: &Network,
        group_entries: Vec<OwnedFd>,
    ) -> Result<Self> {
        let (channel, far_end) = Channel::pair().step(|| "making a socket pair".to_owned())?;
        let init_options = InitOptions {
            channel: far_end,
            subject_namespace: network
                .subject_namespace()
                .try_clone()
                .step(|| "copying a descriptor".to_owned())?,
            group_entries,
            subject_cpus: options.subject_cpus.clone(),
            hostname: options.hostname.clone(),
        };
        let namespaces =
            libc::CLONE_NEWPID | libc::CLONE_NEWNS | libc::CLONE_NEWUTS | libc::CLONE_NEWIPC;
        let pid = process::spawn(namespaces, || init::run(init_options))
            .step(|| "starting the room's first process in namespaces of its own".to_owned())
            .map_err(|error| error.with_cure(&namespaces::cure()))?;
        Ok(Self {
            pid: Some(pid),
            channel,
        })
    }

    fn pid(&self) -> i32 {
        self.pid.map_or(0, |pid| pid.as_raw_nonzero().get())
    }

    /// Sends a request and waits for its answer; what cannot be carried out is an error.
    fn ask(&mut self, request: &Request, descriptors: &[BorrowedFd]) -> Result<Event> {
        // A first process that is gone shows in the answer.
        let _ = self.channel.send(request, descriptors);
        match self.next_event()? {
            Event::Failed(reason) => Err(RoomError::Init(reason)),
            event => Ok(event),
        }
    }

    /// Waits for what the room's first process says next.
    pub(crate) fn next_event(&mut self) -> Result<Event> {
        let received = self.channel.receive::<Event>();
        match received.step(|| "listening to the room's first process".to_owned())? {
            Some((event, _)) => Ok(event),
            None => Err(RoomError::InitEnded {
                how: self
                    .reap()
                    .map_or_else(|| "unknown".to_owned(), |ended| ended.to_string()),
            }),
        }
    }

    /// Waits until it has ended by itself.
    pub(crate) fn reap(&mut self) -> Option<Ended> {
        process::reap_one(self.pid.take()?)
    }
}

impl Drop for InitProcess {
    fn drop(&mut self) {
        if let Some(pid) = self.pid {
            // Not reaped yet, so the number is still its own.
            let _ = kill_process(pid, Signal::KILL);
            self.reap();
        }
    }
}
