//! Fetches the URLs of stdin with reqwest and prints one CSV line a URL.

mod cause;
mod harness;
mod settings;

use std::io::Write;
use std::process::exit;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use reqwest::{Client, Url};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::Semaphore;

use crate::harness::{Answer, Harness};
use crate::settings::{HttpVersion, Settings};

/// How long an idle connection waits for the next URL of its host. A crawl rarely returns to a host, and reqwest's
/// 90 seconds would keep the connections of tens of thousands of them.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(1);

#[tokio::main]
async fn main() {
    if std::env::args().any(|argument| argument == "--version") {
        println!("{}", env!("REQWEST_VERSION"));
        return;
    }
    let settings = Settings::from_environment().unwrap_or_else(|message| {
        eprintln!("rust-reqwest: {message}");
        exit(127);
    });
    // Every task reads them, until the program ends.
    let settings: &'static Settings = Box::leak(Box::new(settings));
    // An open connection is a descriptor, and the usual soft limit is 1024. If it cannot be raised, it stays.
    let _ = rlimit::increase_nofile_limit(u64::MAX);
    let ended = if settings.harness {
        time_calls(settings).await
    } else {
        crawl(settings).await
    };
    if let Err(error) = ended {
        eprintln!("rust-reqwest: {error}");
        exit(1);
    }
    // Returning would wait for abandoned name lookups: they block a thread until the resolver gives up.
    exit(0);
}

async fn crawl(settings: &'static Settings) -> Result<(), harness::Error> {
    let client = client(settings)?;
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
        let client = client.clone();
        tokio::spawn(async move {
            let row = row(&client, line, settings).await;
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

/// Times the calls of one URL, and prints the result.
async fn time_calls(settings: &'static Settings) -> Result<(), harness::Error> {
    let line = harness::read_url().await?;
    let client = client(settings)?;
    let call = move || {
        let (client, line) = (client.clone(), line.clone());
        async move { outcome(&client, &line, settings).await }
    };
    // In a task, as in a crawl: otherwise another thread would wake that of `main` for every answer.
    let printed = tokio::spawn(Harness::new(call, settings.concurrency).line()).await??;
    writeln!(std::io::stdout(), "{printed}")?;
    Ok(())
}

fn client(settings: &Settings) -> reqwest::Result<Client> {
    let mut builder = Client::builder()
        .timeout(settings.request_timeout)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT);
    if let Some(user_agent) = &settings.user_agent {
        builder = builder.user_agent(user_agent);
    }
    if !settings.keepalive {
        builder = builder.pool_max_idle_per_host(0);
    }
    match settings.http_version {
        HttpVersion::Default => {}
        HttpVersion::Http1 => builder = builder.http1_only(),
        HttpVersion::Http2 => builder = builder.http2_prior_knowledge(),
    }
    builder.build()
}

/// Fetches one URL: `url,code,start_time,duration,body_length` and a line feed. The URL is printed as it was read.
async fn row(client: &Client, line: Vec<u8>, settings: &'static Settings) -> Vec<u8> {
    let start_time = humantime::format_rfc3339_micros(SystemTime::now());
    let start = Instant::now();
    let Answer { code, body_length } = outcome(client, &line, settings).await;
    let duration_ms = start.elapsed().as_secs_f64() * 1e3;
    let mut row = line;
    row.extend(format!(",{code},{start_time},{duration_ms:.3},{body_length}\n").into_bytes());
    row
}

/// The code of a URL's row and the bytes of its content.
async fn outcome(client: &Client, line: &[u8], settings: &'static Settings) -> Answer {
    let (code, body_length) = match parse(line) {
        Some(url) => fetch(client, url, settings)
            .await
            .unwrap_or_else(|error| (cause::name(&error), 0)),
        None => ("InvalidURL".to_owned(), 0),
    };
    Answer { code, body_length }
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

/// The final status and the bytes of content after decoding. The client's timeout bounds all of it.
async fn fetch(
    client: &Client,
    url: Url,
    settings: &'static Settings,
) -> reqwest::Result<(String, usize)> {
    let mut request = client.request(settings.method.clone(), url);
    if let Some(body) = &settings.body {
        request = request.body(body.as_str());
    }
    let mut response = request.send().await?;
    let status = response.status();
    if settings.check_json {
        let content = response.bytes().await?;
        let code = if is_expected(&content) {
            status.as_str()
        } else {
            "CheckFailed"
        };
        return Ok((code.to_owned(), content.len()));
    }
    let mut body_length = 0;
    while let Some(chunk) = response.chunk().await? {
        body_length += chunk.len();
    }
    Ok((status.as_str().to_owned(), body_length))
}

fn is_expected(content: &[u8]) -> bool {
    serde_json::from_slice::<serde_json::Value>(content)
        .is_ok_and(|document| document[0]["numbers"] == 123_123)
}
