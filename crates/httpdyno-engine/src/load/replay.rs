//! `--replay`: recorded traffic in place of URLs and a rate.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use dyno_load::Shape;
use dyno_load::replay::{self, Hosts, Options, Origin, Replay};
use flate2::bufread::MultiGzDecoder;

use super::arguments::Arguments;

/// The options of a replay.
#[derive(Debug, Args)]
pub struct ReplayOptions {
    /// Open loop: send the requests of a recording at its times: an access log, a JSON log, HAR, or JSONL with "at"; gzip too; - reads standard input
    #[arg(long, value_name = "FILE|-", conflicts_with_all = ["rate", "stages", "arrivals", "ramp", "until", "method", "body", "body_file", "requests_file", "urls_file", "data"])]
    pub replay: Option<PathBuf>,
    /// Replay: speed in per cent of the recording's; 200% takes half the time
    #[arg(long, value_name = "SPEED", default_value = "100%", requires = "replay", value_parser = speed)]
    speed: u64,
    /// Replay: begin again at the end, until --duration or --requests ends it
    #[arg(long = "loop", requires = "replay")]
    pub is_loop: bool,
    /// Replay: send the requests of a recorded host there: OLD=http://HOST:PORT, '*=...' for all others, OLD=skip leaves them out; @FILE has one a line; may be repeated
    #[arg(long, value_name = "OLD=NEW", requires = "replay")]
    hosts: Vec<String>,
}

/// Reads the recording.
pub fn read(path: &Path, arguments: &Arguments, shape: &Shape) -> Result<Replay> {
    let options = &arguments.replay;
    let base = match arguments.urls.as_slice() {
        [] => None,
        [url] => Some(Origin::parse(url).map_err(|_| {
            anyhow!("--replay: '{url}' has a path, or is no URL; the paths are those of the recording: write http://127.0.0.1:8080")
        })?),
        [_, other, ..] => bail!("--replay: one URL names the server to send to; remove '{other}'"),
    };
    if options.is_loop && arguments.duration.is_none() && arguments.requests.is_none() {
        bail!("--loop: it has no end; add --duration or --requests");
    }
    let reroute = arguments.servers.reroute();
    let is_unix = arguments.servers.is_unix();
    let is_rerouted = |host: &str, port| is_unix || reroute.place(host, port).is_rerouted;
    let settings = Options {
        base,
        hosts: hosts(&options.hosts)?,
        is_rerouted: &is_rerouted,
        speed: options.speed,
        is_loop: options.is_loop,
    };
    let name = path.display().to_string();
    let reader = reader(path).with_context(|| format!("--replay {name}: cannot be read"))?;
    replay::read(reader, &name, &settings, shape)
        .map_err(|reason| anyhow!("--replay {name}: {reason}"))
}

fn hosts(texts: &[String]) -> Result<Hosts> {
    let mut hosts = Hosts::default();
    let wrong = |reason| anyhow!("--hosts: {reason}");
    for text in texts {
        let Some(file) = text.strip_prefix('@') else {
            hosts.add(text).map_err(wrong)?;
            continue;
        };
        let lines = std::fs::read_to_string(file).with_context(|| format!("--hosts {text}"))?;
        for (number, line) in (1..).zip(lines.lines()) {
            if dyno_io::list::entry(line.as_bytes(), number).is_some() {
                let added = hosts.add(line.trim_start_matches('\u{feff}').trim());
                added.map_err(|reason| wrong(format!("{file}: line {number}: {reason}")))?;
            }
        }
    }
    Ok(hosts)
}

/// Opens a file or standard input; gzip is recognised by its first bytes.
fn reader(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let mut file: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path)?)
    };
    let mut first = Vec::new();
    file.by_ref().take(2).read_to_end(&mut first)?;
    let is_gzip = first == [0x1f, 0x8b];
    let whole = BufReader::with_capacity(1 << 16, Cursor::new(first).chain(file));
    if is_gzip {
        return Ok(Box::new(BufReader::new(MultiGzDecoder::new(whole))));
    }
    Ok(Box::new(whole))
}

/// Speed in thousandths of a per cent.
fn speed(text: &str) -> Result<u64, String> {
    let speed = text.strip_suffix('%');
    let speed = speed.and_then(|number| dyno_load::parse_scaled(number, &[], 1000));
    speed
        .filter(|speed| (1..=100_000_000).contains(speed))
        .ok_or_else(|| {
            format!("{text:?} is not a speed: write per cent above 0, at most 100000%, such as 200% (twice as fast)")
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_above_0_and_in_per_cent() {
        for (text, expected) in [
            ("200%", Some(200_000)),
            ("0.001%", Some(1)),
            ("33.3%", Some(33_300)),
            ("0%", None),
            ("200", None),
            ("2x", None),
            ("-5%", None),
            ("%", None),
            ("100001%", None),
        ] {
            assert_eq!(speed(text).ok(), expected, "{text}");
        }
    }
}
