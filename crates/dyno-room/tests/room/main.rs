//! The room on a real kernel with real processes. This program plays every role: `room engine ...` is an engine,
//! `room subject ...` a subject.

mod accounting;
mod endings;
mod engine;
mod kills;
mod link;
mod names_and_trust;
mod network;
mod serving;
mod stage;
mod starts;
mod subject;

use std::ffi::OsString;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Failed, Trial};

use stage::{NoStage, Stage, User};

/// A test of one room, for one kind of user.
type Test = fn(&Stage) -> Result<(), Failed>;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    match arguments.get(1).and_then(|role| role.to_str()) {
        Some("engine") => engine::main(&arguments[2..]),
        Some("subject") => subject::main(&arguments[2..]),
        _ => {}
    }
    // Orphaned descendants become children of the tests, which therefore never look at foreign processes.
    let adopted = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    adopted.expect("every process may adopt its descendants");
    let mut trials = Vec::new();
    for user in [User::Root, User::Ordinary] {
        trials.extend(match Stage::new(user) {
            Ok(stage) => trials_of(&stage),
            Err(NoStage::Impossible(reason)) => {
                eprintln!("tests as {user} are skipped: {reason}");
                Vec::new()
            }
            Err(NoStage::Broken(reason)) => {
                let name = format!("{user}::a_room_can_be_made");
                vec![Trial::test(name, move || Err(reason.into()))]
            }
        });
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trials_of(stage: &Stage) -> Vec<Trial> {
    let user = stage.user();
    let mut tests: Vec<(&str, Test)> = tests(user).collect();
    let mut measurements = Vec::new();
    if let Some(reason) = stage.no_links() {
        eprintln!("tests of links as {user} are skipped: {reason}");
    } else {
        tests.extend(link::TESTS);
        measurements.extend(link::MEASUREMENTS);
    }
    let trial = |(name, test): (&str, Test)| {
        let stage = stage.clone();
        Trial::test(format!("{user}::{name}"), move || test(&stage))
    };
    // Like `#[ignore = "measurement: ..."]` of other tests.
    let measurements = measurements
        .into_iter()
        .map(|measurement| trial(measurement).with_ignored_flag(true));
    tests.into_iter().map(trial).chain(measurements).collect()
}

fn tests(user: User) -> impl Iterator<Item = (&'static str, Test)> {
    let for_everybody = [
        starts::TESTS,
        network::TESTS,
        names_and_trust::TESTS,
        accounting::TESTS,
        endings::TESTS,
        kills::TESTS,
        serving::TESTS,
    ];
    let for_root = [
        names_and_trust::ROOT_TESTS,
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
