//! `room --against URL`: one command on this machine's own network, measured against the origin of another machine.

use anyhow::{Context, Result};
use dyno_room::{Ending, Furnishing, Room};
use dyno_web::{OneOrigin, Terms, Web};

use super::arguments::Arguments;
use super::files::Files;
use super::report::Report;
use super::summary;
use super::supply::Supplied;
use super::url_list::Foreseen;
use crate::against::{AgainstRecord, OtherOrigin};
use crate::complaint::{ENGINE_FAILED, complain};
use crate::progress::Progress;

/// Runs the command as in a room but for its network, reports what both machines saw; the status is the command's.
pub fn run(arguments: &Arguments, origin: &OneOrigin) -> Result<u8> {
    let web = arguments.web.load()?;
    let files = Files::open(arguments)?;
    let mut progress = Progress::new(arguments.progress)?;
    progress.preparing();
    // Before anybody is asked anything: a long list takes longer than an origin waits for the next question.
    progress.expect(foreseen_requests(arguments, origin, &web)?);
    let other = OtherOrigin::open(origin, &web)?;
    let mut room = Room::enter(&arguments.room_options()?)?;
    // From here on there may be threads.
    room.furnish(&Furnishing {
        hosts: other.host().into_iter().collect(),
        ..Furnishing::default()
    })?;
    let (subject, supply) = files.subject(arguments);
    let begun = other.begin()?;
    let running = room.start(subject)?;
    let held = begun.hold(running.stopper());
    let supplying = supply.map(|supply| supply.start(running.stopper()));
    let watch = progress.watch(held.watcher());
    let mut ending = running.wait()?;
    watch.end();
    let record = held.end();
    let fed = supplying.and_then(|supplying| supplying.end(&mut ending));
    conclude(arguments, ending, &record, fed)
}

/// How many requests a correct client sends for the list, if there is one.
fn foreseen_requests(arguments: &Arguments, origin: &OneOrigin, web: &Web) -> Result<Option<u64>> {
    let Some(list) = &arguments.stdin else {
        return Ok(None);
    };
    let terms = Terms {
        origin: Some(origin),
        ..Terms::within(arguments.timeout)
    };
    let foreseen = Foreseen::read(list, |line| web.expect_on(&terms, line))?;
    Ok(Some(foreseen.requests))
}

/// Reports what both machines saw; the status is the command's, unless the other machine was lost.
fn conclude(
    arguments: &Arguments,
    ending: Ending,
    record: &AgainstRecord,
    fed: Option<Supplied>,
) -> Result<u8> {
    let status = match record.lost() {
        Some(error) => {
            complain(error);
            ENGINE_FAILED
        }
        None => ending.exit_status(),
    };
    summary::tell(&ending, arguments.deadline, None);
    if let Some(path) = &arguments.arrivals {
        std::fs::write(path, record.arrivals())
            .with_context(|| format!("--arrivals {}", path.display()))?;
    }
    if let Some(path) = &arguments.report {
        Report {
            ending,
            origin: None,
            against: Some(record),
            fed,
        }
        .write(path)?;
    }
    Ok(status)
}
