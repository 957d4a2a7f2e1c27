//! Plain text: aligned columns without lines and colours, and the notes under them.

use super::cell::text;
use super::{Column, Table};

const GAP: &str = "  ";

/// Renders a table; unknown values are hyphens, so that every line has the same number of fields.
pub fn render(table: &Table) -> String {
    let columns: Vec<(usize, &Column)> = table.shown().collect();
    let headings = columns.iter().map(|(_, column)| column.name.clone());
    let mut cells: Vec<Vec<String>> = vec![headings.collect()];
    for row in &table.rows {
        let texts = columns.iter().map(|(place, column)| {
            let shown = text(&row[*place], column, "-");
            if shown.is_empty() {
                "-".to_owned()
            } else {
                shown
            }
        });
        cells.push(texts.collect());
    }
    let widths: Vec<usize> = (0..columns.len())
        .map(|place| {
            let lengths = cells.iter().map(|line| line[place].chars().count());
            lengths.max().unwrap_or(0)
        })
        .collect();
    let mut lines: Vec<String> = cells
        .iter()
        .map(|line| aligned(line, &widths, &columns))
        .collect();
    lines.extend(table.note_lines());
    lines.join("\n") + "\n"
}

fn aligned(line: &[String], widths: &[usize], columns: &[(usize, &Column)]) -> String {
    let fields = line.iter().zip(widths).zip(columns);
    let padded = fields.map(|((text, width), (_, column))| {
        if column.is_right_aligned() {
            format!("{text:>width$}")
        } else {
            format!("{text:<width$}")
        }
    });
    let joined = padded.collect::<Vec<_>>().join(GAP);
    joined.trim_end().to_owned()
}
