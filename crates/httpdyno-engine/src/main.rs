//! The engine: one binary with a verb for everything that must be fast or uses the kernel directly.
#![forbid(unsafe_code)]

mod against;
mod calibrator;
mod clock;
mod clock_setting;
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
mod messages;
mod origin;
mod other_tools;
mod preparation;
mod progress;
mod quantity;
mod report_file;
mod room;
mod scripts;
mod servers;
mod shards;
mod stop;
mod table;
mod terminal;
mod urls;
mod usage;
mod web_identity;
mod web_source;

use std::io::{self, ErrorKind};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use dyno_room::RoomError;

use crate::messages::{ENGINE_FAILED, FULL, USAGE, UsageError, one_line, print_message};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The engine's command line.
#[derive(Debug, Parser)]
#[command(
    name = "httpdyno-engine",
    version,
    about,
    after_help = EXAMPLES,
    disable_help_subcommand = true,
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

const EXAMPLES: &str = "\
Examples:
  httpdyno-engine origin --web plain --listen 127.0.0.1:8080 &
  httpdyno-engine load http://127.0.0.1:8080/ --connections 64 --duration 10s
  httpdyno-engine urls --web top-sites --limit 1000 > urls.txt
  httpdyno-engine room --web top-sites -- httpdyno-engine fetch --save pages < urls.txt

The commands that end with (JSON) serve the command httpdyno, which compares clients and servers.";

/// First the programs, then the data of a web, then the parts of `httpdyno`.
#[derive(Debug, Subcommand)]
enum Verb {
    /// Send requests to a server, and measure its throughput and its response times
    Load(Box<load::Arguments>),
    /// Fetch the URLs on standard input; print a row of code, time and length for each
    Fetch(Box<fetch::Arguments>),
    /// Split a list of URLs into shards, one for each machine
    Split(shards::SplitArguments),
    /// Check that the shards of a list are whole, and write the report of all
    Merge(shards::MergeArguments),
    /// Run a command in a sealed room with a web, or another peer, of its own
    Room(Box<room::Arguments>),
    /// Serve a web on this machine's own network
    Origin(origin::Arguments),
    /// Serve with a known behaviour, to check load generators
    Calibrator(calibrator::Arguments),
    /// Add up the reports of several generators of one load, and print its tables
    LoadMerge(load::MergeArguments),
    /// Serve the time of this machine, so that generators on several machines start at one moment
    Clock(clock::Arguments),
    /// Print the URLs of a web, one a line
    Urls(urls::Arguments),
    /// Print the correct result of each URL on standard input (CSV)
    Expect(expect::Arguments),
    /// Print the values of links, or list the presets
    Link(link::Arguments),
    /// Parse a client's output on standard input: a row for each sample, then the lines that are not samples (CSV)
    Lines(lines::Arguments),
    /// Verify a server, run a load generator against it and watch it, verify it again (JSON)
    Drive(drive::Arguments),
    /// Print the identity of another machine's origin, and the round-trip time to it (JSON)
    Reach(against::Arguments),
    /// Print the identity of a web: name, seed, digest (JSON)
    Web(web_identity::Arguments),
    /// Print the capabilities of this machine for a room (JSON)
    Doctor,
}

/// Disables huge pages for this process.
///
/// The kernel clears 2 MiB when a huge page is first used, which takes some ten milliseconds in a virtual machine, in
/// the middle of a measurement. Child processes inherit the setting, so this is called only for verbs that start none.
fn use_small_pages() {
    // If the kernel has no huge pages, there is nothing to disable.
    rustix::thread::disable_transparent_huge_pages(true).ok();
}

fn main() -> ExitCode {
    let verb = match usage::parse::<Arguments>() {
        Ok(arguments) => arguments.verb,
        Err(status) => return status,
    };
    descriptors::reserve();
    if !matches!(verb, Verb::Room(_) | Verb::Drive(_)) {
        use_small_pages();
    }
    let prints_results = !matches!(
        verb,
        Verb::Room(_) | Verb::Drive(_) | Verb::Origin(_) | Verb::Calibrator(_) | Verb::Clock(_)
    );
    let outcome = match verb {
        Verb::Room(arguments) => room::run(*arguments),
        Verb::Origin(arguments) => origin::run(&arguments),
        Verb::Reach(arguments) => against::run(&arguments),
        Verb::Load(arguments) => load::run(&arguments),
        Verb::LoadMerge(arguments) => load::run_merge(&arguments),
        Verb::Clock(arguments) => clock::run(&arguments),
        Verb::Drive(arguments) => drive::run(&arguments),
        Verb::Urls(arguments) => urls::run(&arguments),
        Verb::Expect(arguments) => expect::run(&arguments),
        Verb::Lines(arguments) => lines::run(&arguments),
        Verb::Fetch(arguments) => fetch::run(*arguments),
        Verb::Split(arguments) => shards::run_split(&arguments),
        Verb::Merge(arguments) => shards::run_merge(&arguments),
        Verb::Web(arguments) => web_identity::run(&arguments),
        Verb::Link(arguments) => link::run(&arguments),
        Verb::Calibrator(arguments) => calibrator::run(&arguments),
        Verb::Doctor => doctor::run(),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) if prints_results && is_broken_pipe(&error) => ExitCode::SUCCESS,
        // The status of a room is that of its subject, which may be any small number, so a full disk has no separate
        // status there.
        Err(error) if prints_results && is_full(&error) => {
            print_message(format_args!("{}; free some space", one_line(&*error)));
            ExitCode::from(FULL)
        }
        Err(error) => {
            print_message(one_line(&*error));
            let is_mistake = error.is::<UsageError>()
                || matches!(error.downcast_ref(), Some(RoomError::Invalid { .. }));
            ExitCode::from(if is_mistake { USAGE } else { ENGINE_FAILED })
        }
    }
}

/// Whether the reader of the output has closed (`| head`), which is not a failure.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    io_error_kinds(error).any(|kind| kind == ErrorKind::BrokenPipe)
}

/// Whether a disk or a quota is full.
fn is_full(error: &anyhow::Error) -> bool {
    io_error_kinds(error)
        .any(|kind| matches!(kind, ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
}

/// The kinds of the I/O errors in a chain of causes.
fn io_error_kinds(error: &anyhow::Error) -> impl Iterator<Item = ErrorKind> {
    error.chain().filter_map(|cause| {
        let direct = cause.downcast_ref::<io::Error>().map(io::Error::kind);
        direct.or_else(|| match cause.downcast_ref::<csv::Error>()?.kind() {
            csv::ErrorKind::Io(error) => Some(error.kind()),
            _ => None,
        })
    })
}
