//! `room --against URL`: one command on this machine's own network, measured against the origin of another machine.

use anyhow::{Context, Result};
use dyno_room::{Ending, NamesAndTrust, Room};
use dyno_web::{OneOrigin, Terms, Web};

use super::arguments::Arguments;
use super::files::Files;
use super::list_forecast::ListForecast;
use super::report::Report;
use super::summary;
use super::supply::SupplyRecord;
use crate::against::{AgainstRecord, OtherOrigin};
use crate::messages::{ENGINE_FAILED, print_message};
use crate::progress::Progress;

/// Runs the command as in a room but on the machine's network, and reports both machines; returns the command's status.
pub fn run(arguments: &Arguments, origin: &OneOrigin) -> Result<u8> {
    let web = arguments.web.load()?;
    let files = Files::open(arguments)?;
    let mut progress = Progress::new(arguments.progress)?;
    progress.preparing();
    // Done before the first request to the origin: reading a long list takes longer than an origin waits for the next
    // request.
    progress.expect(expected_requests(arguments, origin, &web)?);
    let other = OtherOrigin::open(origin, &web)?;
    let mut room = Room::enter(&arguments.room_options()?)?;
    // Threads may start from here on.
    room.install_names_and_trust(&NamesAndTrust {
        hosts: other.host().into_iter().collect(),
        ..NamesAndTrust::default()
    })?;
    let (subject, supply) = files.subject(arguments);
    let started = other.begin()?;
    let running = room.start(subject)?;
    let polled = started.poll(running.stopper());
    let running_supply = supply.map(|supply| supply.start(running.stopper()));
    let watch = progress.watch(polled.watcher());
    let mut ending = running.wait()?;
    watch.end();
    let record = polled.end();
    let fed = running_supply.and_then(|running_supply| running_supply.end(&mut ending));
    conclude(arguments, ending, &record, fed)
}

/// Requests of a correct client for the list, if there is one.
fn expected_requests(arguments: &Arguments, origin: &OneOrigin, web: &Web) -> Result<Option<u64>> {
    let Some(list) = &arguments.stdin else {
        return Ok(None);
    };
    let terms = Terms {
        origin: Some(origin),
        ..Terms::within(arguments.timeout)
    };
    let forecast = ListForecast::read(list, |line| web.expect_on(&terms, line))?;
    Ok(Some(forecast.requests))
}

/// Reports both machines; returns the command's status, or that of a failed engine if the other machine was lost.
fn conclude(
    arguments: &Arguments,
    ending: Ending,
    record: &AgainstRecord,
    fed: Option<SupplyRecord>,
) -> Result<u8> {
    let status = match record.lost() {
        Some(error) => {
            print_message(error);
            ENGINE_FAILED
        }
        None => ending.exit_status(),
    };
    summary::print(&ending, arguments.deadline, None);
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
