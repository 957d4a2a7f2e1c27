//! Tables of results, and their output formats.

mod cell;
mod csv;
mod grid;
mod json;
mod markdown;
mod number;
mod plain;
mod surface;

use std::io::{self, Write};

use clap::ValueEnum;

pub use cell::without_controls;
pub use number::{exact, general, general_grouped, rounded, size, thousands};
pub use surface::Surface;

/// An output format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Comma-separated values, for programs
    Csv,
    /// A list of objects, for programs
    Json,
    /// A table as GitHub renders it
    Markdown,
    /// An object a line, for programs: one per second while it runs, then one per result
    Ndjson,
    /// Aligned columns
    Plain,
    /// Aligned columns under headings
    Table,
}

impl Format {
    /// Whether the format is for programs, which get one table per result.
    pub const fn is_for_programs(self) -> bool {
        matches!(self, Self::Csv | Self::Json | Self::Ndjson)
    }
}

/// The kind of a column's values, which determines their format for people.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Text,
    Integer,
    /// At most two decimals.
    Decimal,
    /// Six significant digits.
    Number,
    /// Milliseconds, printed with a suitable unit.
    Time,
    /// Bytes, in KiB, MiB or GiB.
    Size,
    Boolean,
}

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    pub name: String,
    pub kind: Kind,
    /// Whether it is printed for people.
    pub is_shown: bool,
    /// Whether its values are verdicts, which are coloured.
    pub is_verdict: bool,
}

impl Column {
    /// A column for people and programs.
    pub fn new(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            is_shown: true,
            is_verdict: false,
        }
    }

    /// A column for programs only.
    pub fn hidden(name: &str, kind: Kind) -> Self {
        Self {
            is_shown: false,
            ..Self::new(name, kind)
        }
    }

    /// Whether its cells are right-aligned, like numbers.
    const fn is_right_aligned(&self) -> bool {
        !matches!(self.kind, Kind::Text | Kind::Boolean)
    }
}

/// A value of a table.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Unknown, or not applicable.
    Absent,
    Text(String),
    Integer(i64),
    Number(f64),
    Boolean(bool),
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Absent, Self::Number)
    }
}

/// A line under a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub text: String,
    /// The row that it explains; `None`: the whole table.
    pub row: Option<usize>,
}

/// Rows of cells under named columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    pub notes: Vec<Note>,
}

impl Table {
    /// Renders the table as text that ends with a line feed.
    pub fn render(&self, format: Format, surface: Surface) -> String {
        match format {
            Format::Csv => csv::render(self),
            Format::Json => json::render(self),
            Format::Markdown => markdown::render(self),
            Format::Ndjson => json::lines(self),
            Format::Plain => plain::render(self),
            Format::Table => grid::render(self, surface),
        }
    }

    /// The columns for people, with their indices.
    fn shown(&self) -> impl Iterator<Item = (usize, &Column)> {
        self.columns
            .iter()
            .enumerate()
            .filter(|(_, column)| column.is_shown)
    }

    /// The notes for people.
    fn note_lines(&self) -> impl Iterator<Item = String> {
        self.notes.iter().map(|note| without_controls(&note.text))
    }
}

/// Prints tables, separated by empty lines.
pub fn print(tables: &[Table], format: Format) -> io::Result<()> {
    let surface = Surface::of_stdout();
    let texts: Vec<String> = tables
        .iter()
        .map(|table| table.render(format, surface))
        .collect();
    let mut out = io::stdout().lock();
    out.write_all(texts.join("\n").as_bytes())?;
    out.flush()
}

#[cfg(test)]
mod tests;
