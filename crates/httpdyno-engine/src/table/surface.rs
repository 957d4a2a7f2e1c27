//! The output of tables: colours and line width.

use std::io::{self, IsTerminal};

use rustix::termios::tcgetwinsize;

const USUAL_COLUMNS: usize = 80;

/// Capabilities of the output. The default is a file or a pipe: no colours, no width.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Surface {
    pub has_colour: bool,
    /// Characters on a line; `None`: unlimited.
    pub width: Option<usize>,
}

impl Surface {
    /// Standard output: a terminal has a width, and colours unless `NO_COLOR` is set or it is dumb.
    pub fn of_stdout() -> Self {
        let out = io::stdout();
        if !out.is_terminal() {
            return Self::default();
        }
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let given = set("COLUMNS").and_then(|text| text.to_str()?.parse().ok());
        let width = given.filter(|columns| *columns > 0).unwrap_or_else(|| {
            let columns = tcgetwinsize(&out).map_or(0, |size| size.ws_col.into());
            if columns == 0 { USUAL_COLUMNS } else { columns }
        });
        Self {
            has_colour: set("NO_COLOR").is_none() && set("TERM").is_none_or(|term| term != "dumb"),
            width: Some(width),
        }
    }
}
