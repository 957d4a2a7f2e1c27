//! Fetches the URLs of stdin with ureq, a thread for each slot, and prints one CSV line a URL.

mod cause;
mod settings;

use std::io::{self, BufRead, Read, Write};
use std::process::exit;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant, SystemTime};

use ureq::http::Response;
use ureq::tls::{RootCerts, TlsConfig};
use ureq::{Agent, Body};
use url::Url;

use crate::settings::Settings;

/// How long an idle connection waits for the next URL of its host: a crawl rarely returns to one.
const MAX_IDLE_AGE: Duration = Duration::from_secs(1);
const REDIRECT_LIMIT: usize = 10;
const READ_BYTES: usize = 65536;

fn main() {
    if std::env::args().any(|argument| argument == "--version") {
        println!("{}", env!("UREQ_VERSION"));
        return;
    }
    let settings = Settings::from_environment().unwrap_or_else(|message| {
        eprintln!("rust-ureq: {message}");
        exit(127);
    });
    // An open connection is a descriptor, and the usual soft limit is 1024. If it cannot be raised, it stays.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let agent = agent(&settings);
    thread::scope(|scope| {
        for _ in 0..settings.concurrency {
            scope.spawn(|| work(&agent, &settings));
        }
    });
    // Abandoned name lookups are not awaited.
    exit(0);
}

fn agent(settings: &Settings) -> Agent {
    let idle = if settings.keepalive {
        settings.concurrency
    } else {
        0
    };
    let tls = TlsConfig::builder()
        .root_certs(RootCerts::PlatformVerifier) // the machine's certificates, not the compiled-in ones
        .unversioned_rustls_crypto_provider(Arc::new(rustls::crypto::aws_lc_rs::default_provider()))
        .build();
    let mut config = Agent::config_builder()
        .tls_config(tls)
        .max_redirects(0)
        .http_status_as_error(false)
        .max_idle_connections(idle)
        .max_idle_connections_per_host(idle)
        .max_idle_age(MAX_IDLE_AGE);
    if let Some(user_agent) = &settings.user_agent {
        config = config.user_agent(user_agent);
    }
    config.build().into()
}

/// Fetches one line after the other until there are no more.
fn work(agent: &Agent, settings: &Settings) {
    let mut buffer = vec![0; READ_BYTES];
    loop {
        let mut line = Vec::new();
        // The lock is held while a thread waits for a line: the others wait for the lock here.
        match io::stdin().lock().read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => {
                eprintln!("rust-ureq: {error}");
                exit(1);
            }
        }
        for end in [b'\n', b'\r'] {
            if line.last() == Some(&end) {
                line.pop();
            }
        }
        if line.is_empty() {
            continue;
        }
        let row = row(agent, line, settings, &mut buffer);
        // One write a row, so that rows do not interleave. A closed pipe ends the crawl.
        let mut stdout = io::stdout().lock();
        if stdout
            .write_all(&row)
            .and_then(|()| stdout.flush())
            .is_err()
        {
            exit(1);
        }
    }
}

/// Fetches one URL: `url,code,start_time,duration,body_length` and a line feed. The URL is printed as it was read.
fn row(agent: &Agent, line: Vec<u8>, settings: &Settings, buffer: &mut [u8]) -> Vec<u8> {
    let start_time = humantime::format_rfc3339_micros(SystemTime::now());
    let start = Instant::now();
    let (code, body_length) = match parse(&line) {
        Some(url) => {
            fetch(agent, url, settings, buffer).unwrap_or_else(|error| (cause::name(&error), 0))
        }
        None => ("InvalidURL".to_owned(), 0),
    };
    let duration_ms = start.elapsed().as_secs_f64() * 1e3;
    let mut row = line;
    row.extend(format!(",{code},{start_time},{duration_ms:.3},{body_length}\n").into_bytes());
    row
}

/// The URL of a line; none if it is not an absolute http or https URL. `Url` alone would repair blanks and tabs.
fn parse(line: &[u8]) -> Option<Url> {
    let text = std::str::from_utf8(line).ok()?.trim();
    if text.contains(char::is_whitespace) {
        return None;
    }
    let (scheme, rest) = text.split_once("://")?;
    let known = scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https");
    if !known || rest.starts_with(['/', '?', '#']) {
        return None;
    }
    Url::parse(text).ok()
}

/// The final status and the bytes of content after decoding. One deadline bounds all of it.
fn fetch(
    agent: &Agent,
    url: Url,
    settings: &Settings,
    buffer: &mut [u8],
) -> Result<(String, usize), ureq::Error> {
    let mut response = follow(agent, url, Instant::now() + settings.request_timeout)?;
    let status = response.status().as_str().to_owned();
    let mut reader = response.body_mut().as_reader();
    if settings.check_json {
        let mut content = Vec::new();
        reader.read_to_end(&mut content)?;
        let code = if is_expected(&content) {
            status
        } else {
            "CheckFailed".to_owned()
        };
        return Ok((code, content.len()));
    }
    let mut body_length = 0;
    loop {
        match reader.read(buffer)? {
            0 => return Ok((status, body_length)),
            count => body_length += count,
        }
    }
}

/// Follows redirects by hand: ureq takes every 3xx for a redirect, so that a 300 without a Location would be an error.
fn follow(agent: &Agent, mut url: Url, deadline: Instant) -> Result<Response<Body>, ureq::Error> {
    for _ in 0..=REDIRECT_LIMIT {
        let left = deadline.saturating_duration_since(Instant::now());
        let request = agent.get(url.as_str()).config();
        let response = request.timeout_global(Some(left)).build().call()?;
        match (
            response.status().as_u16(),
            response.headers().get("location"),
        ) {
            (301 | 302 | 303 | 307 | 308, Some(location)) => {
                url = joined(&url, location.as_bytes())?
            }
            _ => return Ok(response),
        }
        // The connection of content that was read to its end is reused.
        io::copy(&mut response.into_body().into_reader(), &mut io::sink())?;
    }
    Err(ureq::Error::TooManyRedirects)
}

/// The target of a redirect.
fn joined(url: &Url, location: &[u8]) -> Result<Url, ureq::Error> {
    let text = String::from_utf8_lossy(location);
    match url.join(&text) {
        Ok(target) if matches!(target.scheme(), "http" | "https") => Ok(target),
        _ => Err(ureq::Error::BadUri(text.into_owned())),
    }
}

fn is_expected(content: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(content)
        .is_ok_and(|document| document[0]["numbers"] == 123_123)
}
