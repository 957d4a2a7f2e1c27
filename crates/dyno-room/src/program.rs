//! Executing a program in the room: the steps between fork and exec.

use std::fs;
use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::{Pid, Resource, Rlimit, getrlimit, setrlimit};

use crate::capabilities::{Network, drop_capabilities};
use crate::error::{Result, RoomError, Step};
use crate::protocol::{Instants, Program};
use crate::signals;
use crate::system_calls;

/// Length of the time of the exec on the pipe to the parent: two numbers of eight bytes.
const MOMENT_BYTES: usize = 16;

/// Standard input, output and error of a program.
#[derive(Debug)]
pub(crate) struct Streams {
    pub(crate) input: OwnedFd,
    pub(crate) output: OwnedFd,
    pub(crate) error: OwnedFd,
}

impl Streams {
    /// Make streams of three descriptors in the order of their numbers.
    pub(crate) fn from_descriptors(descriptors: Vec<OwnedFd>) -> Result<Self> {
        let [input, output, error] = descriptors.try_into().map_err(|found: Vec<OwnedFd>| {
            RoomError::Init(format!(
                "a program needs three standard streams, received {}",
                found.len()
            ))
        })?;
        Ok(Self {
            input,
            output,
            error,
        })
    }
}

/// The parent's end: receives the time of the child's exec, or why it failed.
#[derive(Debug)]
pub(crate) struct LaunchWatch(PipeReader);

/// The child's end; the exec closes it.
#[derive(Debug)]
pub(crate) struct LaunchReport(PipeWriter);

/// Return both ends for one launch.
pub(crate) fn launch() -> Result<(LaunchWatch, LaunchReport)> {
    let (reader, writer) = io::pipe().step(|| "making a pipe to start a program".to_owned())?;
    Ok((LaunchWatch(reader), LaunchReport(writer)))
}

impl LaunchWatch {
    /// Wait for the exec: return the time just before it, or why it failed.
    pub(crate) fn wait(mut self) -> Result<Instants> {
        let mut bytes = Vec::new();
        self.0
            .read_to_end(&mut bytes)
            .step(|| "waiting for a program to start".to_owned())?;
        match bytes.split_first_chunk::<MOMENT_BYTES>() {
            Some((moment, [])) => {
                let (unix_ns, monotonic_ns) = moment.split_at(MOMENT_BYTES / 2);
                let number =
                    |half: &[u8]| half.first_chunk().copied().map_or(0, u64::from_ne_bytes);
                Ok(Instants {
                    unix_ns: number(unix_ns),
                    monotonic_ns: number(monotonic_ns),
                })
            }
            Some((_, reason)) => Err(RoomError::Init(
                String::from_utf8_lossy(reason).into_owned(),
            )),
            None => Err(RoomError::Init(
                "the program was killed before it could be executed".to_owned(),
            )),
        }
    }
}

impl LaunchReport {
    /// Prepare this process and execute the program; on failure, report the reason and return.
    pub(crate) fn execute(
        mut self,
        program: &Program,
        streams: Streams,
        network: Network,
        prepare: impl FnOnce() -> Result<()>,
    ) {
        let prepared = prepare().and_then(|()| command(program, streams, network));
        let now = Instants::now();
        let moment = [now.unix_ns.to_ne_bytes(), now.monotonic_ns.to_ne_bytes()].concat();
        // The parent reads until the pipe closes; this process dies with it.
        let _ = self.0.write_all(&moment);
        let failure = match prepared {
            Ok(mut command) => reason(program, &command.exec()),
            Err(error) => error.to_string(),
        };
        let _ = self.0.write_all(failure.as_bytes());
    }
}

impl AsFd for LaunchReport {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Prepare what every program of the room gets: limits, no capabilities, its directory, variables and streams.
fn command(program: &Program, streams: Streams, network: Network) -> Result<Command> {
    let (name, arguments) = program
        .argv
        .split_first()
        .ok_or_else(|| RoomError::Invalid {
            what: "no program was given".to_owned(),
            cure: "name one after --".to_owned(),
        })?;
    raise_open_files();
    forbid_core_dumps();
    if let Some(directory) = &program.directory {
        std::env::set_current_dir(directory)
            .step(|| format!("entering the working directory {}", directory.display()))?;
    }
    // Not earlier: taking the terminal requires SIGTTOU to be blocked.
    signals::unblock_all().step(|| "unblocking signals".to_owned())?;
    join_own_keyring().step(|| "making a keyring".to_owned())?;
    if !program.is_unfiltered {
        // The filter is optional: the other walls of the room hold without it.
        match system_calls::refuse() {
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => {}
            refused => refused.step(|| "filtering system calls".to_owned())?,
        }
    }
    drop_capabilities(network).step(|| "dropping capabilities".to_owned())?;
    let mut command = Command::new(name);
    command
        .args(arguments)
        .env_clear()
        .envs(program.variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::from(streams.input))
        .stdout(Stdio::from(streams.output))
        .stderr(Stdio::from(streams.error));
    Ok(command)
}

fn reason(program: &Program, error: &io::Error) -> String {
    let name = program
        .argv
        .first()
        .map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    let advice = match error.kind() {
        io::ErrorKind::NotFound if name.contains('/') && Path::new(&name).exists() => {
            "; the interpreter that it names does not exist"
        }
        io::ErrorKind::NotFound if !name.contains('/') => "; it is in no folder of PATH",
        io::ErrorKind::PermissionDenied => {
            "; it is not executable, or it is in a folder that this user may not enter"
        }
        _ => "",
    };
    format!("cannot execute {name}: {error}{advice}")
}

/// Raise the limit of open files to the hard limit: trials use thousands of connections.
pub(crate) fn raise_open_files() {
    let limit = getrlimit(Resource::Nofile);
    // Raising to the hard limit is always allowed; if the kernel refuses, the old limit stays.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

/// Disable core dumps: a crash must not leave a file behind.
fn forbid_core_dumps() {
    let maximum = getrlimit(Resource::Core).maximum;
    let _ = setrlimit(
        Resource::Core,
        Rlimit {
            current: Some(0),
            maximum,
        },
    );
}

/// Make this process the kernel's first choice when the machine runs out of memory.
pub(crate) fn set_oom_score_max() {
    // Refused only if /proc is read-only; the kernel then chooses as usual.
    let _ = fs::write("/proc/self/oom_score_adj", "1000");
}

/// Give this process an empty session keyring in place of the caller's.
fn join_own_keyring() -> io::Result<()> {
    const JOIN_SESSION_KEYRING: libc::c_long = 1;
    // SAFETY: no name is passed, so that no memory is read.
    let result = unsafe { libc::syscall(libc::SYS_keyctl, JOIN_SESSION_KEYRING, 0_usize) };
    let error = io::Error::last_os_error();
    match error.raw_os_error() {
        // Without keys, or in a container that forbids keyrings, there is none to leave.
        _ if result >= 0 => Ok(()),
        Some(libc::ENOSYS | libc::EPERM) => Ok(()),
        _ => Err(error),
    }
}

/// Put this process into a new session without a terminal: it can be signalled together with its descendants and cannot write to
/// the caller's terminal.
pub(crate) fn lead_session() -> Result<()> {
    rustix::process::setsid().step(|| "making a session".to_owned())?;
    Ok(())
}

/// Put this process into a new group in the foreground of a terminal, so that it can be signalled together with its descendants.
pub(crate) fn lead_group(terminal: BorrowedFd) -> Result<()> {
    rustix::process::setpgid(None, None).step(|| "making a process group".to_owned())?;
    let own: Pid = rustix::process::getpid();
    // SIGTTOU is blocked here, as in the engine; if the terminal refuses, the engine stays in its foreground.
    let _ = rustix::termios::tcsetpgrp(terminal, own);
    Ok(())
}
