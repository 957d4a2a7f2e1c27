//! The adapter's settings, read from the environment.

use std::env;
use std::time::Duration;

pub struct Settings {
    pub concurrency: usize,
    pub request_timeout: Duration,
    pub user_agent: Option<String>,
    pub keepalive: bool,
    pub check_json: bool,
}

impl Settings {
    /// Reads the settings; the error is one line that names the variable.
    pub fn from_environment() -> Result<Self, String> {
        if let Some(version) = variable("HTTP_VERSION").filter(|version| version != "1.1") {
            let wanted = "empty or 1.1 (ureq speaks nothing else)";
            return Err(refusal("HTTP_VERSION", wanted, &version));
        }
        if let Some(method) = variable("METHOD").filter(|method| method != "GET") {
            return Err(refusal("METHOD", "empty or GET", &method));
        }
        let concurrency = variable("CONCURRENCY").unwrap_or("10".to_owned());
        let request_timeout = variable("REQUEST_TIMEOUT").unwrap_or("5".to_owned());
        Ok(Self {
            concurrency: match concurrency.parse::<u32>() {
                Ok(n) if n >= 1 => n as usize,
                _ => {
                    return Err(refusal(
                        "CONCURRENCY",
                        "a whole number from 1",
                        &concurrency,
                    ));
                }
            },
            request_timeout: match request_timeout.parse().map(Duration::try_from_secs_f64) {
                Ok(Ok(timeout)) if !timeout.is_zero() => timeout,
                _ => {
                    return Err(refusal(
                        "REQUEST_TIMEOUT",
                        "a number of seconds above 0",
                        &request_timeout,
                    ));
                }
            },
            user_agent: variable("USER_AGENT"),
            keepalive: match variable("KEEPALIVE").as_deref() {
                None | Some("1") => true,
                Some("0") => false,
                Some(other) => return Err(refusal("KEEPALIVE", "0 or 1", other)),
            },
            check_json: match variable("CHECK").as_deref() {
                None => false,
                Some("json") => true,
                Some(other) => return Err(refusal("CHECK", "empty or json", other)),
            },
        })
    }
}

/// The value of a variable; an empty one counts as missing.
fn variable(name: &str) -> Option<String> {
    env::var(name).ok().filter(|value| !value.is_empty())
}

fn refusal(name: &str, wanted: &str, found: &str) -> String {
    format!("{name} must be {wanted}, not {found:?}")
}
