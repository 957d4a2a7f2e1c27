//! The options of `fetch`.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::environment::is_on;
use crate::quantity;
use crate::servers::Servers;
use crate::usage::HELP;

/// Maximum number of URLs in flight: more than the ports available to one server.
const MOST_CONCURRENCY: usize = 65_536;
/// Longest timeout: a day.
pub const MOST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// The checks of content.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Check {
    /// JSON whose first element's `numbers` is 123123
    Json,
}

/// The versions of HTTP.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum HttpVersion {
    /// HTTP/2 if the server supports it, else HTTP/1.1
    Auto,
    /// HTTP/1.1 only
    #[value(name = "1.1")]
    Http1,
    /// HTTP/2 only
    #[value(name = "2")]
    Http2,
}

/// Printed before the options.
const EXAMPLE: &str =
    "Example: httpdyno fetch --concurrency 200 < urls.txt > rows.csv   many at once";
/// Printed after the options.
const MORE: &str = "\
Reads one URL a line; prints url,code,start_time,duration,body_length when each is done. The code is the status of the last \
answer, or the name of the error. An option overrides its environment variable.

Exit status: 0 every row is printed, 2 an option is wrong, 4 a disk is full, 127 a variable is not supported, 125 the \
fetcher failed, 128 + N ended by signal N.

More examples
    httpdyno fetch --per-host 2 --per-host-interval 500ms < urls.txt   politely
    httpdyno fetch --save pages < urls.txt                             store the contents
    httpdyno fetch --resume done.txt < urls.txt >> rows.csv            continue after an interruption";

/// Each option overrides the environment variable of its name, which a trial sets.
#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    /// Maximum number of URLs in flight [environment: CONCURRENCY] [default: 10]
    #[arg(short, long, value_name = "N", value_parser = concurrency)]
    pub concurrency: Option<usize>,
    #[arg(help = "Timeout of a URL, redirects included [environment: REQUEST_TIMEOUT] [default: 5s]", long, value_name = "TIME", value_parser = timeout)]
    pub timeout: Option<Duration>,
    #[arg(help = "User-Agent of every request [environment: USER_AGENT]", long, value_name = "TEXT", value_parser = user_agent)]
    pub user_agent: Option<String>,
    /// Whether to reuse connections [environment: KEEPALIVE] [default: true]
    #[arg(long, value_name = "true|false", value_parser = is_on)]
    pub keepalive: Option<bool>,
    /// Check each content [environment: CHECK]
    #[arg(long)]
    pub check: Option<Check>,
    #[arg(
        help = "HTTP version [environment: HTTP_VERSION] [default: 1.1]",
        long,
        value_name = "VERSION"
    )]
    pub http_version: Option<HttpVersion>,
    /// Refuse answers over HTTP/1.1 that are not well-formed, instead of reading them as browsers do
    #[arg(long)]
    pub strict: bool,
    /// Maximum number of URLs in flight for one host
    #[arg(long, value_name = "N", value_parser = concurrency)]
    pub per_host: Option<usize>,
    /// Minimum time between two URLs of one host: seconds, or with a unit (200ms)
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub per_host_interval: Option<Duration>,
    /// Maximum number of open connections, idle ones included [default: as many as the limit of open files allows]
    #[arg(long, value_name = "N", value_parser = concurrency)]
    pub connections: Option<usize>,
    /// Maximum number of redirects to follow
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub max_redirects: u32,
    /// Also follow redirects from a public host to private, loopback and link-local addresses
    #[arg(long)]
    pub allow_private: bool,
    /// Longest content, decoded, such as 100MiB
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = quantity::bytes)]
    pub max_content: u64,
    /// Retries of a URL after a reset, a refusal or a failing name server, within its timeout
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Store contents in this folder, with an index (index.jsonl)
    #[arg(long, value_name = "FOLDER")]
    pub save: Option<PathBuf>,
    /// Record finished lines in this file, and skip the lines that it has
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// With --resume: do not wait until rows and contents are on the disk; a power cut may lose lines that are recorded as finished
    #[arg(long, requires = "resume")]
    pub no_sync: bool,
    #[command(flatten)]
    pub servers: Servers,
    /// Name server to use instead of the machine's; may be repeated
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = nameserver)]
    pub nameserver: Vec<SocketAddr>,
    /// Write a summary of the crawl here (JSON)
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    pub progress: Option<u32>,
}

/// Parses a number of URLs or connections.
pub fn concurrency(text: &str) -> Result<usize, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=MOST_CONCURRENCY).contains(number));
    number.ok_or_else(|| format!("{text:?} is not a whole number from 1 to {MOST_CONCURRENCY}"))
}

fn timeout(text: &str) -> Result<Duration, String> {
    let duration = quantity::standard_duration(text)?;
    if duration.is_zero() || duration > MOST_TIMEOUT {
        return Err(format!("{text:?}: must be above 0 and up to a day"));
    }
    Ok(duration)
}

/// Parses a User-Agent.
pub fn user_agent(text: &str) -> Result<String, String> {
    if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
        Ok(text.to_owned())
    } else {
        Err(format!("{text:?} cannot be sent: write printable ASCII"))
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let duration = quantity::standard_duration(text)?;
    if duration > MOST_TIMEOUT {
        return Err(format!("{text:?}: must be up to a day"));
    }
    Ok(duration)
}

fn nameserver(text: &str) -> Result<SocketAddr, String> {
    let address = text
        .parse::<SocketAddr>()
        .or_else(|_| text.parse::<IpAddr>().map(|address| (address, 53).into()));
    address.map_err(|_| {
        format!("{text:?} is not an address: write 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53")
    })
}
