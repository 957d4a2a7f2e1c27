//! How a trial in a sealed room is concluded.

use anyhow::Result;
use dyno_room::{Ending, Outcome};

use super::arguments::Arguments;
use super::report::Report;
use super::summary;
use super::supply::Supplied;
use super::web::WebRecord;
use crate::complaint::complain;

/// Says why the command was not started, if it was not, if the origin was late, and what the command did, and reports; the status is
/// the room's.
pub fn conclude(
    arguments: &Arguments,
    ending: Ending,
    origin: Option<&WebRecord>,
    fed: Option<Supplied>,
) -> Result<u8> {
    let status = ending.exit_status();
    let reason = ending
        .reason
        .as_deref()
        .unwrap_or("the command could not be started");
    match ending.outcome {
        // The reason ends with a CPU of the link's own. Whoever reads it in the report may have another option for that.
        Outcome::LinkLimited => complain(format_args!("{reason} (--link-cpu)")),
        Outcome::FailedToStart | Outcome::PeerFailed | Outcome::NeverListened | Outcome::Died => {
            complain(reason);
        }
        _ => {}
    }
    if let Some(origin) = origin {
        origin.own_up();
    }
    summary::tell(&ending, arguments.deadline, origin.map(WebRecord::seen));
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
