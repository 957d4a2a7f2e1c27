//! CSV (RFC 4180): a header and a line per row, with raw numbers, including hidden columns.

use super::number::shortest;
use super::{Cell, Table, without_controls};

/// Unknown values are empty; notes are omitted.
pub fn render(table: &Table) -> String {
    let mut text = line(table.columns.iter().map(|column| column.name.clone()));
    for row in &table.rows {
        text += &line(row.iter().map(field));
    }
    text
}

fn field(cell: &Cell) -> String {
    match cell {
        Cell::Absent => String::new(),
        Cell::Text(text) => without_controls(text),
        Cell::Integer(number) => number.to_string(),
        Cell::Number(number) => shortest(*number),
        Cell::Boolean(yes) => yes.to_string(),
    }
}

fn line(fields: impl Iterator<Item = String>) -> String {
    let quoted: Vec<String> = fields.map(quoted).collect();
    quoted.join(",") + "\n"
}

fn quoted(field: String) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field
    }
}
