//! `room`: runs one command in a room, sealed with a web or another peer of its own, or on the machine's own network.

mod against;
mod arguments;
mod command;
mod conclude;
mod files;
mod last_line;
mod link;
mod list_forecast;
mod peer;
mod preflight;
mod program;
mod report;
mod server;
mod summary;
mod supply;
mod web;

use anyhow::Result;

pub use arguments::{Arguments, Switch};
use server::Drive;

/// Creates the room, runs the command in it, writes the report; returns the command's status.
pub fn run(mut arguments: Arguments) -> Result<u8> {
    preflight::check(&arguments)?;
    let again = arguments.stdin.as_deref().map(preflight::rereadable);
    let again = again.transpose()?;
    arguments.stdin = again.as_ref().map(|(path, _)| path.clone());
    let arguments = &arguments;
    match (&arguments.against, Drive::read(&arguments.server)?) {
        (Some(origin), _) => against::run(arguments, origin),
        (None, Some(drive)) => server::run(arguments, &drive),
        (None, None) => command::run(arguments),
    }
}
