//! `link`: prints the values of links, or lists the presets.

use std::io::Write;

use anyhow::Result;
use clap::Args;
use dyno_link::{Link, PRESETS};

use crate::messages::{USAGE, print_message};
use crate::usage::HELP;

/// Printed before the options.
const EXAMPLE: &str = "Example: httpdyno link 4g,loss=1%   a preset with one value changed";
/// Printed after the options.
const MORE: &str = "\
More examples
    httpdyno link --presets                                   list the presets
    httpdyno link rtt=40ms,up.rate=20mbit,down.rate=100mbit   a link of your own";

#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    /// Links, such as rtt=40ms,rate=1gbit,loss=0.1%, up.rate=20mbit,down.rate=100mbit, or 4g,loss=0
    #[arg(value_name = "SPEC", required_unless_present = "presets")]
    specs: Vec<String>,
    /// List the presets, with their sources
    #[arg(long, conflicts_with = "specs")]
    presets: bool,
}

/// Prints the canonical text of each link, and its values as JSON on the next line.
pub fn run(arguments: &Arguments) -> Result<u8> {
    let mut output = std::io::stdout().lock();
    if arguments.presets {
        for preset in PRESETS {
            writeln!(output, "{}: {}", preset.name, preset.about)?;
            writeln!(output, "  {}", preset.link())?;
            writeln!(output, "  {}", preset.source)?;
        }
    }
    for spec in &arguments.specs {
        let link: Link = match spec.parse() {
            Ok(link) => link,
            Err(refusal) => {
                print_message(refusal);
                return Ok(USAGE);
            }
        };
        writeln!(output, "{link}\n{}", serde_json::to_string(&link)?)?;
    }
    Ok(0)
}
