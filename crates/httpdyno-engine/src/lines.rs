//! `lines`: parses a client's output into typed rows.

mod printed;
mod row;

use std::io::{BufReader, BufWriter, Write};

use anyhow::{Context, Result};
use clap::Args;

use printed::{Lines, Sample};
use row::{COLUMNS, Row};

const BUFFER_BYTES: usize = 1 << 16;
const EXAMPLES: u64 = 3;
const EXAMPLE_CHARACTERS: usize = 120;

#[derive(Debug, Args)]
pub struct Arguments {
    /// The client was killed: ignore a last line without line feed, which may be truncated
    #[arg(long)]
    cut_short: bool,
}

/// Prints a row for each sample on standard input, then the lines that are not samples; empty lines are skipped.
///
/// The first lines that are not samples have a row each, with a shortened copy of the line instead of a URL. A last row
/// has their count instead of a line number.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let input = BufReader::with_capacity(BUFFER_BYTES, std::io::stdin().lock());
    let mut output = BufWriter::with_capacity(BUFFER_BYTES, std::io::stdout().lock());
    let mut lines = Lines::new(input, arguments.cut_short);
    let mut row = Row::default();
    let mut garbage = 0;
    let mut examples = Vec::new();
    output.write_all(COLUMNS)?;
    while let Some((line, text)) = lines.next().context("reading standard input")? {
        if let Some(sample) = Sample::read(&text) {
            output.write_all(row.of_sample(line, &sample))?;
            continue;
        }
        garbage += 1;
        if garbage <= EXAMPLES {
            let beginning: String = text.chars().take(EXAMPLE_CHARACTERS).collect();
            examples.push((line, beginning));
        }
    }
    for (line, text) in examples {
        output.write_all(row.of_garbage(line, &text))?;
    }
    output.write_all(row.of_garbage(garbage, ""))?;
    output.flush()?;
    Ok(0)
}
