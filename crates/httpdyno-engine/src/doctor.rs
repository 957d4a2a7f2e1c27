//! `doctor`: the facts of this machine as JSON.

use anyhow::{Context, Result};

/// Prints a list of `{name, value, ok, consequence, cure}`.
pub fn run() -> Result<u8> {
    let facts = dyno_room::facts();
    serde_json::to_writer_pretty(std::io::stdout().lock(), &facts).context("writing the facts")?;
    println!();
    Ok(0)
}
