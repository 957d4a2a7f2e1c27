//! The engine: one binary with a verb for each thing that must be fast or touches the kernel.
#![forbid(unsafe_code)]

mod against;
mod calibrator;
mod complaint;
mod control;
mod descriptors;
mod doctor;
mod drive;
mod expect;
mod fetch;
mod lines;
mod link;
mod listen_address;
mod load;
mod origin;
mod preparation;
mod progress;
mod quantity;
mod report_file;
mod room;
mod servers;
mod stop;
mod table;
mod urls;
mod usage;
mod web_identity;
mod web_source;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dyno_room::RoomError;

use crate::complaint::{ENGINE_FAILED, FULL, Mistyped, USAGE, complain, one_line};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The engine of httpdyno: a sealed room with an internet of its own, and what that internet answers.
#[derive(Debug, Parser)]
#[command(
    name = "httpdyno-engine",
    version,
    about,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run a command in a sealed room with a web, or another peer, of its own
    Room(Box<room::Arguments>),
    /// Serve a web on this machine's own network
    Origin(origin::Arguments),
    /// Say who answers at another machine's address, and how far it is (JSON)
    Reach(against::Arguments),
    /// Send requests to a server and measure how fast it answers, and how long its answers take
    Load(Box<load::Arguments>),
    /// Prove that a server keeps its contract, run a load generator against it, watch it meanwhile, prove it again (JSON)
    Drive(drive::Arguments),
    /// Print the URLs of a web, one a line
    Urls(urls::Arguments),
    /// Say what a correct client must report for each URL of standard input (CSV)
    Expect(expect::Arguments),
    /// Read what a client printed on standard input: a row for each sample, then what is none (CSV)
    Lines(lines::Arguments),
    /// Fetch the URLs of standard input, a row of code, time and length each
    Fetch(Box<fetch::Arguments>),
    /// Say which web it is: name, seed, digest (JSON)
    Web(web_identity::Arguments),
    /// Say what a text means as a link, and which links have a name
    Link(link::Arguments),
    /// Serve with a known behaviour: what load generators are held against
    Calibrator(calibrator::Arguments),
    /// Say what this machine can do for a room (JSON)
    Doctor,
}

/// Lets this process use small pages only.
///
/// Where the kernel hands out huge ones, the first touch of each clears 2 MiB: some ten milliseconds in a virtual machine, in the
/// middle of a measurement. Children would inherit it: only for verbs that start none.
fn use_small_pages() {
    // A kernel without huge pages has nothing to switch off.
    rustix::thread::disable_transparent_huge_pages(true).ok();
}

fn main() -> ExitCode {
    let verb = match usage::parsed::<Arguments>() {
        Ok(arguments) => arguments.verb,
        Err(status) => return status,
    };
    descriptors::make_room();
    if !matches!(verb, Verb::Room(_) | Verb::Drive(_)) {
        use_small_pages();
    }
    let prints = !matches!(
        verb,
        Verb::Room(_) | Verb::Drive(_) | Verb::Origin(_) | Verb::Calibrator(_)
    );
    let outcome = match verb {
        Verb::Room(arguments) => room::run(*arguments),
        Verb::Origin(arguments) => origin::run(&arguments),
        Verb::Reach(arguments) => against::run(&arguments),
        Verb::Load(arguments) => load::run(&arguments),
        Verb::Drive(arguments) => drive::run(&arguments),
        Verb::Urls(arguments) => urls::run(&arguments),
        Verb::Expect(arguments) => expect::run(&arguments),
        Verb::Lines(arguments) => lines::run(&arguments),
        Verb::Fetch(arguments) => fetch::run(&arguments),
        Verb::Web(arguments) => web_identity::run(&arguments),
        Verb::Link(arguments) => link::run(&arguments),
        Verb::Calibrator(arguments) => calibrator::run(&arguments),
        Verb::Doctor => doctor::run(),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) if prints && is_broken_pipe(&error) => ExitCode::SUCCESS,
        // The status of a room is its subject's, which may be any small number.
        Err(error) if prints && is_full(&error) => {
            complain(format_args!("{}; free some space", one_line(&*error)));
            ExitCode::from(FULL)
        }
        Err(error) => {
            complain(one_line(&*error));
            let is_mistake = error.is::<Mistyped>()
                || matches!(error.downcast_ref(), Some(RoomError::Invalid { .. }));
            ExitCode::from(if is_mistake { USAGE } else { ENGINE_FAILED })
        }
    }
}

/// Whether the reader of our output has gone (`| head`), which is its right.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    kinds(error).any(|kind| kind == ErrorKind::BrokenPipe)
}

/// Whether a disk, or what a user may have of it, is full.
fn is_full(error: &anyhow::Error) -> bool {
    kinds(error).any(|kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

/// What the system said, wherever in an error it is.
fn kinds(error: &anyhow::Error) -> impl Iterator<Item = ErrorKind> {
    error.chain().filter_map(|cause| {
        let direct = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        direct.or_else(|| match cause.downcast_ref::<csv::Error>()?.kind() {
            csv::ErrorKind::Io(error) => Some(error.kind()),
            _ => None,
        })
    })
}
