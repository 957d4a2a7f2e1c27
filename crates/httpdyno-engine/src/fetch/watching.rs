//! What observes a running crawl: the screen of a terminal, or a line a minute.

use std::io::{self, IsTerminal};

use dyno_fetch::Observer;
use rustix::fd::AsFd;
use rustix::fs::{FileType, fstat, tell};

use super::screen::Screen;
use crate::load::display::{self, Display};
use crate::messages::print_message;

/// Whether the observer draws on the terminal, where lines of others would be overwritten.
pub fn draws(has_screen: bool) -> bool {
    has_screen && !io::stdin().is_terminal() && display::is_possible()
}

/// Creates the observer of a crawl. `has_screen`: rows do not go to the terminal.
pub fn observer(list: impl AsFd, has_screen: bool) -> Observer {
    let list_bytes = unread_bytes(&list);
    if draws(has_screen) {
        // Without it the crawl runs all the same.
        if let Ok(display) = Display::start(Screen::new(list_bytes), None) {
            return Observer(Box::new(move |figures| {
                display.update(|screen| screen.take(figures));
            }));
        }
    }
    let (mut screen, mut minutes) = (Screen::new(list_bytes), 1);
    Observer(Box::new(move |figures| {
        screen.take(figures);
        if screen.has_reached(minutes) {
            print_message(screen.line());
            minutes += 1;
        }
    }))
}

/// Bytes of a file after the position at which reading begins; `None` for anything else.
fn unread_bytes(list: &impl AsFd) -> Option<u64> {
    let status = fstat(list).ok()?;
    if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
        return None;
    }
    let size = u64::try_from(status.st_size).ok()?;
    Some(size.saturating_sub(tell(list).ok()?))
}
