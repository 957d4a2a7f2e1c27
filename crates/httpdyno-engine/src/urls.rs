//! `urls`: prints the URLs of a web, one a line.

use std::io::{BufWriter, Write};

use anyhow::Result;
use clap::Args;

use crate::web_source::WebArguments;

#[derive(Debug, Args)]
pub struct Arguments {
    #[command(flatten)]
    web: WebArguments,
    /// Maximum number of URLs to print
    #[arg(long, value_name = "NUMBER")]
    limit: Option<usize>,
}

/// Prints the URLs.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let web = arguments.web.load()?;
    let mut output = BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    for url in web.urls().take(arguments.limit.unwrap_or(usize::MAX)) {
        writeln!(output, "{url}")?;
    }
    output.flush()?;
    Ok(0)
}
