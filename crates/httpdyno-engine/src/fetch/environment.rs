//! The environment variables of `fetch`, as defined by the contract of clients.

use std::time::Duration;

use clap::ValueEnum;

use super::arguments::{HttpVersion, MOST_TIMEOUT};

/// The value of a variable; an empty one counts as unset.
pub fn variable<T>(
    name: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    let Some(value) = std::env::var_os(name).filter(|value| !value.is_empty()) else {
        return Ok(None);
    };
    let text = value.to_str().ok_or_else(|| format!("{name}: not text"))?;
    read(text).map(Some).map_err(|why| format!("{name}: {why}"))
}

/// Whether a variable of the contract is set, except `USER_AGENT`, which other programs read, too. Then the contract
/// decides everything that the command line does not.
pub fn is_under_contract() -> bool {
    const VARIABLES: [&str; 5] = [
        "CHECK",
        "CONCURRENCY",
        "HTTP_VERSION",
        "KEEPALIVE",
        "REQUEST_TIMEOUT",
    ];
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    VARIABLES.into_iter().any(is_set)
}

/// Parses a timeout.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number: Option<f64> = text.parse().ok();
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    duration
        .filter(|duration| !duration.is_zero() && *duration <= MOST_TIMEOUT)
        .ok_or_else(|| format!("{text:?} is not a number of seconds above 0 and up to a day"))
}

/// Parses a switch: `0` and `1` in the contract, `false` and `true` on the command line.
pub fn is_on(text: &str) -> Result<bool, String> {
    match text {
        "0" | "false" => Ok(false),
        "1" | "true" => Ok(true),
        _ => Err(format!("{text:?} is neither 0 nor 1, false nor true")),
    }
}

/// Parses a content check; `json` is the only one.
pub fn check(text: &str) -> Result<(), String> {
    if text == "json" {
        Ok(())
    } else {
        Err(format!("{text:?} is not a check: write json"))
    }
}

/// Refuses a method of the contract other than GET: `fetch` sends no content.
pub fn method(text: &str) -> Result<(), String> {
    if text == "GET" {
        Ok(())
    } else {
        Err(format!(
            "{text:?} is not a method that fetch takes from the environment: leave it out, or write GET"
        ))
    }
}

/// Parses an HTTP version.
pub fn version(text: &str) -> Result<HttpVersion, String> {
    HttpVersion::from_str(text, false)
        .map_err(|_| format!("{text:?} is not a version: write 1.1, 2 or auto"))
}
