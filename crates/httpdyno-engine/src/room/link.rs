//! The check of a room's link.

use dyno_room::Room;

use super::arguments::LinkArguments;

/// Measures the link and prints the result; returns whether the link is as specified.
pub fn verify(asked: &LinkArguments, room: &mut Room) -> dyno_room::Result<bool> {
    if !asked.is_checked() {
        return Ok(true);
    }
    let Some(check) = room.check_link()? else {
        return Ok(true);
    };
    eprintln!("{}", check.line);
    Ok(check.reason.is_none())
}
