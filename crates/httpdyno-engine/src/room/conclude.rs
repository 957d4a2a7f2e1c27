//! The end of a trial in a room: messages, report, exit status.

use anyhow::Result;
use dyno_room::{Ending, Outcome};

use super::arguments::Arguments;
use super::report::Report;
use super::summary;
use super::supply::SupplyRecord;
use super::web::WebRecord;
use crate::messages::print_message;

/// Prints why the command was not started, whether the origin was late, and the summary; writes the report; returns the
/// room's exit status.
pub fn conclude(
    arguments: &Arguments,
    ending: Ending,
    origin: Option<&WebRecord>,
    fed: Option<SupplyRecord>,
) -> Result<u8> {
    let status = ending.exit_status();
    let reason = ending
        .reason
        .as_deref()
        .unwrap_or("the command could not be started");
    match ending.outcome {
        // The reason ends with "a CPU of the link's own"; this option provides one. Readers of the report may have another option.
        Outcome::LinkLimited => print_message(format_args!("{reason} (--link-cpu)")),
        Outcome::FailedToStart | Outcome::PeerFailed | Outcome::NeverListened | Outcome::Died => {
            print_message(reason);
        }
        _ => {}
    }
    if let Some(origin) = origin {
        origin.warn_if_late();
    }
    summary::print(&ending, arguments.deadline, origin.map(WebRecord::seen));
    if let Some(path) = &arguments.report {
        Report {
            ending,
            origin,
            against: None,
            fed,
        }
        .write(path)?;
    }
    Ok(status)
}
