//! The engine: one binary with a verb for each thing that must be fast or touches the kernel.
#![forbid(unsafe_code)]

mod doctor;
mod expect;
mod feed;
mod origin;
mod progress;
mod quantity;
mod report;
mod room;
mod room_web;
mod url_list;
mod urls;
mod web_identity;
mod web_source;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Exit status when the engine itself failed, so that it is never taken for the subject's.
const ENGINE_FAILED: u8 = 125;

/// The engine of httpdyno: a sealed room with an internet of its own, and what that internet answers.
#[derive(Debug, Parser)]
#[command(
    name = "httpdyno-engine",
    version,
    about,
    disable_help_subcommand = true
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
    /// Print the URLs of a web, one a line
    Urls(urls::Arguments),
    /// Say what a correct client must report for each URL of standard input (CSV)
    Expect(expect::Arguments),
    /// Say which web it is: name, seed, digest (JSON)
    Web(web_identity::Arguments),
    /// Say what this machine can do for a room (JSON)
    Doctor,
}

fn main() -> ExitCode {
    let outcome = match Arguments::parse().verb {
        Verb::Room(arguments) => room::run(&arguments),
        Verb::Origin(arguments) => origin::run(&arguments),
        Verb::Urls(arguments) => urls::run(&arguments),
        Verb::Expect(arguments) => expect::run(&arguments),
        Verb::Web(arguments) => web_identity::run(&arguments),
        Verb::Doctor => doctor::run(),
    };
    match outcome {
        Ok(status) => ExitCode::from(status),
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("httpdyno-engine: {error:#}");
            ExitCode::from(ENGINE_FAILED)
        }
    }
}

/// Whether the reader of our output has gone (`| head`), which is its right.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let kinds = error.chain().filter_map(|cause| {
        let direct = cause
            .downcast_ref::<std::io::Error>()
            .map(std::io::Error::kind);
        direct.or_else(|| match cause.downcast_ref::<csv::Error>()?.kind() {
            csv::ErrorKind::Io(error) => Some(error.kind()),
            _ => None,
        })
    });
    kinds
        .into_iter()
        .any(|kind| kind == std::io::ErrorKind::BrokenPipe)
}
