//! The room on a real kernel, with real processes. This program plays every part itself: run as `room engine ...` it is an engine,
//! as `room subject ...` a subject.

mod accounting;
mod endings;
mod engine;
mod furniture;
mod kills;
mod link;
mod network;
mod serving;
mod stage;
mod starts;
mod subject;

use std::ffi::OsString;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use stage::{Stage, User};

/// A test of one room, as one kind of user.
type Test = fn(&Stage) -> Result<(), Failed>;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|role| role.to_str()) {
        Some("engine") => engine::main(&arguments[2..]),
        Some("subject") => subject::main(&arguments[2..]),
        _ => {}
    }
    let mut trials = Vec::new();
    for user in [User::Root, User::Ordinary] {
        let stage = Stage::new(user);
        if let Err(reason) = &stage {
            eprintln!("tests as {user} are skipped: {reason}");
        }
        let no_links = stage.as_ref().ok().and_then(Stage::no_links);
        if let Some(reason) = &no_links {
            eprintln!("tests of links as {user} are skipped: {reason}");
        }
        let links = link::TESTS.iter().map(|&test| (test, no_links.is_some()));
        let others = tests(user).map(|test| (test, false));
        for ((name, test), has_no_links) in others.chain(links) {
            let stage = stage.clone();
            let is_skipped = stage.is_err() || has_no_links;
            let trial = Trial::test(format!("{user}::{name}"), move || test(&stage?));
            trials.push(trial.with_ignored_flag(is_skipped));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn tests(user: User) -> impl Iterator<Item = (&'static str, Test)> {
    let for_everybody = [
        starts::TESTS,
        network::TESTS,
        furniture::TESTS,
        accounting::TESTS,
        endings::TESTS,
        kills::TESTS,
        serving::TESTS,
    ];
    let for_root = [
        furniture::ROOT_TESTS,
        accounting::ROOT_TESTS,
        link::ROOT_TESTS,
        network::ROOT_TESTS,
    ];
    for_everybody
        .into_iter()
        .chain(for_root.into_iter().filter(move |_| user == User::Root))
        .flatten()
        .copied()
}
