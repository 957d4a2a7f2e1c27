//! JSON: a list of objects, one per row, with the names of the columns as keys, including hidden ones.

use std::fmt::Write as _;

use super::number::shortest;
use super::{Cell, Table};

/// Columns renamed since version 0.1: the former name is a second key, until 0.3.
const FORMER_NAMES: [(&str, &str); 1] = [("peak_memory_bytes", "peakMemory")];

/// Renders the rows; the key `notes` of each object has the notes of its row. Numbers that are not finite are null.
pub fn render(table: &Table) -> String {
    if table.rows.is_empty() {
        return "[]\n".to_owned();
    }
    let objects = (0..table.rows.len()).map(|row| object(table, row));
    format!("[\n{}\n]\n", objects.collect::<Vec<_>>().join(",\n"))
}

/// Renders each row as an object on a line of its own, whose first key `type` is `report`.
pub fn lines(table: &Table) -> String {
    let line = |row| {
        let members = members(table, row).join(", ");
        let notes = notes(table, row).join(", ");
        format!("{{\"type\": \"report\", {members}, \"notes\": [{notes}]}}\n")
    };
    (0..table.rows.len()).map(line).collect()
}

fn object(table: &Table, row: usize) -> String {
    let mut lines: Vec<String> = members(table, row)
        .into_iter()
        .map(|member| format!("    {member}"))
        .collect();
    let notes: Vec<String> = notes(table, row)
        .into_iter()
        .map(|note| format!("      {note}"))
        .collect();
    lines.push(if notes.is_empty() {
        "    \"notes\": []".to_owned()
    } else {
        format!("    \"notes\": [\n{}\n    ]", notes.join(",\n"))
    });
    format!("  {{\n{}\n  }}", lines.join(",\n"))
}

/// The cells of a row with their names.
fn members(table: &Table, row: usize) -> Vec<String> {
    let cells = &table.rows[row];
    let columns = table.columns.iter().zip(cells);
    let mut members: Vec<String> = columns
        .map(|(column, cell)| member(&column.name, cell))
        .collect();
    for (name, former) in FORMER_NAMES {
        if let Some(place) = table.columns.iter().position(|column| column.name == name) {
            members.push(member(former, &cells[place]));
        }
    }
    members
}

/// The notes of a row, quoted.
fn notes(table: &Table, row: usize) -> Vec<String> {
    let notes = table.notes.iter().filter(|note| note.row == Some(row));
    notes.map(|note| string(&note.text)).collect()
}

fn member(name: &str, cell: &Cell) -> String {
    let value = match cell {
        Cell::Text(text) => string(text),
        Cell::Integer(number) => number.to_string(),
        Cell::Number(number) if number.is_finite() => shortest(*number),
        Cell::Boolean(yes) => yes.to_string(),
        Cell::Number(_) | Cell::Absent => "null".to_owned(),
    };
    format!("{}: {value}", string(name))
}

/// Quotes a string in ASCII.
fn string(text: &str) -> String {
    let mut quoted = String::from('"');
    for letter in text.chars() {
        let _ = match letter {
            '"' | '\\' => write!(quoted, "\\{letter}"),
            '\n' => write!(quoted, "\\n"),
            '\r' => write!(quoted, "\\r"),
            '\t' => write!(quoted, "\\t"),
            '\u{8}' => write!(quoted, "\\b"),
            '\u{c}' => write!(quoted, "\\f"),
            ' '..='~' => write!(quoted, "{letter}"),
            _ => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    let _ = write!(quoted, "\\u{unit:04x}");
                }
                Ok(())
            }
        };
    }
    quoted + "\""
}
