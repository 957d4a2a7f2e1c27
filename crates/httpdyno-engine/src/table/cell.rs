//! Cells for people; text from outside cannot control a terminal.

use std::fmt::Write as _;

use dyno_load::format_time;

use super::number::{general, size, without_zeros};
use super::{Cell, Column, Kind};

/// Makes control characters and marks of the writing direction visible, as `\x1b` or `\u202e`.
pub fn without_controls(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        let code = u32::from(letter);
        // C0, DEL and C1 control a terminal; the others break a line or change its direction.
        let _ = match code {
            0..=0x1f | 0x7f..=0x9f => write!(safe, "\\x{code:02x}"),
            0x61c | 0x200b..=0x200f | 0x2028..=0x202e | 0x2066..=0x2069 | 0xfeff => {
                write!(safe, "\\u{code:04x}")
            }
            _ => {
                safe.push(letter);
                Ok(())
            }
        };
    }
    safe
}

/// Formats a cell for people: sizes and times with their unit.
pub fn text(cell: &Cell, column: &Column, absent: &str) -> String {
    match cell {
        Cell::Absent => absent.to_owned(),
        Cell::Boolean(yes) => if *yes { "yes" } else { "no" }.to_owned(),
        Cell::Text(text) => without_controls(text),
        #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
        Cell::Integer(number) => of_number(*number as f64, column.kind),
        Cell::Number(number) => of_number(*number, column.kind),
    }
}

fn of_number(number: f64, kind: Kind) -> String {
    match kind {
        Kind::Size => size(number),
        Kind::Time => format_time(number * 1e6),
        Kind::Decimal => without_zeros(&format!("{number:.2}")).to_owned(),
        Kind::Number if !(1e6..1e18).contains(&number.abs()) => general(number, 6),
        Kind::Number | Kind::Integer | Kind::Text | Kind::Boolean => format!("{number:.0}"),
    }
}
