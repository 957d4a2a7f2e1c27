//! Fetches the URLs of stdin with hyper and prints one CSV line a URL.

mod cause;
mod fetch;
mod settings;

use std::io::Write;
use std::process::exit;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Semaphore;
use url::Url;

use crate::fetch::Fetcher;
use crate::settings::Settings;

#[tokio::main]
async fn main() {
    if std::env::args().any(|argument| argument == "--version") {
        println!("{}", env!("HYPER_VERSION"));
        return;
    }
    let settings = Settings::from_environment().unwrap_or_else(|message| {
        eprintln!("rust-hyper: {message}");
        exit(127);
    });
    // An open connection is a descriptor, and the usual soft limit is 1024. If it cannot be raised, it stays.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    if let Err(error) = crawl(&settings).await {
        eprintln!("rust-hyper: {error}");
        exit(1);
    }
    // Returning would wait for abandoned name lookups: they block a thread until the resolver gives up.
    exit(0);
}

async fn crawl(settings: &Settings) -> Result<(), Box<dyn std::error::Error>> {
    let fetcher = Arc::new(Fetcher::new(settings)?);
    let slots = Arc::new(Semaphore::new(settings.concurrency));
    let mut lines = BufReader::new(tokio::io::stdin()).split(b'\n');
    while let Some(mut line) = lines.next_segment().await? {
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        if line.is_empty() {
            continue;
        }
        let slot = Arc::clone(&slots).acquire_owned().await?;
        let fetcher = Arc::clone(&fetcher);
        tokio::spawn(async move {
            let row = row(&fetcher, line).await;
            // One write a row, so that rows do not interleave. A closed pipe ends the crawl.
            if std::io::stdout().lock().write_all(&row).is_err() {
                exit(1);
            }
            drop(slot);
        });
    }
    let all = u32::try_from(settings.concurrency)?;
    drop(slots.acquire_many(all).await?);
    Ok(())
}

/// Fetches one URL: `url,code,start_time,duration,body_length` and a line feed. The URL is printed as it was read.
async fn row(fetcher: &Fetcher, line: Vec<u8>) -> Vec<u8> {
    let start_time = humantime::format_rfc3339_micros(SystemTime::now());
    let start = Instant::now();
    let (code, body_length) = match parse(&line) {
        Some(url) => fetcher
            .fetch(url)
            .await
            .unwrap_or_else(|error| (cause::name(error.as_ref()), 0)),
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
