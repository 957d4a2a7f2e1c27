//! The server's settings, read from the environment.

use std::env;
use std::net::Ipv4Addr;
use std::time::Duration;

/// The longest wait and the longest timeout, in milliseconds.
const LONGEST_MS: u64 = 600_000;
const MOST_WORKLOADS: usize = 100;

pub struct Settings {
    pub host: Ipv4Addr,
    pub port: u16,
    /// The framework's default, if none is given.
    pub threads: Option<usize>,
    /// The waits of one unit of work.
    pub workloads: Vec<Duration>,
    pub timeout: Option<Duration>,
}

impl Settings {
    /// Reads the settings; the error is one line that names the variable.
    pub fn from_environment() -> Result<Self, String> {
        whole_number("WORKERS", 1, 1)?;
        let port = whole_number("PORT", 1, 65_535)?.unwrap_or(8080);
        let threads = whole_number("THREADS", 1, 1024)?;
        let timeout = whole_number("TIMEOUT_MS", 1, LONGEST_MS)?;
        Ok(Self {
            host: host()?,
            port: u16::try_from(port).expect("at most 65535"),
            threads: threads.map(|threads| usize::try_from(threads).expect("at most 1024")),
            workloads: workloads()?,
            timeout: timeout.map(Duration::from_millis),
        })
    }
}

fn host() -> Result<Ipv4Addr, String> {
    let Some(text) = variable("HOST") else {
        return Ok(Ipv4Addr::LOCALHOST);
    };
    text.parse()
        .map_err(|_| format!("HOST must be an IPv4 address, not {text:?}"))
}

fn workloads() -> Result<Vec<Duration>, String> {
    let text = variable("WORKLOADS_MS").unwrap_or("500,1000,2000".to_owned());
    let waits: Option<Vec<Duration>> = text
        .split(',')
        .map(|wait| Some(Duration::from_millis(digits(wait, 0, LONGEST_MS)?)))
        .collect();
    match waits {
        Some(waits) if waits.len() <= MOST_WORKLOADS => Ok(waits),
        _ => Err(format!(
            "WORKLOADS_MS must be 1 to {MOST_WORKLOADS} whole numbers up to {LONGEST_MS}, joined by commas, not {text:?}"
        )),
    }
}

/// The value of a variable, if it has one.
fn whole_number(name: &str, least: u64, most: u64) -> Result<Option<u64>, String> {
    let Some(text) = variable(name) else {
        return Ok(None);
    };
    match digits(&text, least, most) {
        Some(number) => Ok(Some(number)),
        None if least == most => Err(format!("{name} must be {least}, not {text:?}")),
        None => Err(format!(
            "{name} must be a whole number from {least} to {most}, not {text:?}"
        )),
    }
}

/// A number of digits alone: `parse` would take a plus sign too.
fn digits(text: &str, least: u64, most: u64) -> Option<u64> {
    let number = text.parse().ok()?;
    let fits = (least..=most).contains(&number) && !text.starts_with('+');
    fits.then_some(number)
}

/// The value of a variable; an empty one counts as missing.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}
