//! A room from its making until its subject is started, as the engine drives it.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd;
use std::path::PathBuf;

use crate::control_group::{ControlGroup, GroupOptions};
use crate::cpu::CpuSet;
use crate::error::{Result, RoomError, Step};
use crate::init_process::InitProcess;
use crate::link::{LinkCheck, RoomLink};
use crate::network::Network;
use crate::options::{Environment, Furnishing, RoomOptions, Surroundings};
use crate::process;
use crate::protocol::{Instants, NameFiles, Program, Request};
use crate::signals::{self, Signals};
use crate::steering::{self, ReceiveSteering};
use crate::{environment, files, leftovers, namespaces, program};

/// A peer program that was started.
#[derive(Debug)]
pub(crate) struct PeerInRoom {
    pub(crate) argv: Vec<OsString>,
    /// The number, inside the room, of the process whose descendants are the peer's.
    pub(crate) keeper: i32,
    pub(crate) started: Instants,
    pub(crate) ready_ns: Option<u64>,
}

/// A sealed room: this process is in the peer's network namespace, the subject's is waiting. On the machine's own network
/// ([`Surroundings::Machine`]) there are neither, and the rest is the same.
///
/// Dropping it ends everything in it.
#[derive(Debug)]
pub struct Room {
    pub(crate) options: RoomOptions,
    pub(crate) signals: Signals,
    pub(crate) init: InitProcess,
    // After `init`, so that on a drop the processes are gone when their group is removed.
    pub(crate) group: ControlGroup,
    /// Absent on the machine's own network.
    pub(crate) network: Option<Network>,
    /// Absent where subject and peer are joined directly.
    pub(crate) link: Option<RoomLink>,
    pub(crate) peer: Option<PeerInRoom>,
    pub(crate) steering: ReceiveSteering,
    trusts_authorities: bool,
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
        let link_cpu = options.link_cpu(&allowed)?;
        options.engine_cpus.pin()?;
        program::raise_open_files();
        leftovers::sweep();
        let mut group = ControlGroup::create(GroupOptions {
            cpus: &options.subject_cpus,
            memory_limit_bytes: options.memory_limit_bytes,
        });
        namespaces::gain_privilege()?;
        // Gaining capabilities may have cleared it.
        process::die_with_parent()?;
        let mut network = match options.surroundings {
            Surroundings::Sealed => Some(Network::build(options.link.map(|link| link.sending()))?),
            Surroundings::Machine => None,
        };
        // While this process has a single thread.
        let steering = match &network {
            Some(network) if options.receive_steering => steering::steer(
                network.subject_namespace().as_fd(),
                &options.engine_cpus,
                &options.subject_cpus,
            ),
            _ => ReceiveSteering::default(),
        };
        let init = InitProcess::start(options, network.as_ref(), group.take_entries())?;
        // From here on there may be threads.
        let ends = network.as_mut().and_then(Network::take_ends);
        let link = match (options.link, ends, link_cpu) {
            (Some(link), Some(ends), Some(cpu)) => {
                let shared =
                    options.engine_cpus.contains(cpu) || options.subject_cpus.contains(cpu);
                Some(RoomLink::start(link, ends, cpu, shared)?)
            }
            _ => None,
        };
        Ok(Self {
            options: options.clone(),
            signals,
            init,
            group,
            network,
            link,
            peer: None,
            steering,
            trusts_authorities: false,
        })
    }

    /// Whether the room has a network with IPv6 (a kernel can be without).
    #[must_use]
    pub fn has_ipv6(&self) -> bool {
        self.network
            .as_ref()
            .is_some_and(|network| network.has_ipv6)
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
        let request = Request::Furnish {
            furnishing: furnishing.clone(),
            names: self.names(furnishing),
        };
        self.init.ask(&request, &[]).map(drop)
    }

    /// Names come from the room's own name server, or from where the machine has them.
    fn names(&self, furnishing: &Furnishing) -> NameFiles {
        let hostname = &self.options.hostname;
        match self.options.surroundings {
            Surroundings::Sealed => files::sealed_names(hostname),
            Surroundings::Machine => {
                // A machine without one of these files has no names in it.
                let machines = |path| fs::read_to_string(path).unwrap_or_default();
                let hosts =
                    files::hosts_besides(&furnishing.hosts, hostname, &machines("/etc/hosts"));
                NameFiles {
                    hosts,
                    resolver: machines("/etc/resolv.conf"),
                }
            }
        }
    }

    /// Measures the link from the subject's side, before the subject starts; none without a link, or when interrupted.
    ///
    /// A link that is not what was asked for has a reason in its check; then [`Room::refuse`] gives the report.
    ///
    /// # Errors
    ///
    /// When nothing can be measured at all.
    pub fn check_link(&mut self) -> Result<Option<LinkCheck>> {
        let (Some(link), Some(network)) = (&mut self.link, &mut self.network) else {
            return Ok(None);
        };
        network.wait_until_operational()?;
        let namespace = network.subject_namespace().as_fd();
        let signals = &self.signals;
        link.check(namespace, &self.options.subject_cpus, &|| {
            signals.have_come()
        })
    }

    pub(crate) fn program(
        &self,
        argv: &[OsString],
        own: &Environment,
        directory: Option<PathBuf>,
    ) -> Program {
        Program {
            argv: argv.to_vec(),
            variables: environment::variables(own, std::env::vars_os(), self.trusts_authorities),
            directory,
            is_unfiltered: !self.options.filters_system_calls,
        }
    }
}
