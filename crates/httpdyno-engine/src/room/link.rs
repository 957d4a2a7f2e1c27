//! Whether the link of a room is what was asked for.

use dyno_room::Room;

use super::arguments::LinkArguments;

/// Measures the link and tells what it is; false when it is not what was asked for.
pub fn hold(asked: &LinkArguments, room: &mut Room) -> dyno_room::Result<bool> {
    if !asked.is_checked() {
        return Ok(true);
    }
    let Some(check) = room.check_link()? else {
        return Ok(true);
    };
    eprintln!("{}", check.line);
    Ok(check.reason.is_none())
}
