//! The peer program of a room.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result};
use dyno_room::{Ending, Environment, Outcome, PeerOptions, PeerState, Room};

use super::arguments::Arguments;
use super::last_line::with_last_line;
use super::program::{create, listening_at, split_command, standard_error};

/// A peer listens on every address of its namespace.
const ANY_ADDRESS: &str = "0.0.0.0";

/// A peer program to be started.
pub struct Peer {
    options: PeerOptions,
    port: Option<u16>,
    ready_timeout: Duration,
    output: Option<PathBuf>,
}

impl Peer {
    /// The peer in the options, if there is one.
    pub fn read(arguments: &Arguments) -> Result<Option<Self>> {
        let asked = &arguments.peer;
        let Some(command) = &asked.peer else {
            return Ok(None);
        };
        let output = match &asked.peer_output {
            Some(path) => create("--peer-output", path)?,
            None => standard_error()?,
        };
        let error = output.try_clone().context("the peer's output")?;
        Ok(Some(Self {
            options: PeerOptions {
                argv: split_command("--peer", command)?,
                environment: environment(arguments),
                directory: directory(arguments),
                output,
                error,
            },
            port: asked.peer_port,
            ready_timeout: asked.peer_ready_timeout,
            output: asked.peer_output.clone(),
        }))
    }

    /// Starts the peer and, if it has a port, waits until it accepts connections; returns the reason of a failure.
    pub fn start(self, room: &mut Room) -> Result<Option<String>> {
        room.start_peer(self.options)?;
        let Some(port) = self.port else {
            return Ok(None);
        };
        Ok(match room.await_peer(port, self.ready_timeout)? {
            PeerState::Ready | PeerState::Interrupted => None,
            PeerState::Failed(reason) => {
                let output = self.output.as_deref();
                Some(with_last_line(reason, output))
            }
        })
    }
}

/// Marks a trial as failed by the peer if the peer ended by itself after it had accepted connections: the result of the
/// command then has no meaning.
pub fn mark_lost_peer(ending: &mut Ending, arguments: &Arguments) {
    let Some(code) = lost_peer_exit_code(ending) else {
        return;
    };
    let reason = format!("the peer program ended during the trial (exit code {code})");
    ending.outcome = Outcome::PeerFailed;
    ending.reason = Some(with_last_line(
        reason,
        arguments.peer.peer_output.as_deref(),
    ));
}

/// The exit code of a peer that ended by itself; `None` without such a peer, or if the trial was stopped.
fn lost_peer_exit_code(ending: &Ending) -> Option<i32> {
    let peer = ending
        .peer
        .as_ref()
        .filter(|peer| peer.ready_ns.is_some())?;
    let ran = matches!(
        ending.outcome,
        Outcome::Exited | Outcome::Signaled | Outcome::Deadline
    );
    peer.exit_code.filter(|_| ran)
}

fn environment(arguments: &Arguments) -> Environment {
    let variables = match arguments.peer.peer_port {
        None => arguments.variables.clone(),
        Some(port) => listening_at(ANY_ADDRESS, port),
    };
    // If two variables have the same name, the later one applies.
    let own = [arguments.peer.peer_variables.clone(), variables];
    arguments.environment(own.concat())
}

fn directory(arguments: &Arguments) -> Option<PathBuf> {
    let commands = arguments.directory.as_ref();
    let commands = commands.filter(|_| arguments.peer.peer_port.is_none());
    arguments.peer.peer_directory.as_ref().or(commands).cloned()
}
