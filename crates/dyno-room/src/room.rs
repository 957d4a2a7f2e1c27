//! A room from its creation to the start of its subject.

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
use crate::options::{Environment, NamesAndTrust, RoomOptions, Surroundings};
use crate::process;
use crate::protocol::{Instants, NameFiles, Program, Request};
use crate::signals::{self, Signals};
use crate::steering::{self, ReceiveSteering};
use crate::{environment, files, leftovers, namespaces, program};

/// A running peer program.
#[derive(Debug)]
pub(crate) struct PeerInRoom {
    pub(crate) argv: Vec<OsString>,
    /// PID, inside the room, of the ancestor of the peer's processes.
    pub(crate) keeper: i32,
    pub(crate) started: Instants,
    pub(crate) ready_ns: Option<u64>,
}

/// A sealed room. This process is in the peer's network namespace; the subject has another one. With [`Surroundings::Machine`]
/// both use the machine's own network.
///
/// Dropping the room ends every process in it.
#[derive(Debug)]
pub struct Room {
    pub(crate) options: RoomOptions,
    pub(crate) signals: Signals,
    pub(crate) init: InitProcess,
    // Declared after `init`: a drop ends the processes before it removes their group.
    pub(crate) group: ControlGroup,
    /// Absent on the machine's own network.
    pub(crate) network: Option<Network>,
    /// Absent for a direct connection.
    pub(crate) link: Option<RoomLink>,
    pub(crate) peer: Option<PeerInRoom>,
    pub(crate) steering: ReceiveSteering,
    trusts_authorities: bool,
}

impl Room {
    /// Create the room's namespaces and first process, and move this process into the peer's network namespace.
    ///
    /// Call this at the start of `main`, before any thread exists: the kernel moves single-threaded processes only. Threads that
    /// start afterwards open their sockets in the peer's network. From this call on, SIGINT, SIGTERM, SIGHUP and SIGQUIT are blocked
    /// and end the subject instead (see [`Running::wait`]). This process runs on the engine's CPUs, has its limit of open files raised
    /// to the hard limit, and dies with the *thread* of its parent that started it.
    ///
    /// # Errors
    ///
    /// One line with what the kernel refused and what to do about it.
    pub fn enter(options: &RoomOptions) -> Result<Self> {
        if !process::has_one_thread().step(|| "counting this process's threads".to_owned())? {
            return Err(RoomError::Invalid {
                what: "a room cannot be entered by a process with several threads".to_owned(),
                cure: "enter it before starting threads".to_owned(),
            });
        }
        process::die_with_parent()?;
        process::keep_children();
        let signals = Signals::block(signals::STOPPING)?;
        // The subject takes the terminal's foreground; SIGTTOU would stop this process when it takes the terminal back.
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
        // Gaining capabilities may have cleared the parent-death signal.
        process::die_with_parent()?;
        let mut network = match options.surroundings {
            Surroundings::Sealed => Some(Network::build(options.link.map(|link| link.sending()))?),
            Surroundings::Machine => None,
        };
        // Must run while this process has a single thread.
        let steering = match &network {
            Some(network) if options.receive_steering => steering::steer(
                network.subject_namespace().as_fd(),
                &options.engine_cpus,
                &options.subject_cpus,
            ),
            _ => ReceiveSteering::default(),
        };
        let init = InitProcess::start(options, network.as_ref(), group.take_entries())?;
        // Threads may start from here on.
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

    /// Return whether the room's network has IPv6, which the kernel may lack.
    #[must_use]
    pub fn has_ipv6(&self) -> bool {
        self.network
            .as_ref()
            .is_some_and(|network| network.has_ipv6)
    }

    /// Mount the room's files over the machine's: names and trust.
    ///
    /// Call this once, before any program starts, from any thread.
    ///
    /// # Errors
    ///
    /// One line with the file and what to do about it.
    pub fn install_names_and_trust(&mut self, names_and_trust: &NamesAndTrust) -> Result<()> {
        self.trusts_authorities = !names_and_trust.authorities.is_empty();
        let request = Request::InstallNamesAndTrust {
            names_and_trust: names_and_trust.clone(),
            names: self.names(names_and_trust),
        };
        self.init.ask(&request, &[]).map(drop)
    }

    /// Return the room's own name server, or the machine's configuration of names.
    fn names(&self, names_and_trust: &NamesAndTrust) -> NameFiles {
        let hostname = &self.options.hostname;
        match self.options.surroundings {
            Surroundings::Sealed => files::sealed_names(hostname),
            Surroundings::Machine => {
                // A missing file counts as empty.
                let machines = |path| fs::read_to_string(path).unwrap_or_default();
                let hosts =
                    files::merged_hosts(&names_and_trust.hosts, hostname, &machines("/etc/hosts"));
                NameFiles {
                    hosts,
                    resolver: machines("/etc/resolv.conf"),
                }
            }
        }
    }

    /// Measure the link from the subject's side before the subject starts. None without a link or after an interruption.
    ///
    /// The check of a link that missed its specification contains the reason; [`Room::refuse`] then makes the report.
    ///
    /// # Errors
    ///
    /// When no measurement is possible.
    pub fn check_link(&mut self) -> Result<Option<LinkCheck>> {
        let (Some(link), Some(network)) = (&mut self.link, &mut self.network) else {
            return Ok(None);
        };
        network.wait_until_operational()?;
        let namespace = network.subject_namespace().as_fd();
        let signals = &self.signals;
        link.check(namespace, &self.options.subject_cpus, &|| {
            signals.is_pending()
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
