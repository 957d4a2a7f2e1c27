//! The adapter's settings, read from the environment.

use std::env;
use std::time::Duration;

use hyper::Method;

#[derive(Clone, Copy)]
pub enum HttpVersion {
    /// HTTP/2 where TLS negotiates it, else HTTP/1.1.
    Default,
    Http1,
    Http2,
}

pub struct Settings {
    pub concurrency: usize,
    pub request_timeout: Duration,
    pub user_agent: Option<String>,
    pub method: Method,
    pub body: Option<String>,
    pub keepalive: bool,
    pub check_json: bool,
    pub http_version: HttpVersion,
}

impl Settings {
    /// Reads the settings; the error is one line that names the variable.
    pub fn from_environment() -> Result<Self, String> {
        let concurrency = variable("CONCURRENCY").unwrap_or("10".to_owned());
        let request_timeout = variable("REQUEST_TIMEOUT").unwrap_or("5".to_owned());
        let method = variable("METHOD").unwrap_or("GET".to_owned());
        let method = Method::from_bytes(method.as_bytes())
            .map_err(|_| refusal("METHOD", "a token such as POST", &method))?;
        let body = variable("BODY");
        if let Some(body) = body.as_ref().filter(|_| method == Method::GET) {
            return Err(refusal("BODY", "empty with METHOD=GET", body));
        }
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
            method,
            body,
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
            http_version: match variable("HTTP_VERSION").as_deref() {
                None => HttpVersion::Default,
                Some("1.1") => HttpVersion::Http1,
                Some("2") => HttpVersion::Http2,
                Some(other) => return Err(refusal("HTTP_VERSION", "empty, 1.1 or 2", other)),
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
