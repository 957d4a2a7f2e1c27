//! What `fetch` is told on its command line.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::environment::is_on;
use crate::quantity;
use crate::servers::Servers;
use crate::usage::HELP;

/// The most in flight: more than there are ports towards one server.
const MOST_CONCURRENCY: usize = 65_536;
/// A longer one would be none.
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
    /// HTTP/2 where the server agrees to it
    Auto,
    /// HTTP/1.1 alone
    #[value(name = "1.1")]
    Http1,
    /// HTTP/2 alone
    #[value(name = "2")]
    Http2,
}

/// What the options come after.
const EXAMPLE: &str =
    "Example: httpdyno fetch --concurrency 200 < urls.txt > rows.csv   many at once";
/// What follows the options.
const MORE: &str = "\
One URL a line comes in; url,code,start_time,duration,body_length goes out, as each is done. The code is the status of the last \
answer, or the name of what went wrong. An option wins over the environment.

Exit status: 0 every row is printed, 2 an option is wrong, 4 a disk is full, 127 a variable cannot be honoured, 125 the \
fetcher failed, 128 + N signal N came.

More examples
  httpdyno fetch --per-host 2 --per-host-interval 500ms < urls.txt   politely
  httpdyno fetch --save pages < urls.txt                             keep them
  httpdyno fetch --resume done.txt < urls.txt >> rows.csv            go on";

/// An option wins over the variable of its name, which a trial sets.
#[derive(Debug, Args)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    /// The most URLs under way at a time [environment: CONCURRENCY] [default: 10]
    #[arg(short, long, value_name = "N", value_parser = concurrency)]
    pub concurrency: Option<usize>,
    #[arg(help = "What a URL may take, redirects and all [environment: REQUEST_TIMEOUT] [default: 5s]", long, value_name = "TIME", value_parser = timeout)]
    pub timeout: Option<Duration>,
    #[arg(help = "Sent with every request [environment: USER_AGENT]", long, value_name = "TEXT", value_parser = user_agent)]
    pub user_agent: Option<String>,
    /// Whether a connection carries more than one request [environment: KEEPALIVE] [default: true]
    #[arg(long, value_name = "true|false", value_parser = is_on)]
    pub keepalive: Option<bool>,
    /// Hold each content against what is expected [environment: CHECK]
    #[arg(long)]
    pub check: Option<Check>,
    #[arg(
        help = "Which versions of HTTP are spoken [environment: HTTP_VERSION] [default: 1.1]",
        long,
        value_name = "VERSION"
    )]
    pub http_version: Option<HttpVersion>,
    /// The most URLs of one host under way at a time
    #[arg(long, value_name = "N", value_parser = concurrency)]
    pub per_host: Option<usize>,
    /// The least time between two URLs of one host: seconds, or with a unit (200ms)
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub per_host_interval: Option<Duration>,
    /// The most connections open at a time, idle ones included [default: as many as files may be open]
    #[arg(long, value_name = "N", value_parser = concurrency)]
    pub connections: Option<usize>,
    /// Redirects that are followed
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub max_redirects: u32,
    /// Follow redirects from a public host to private, loopback and link-local addresses, too
    #[arg(long)]
    pub allow_private: bool,
    /// The longest content, decoded, such as 100MiB
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = quantity::bytes)]
    pub max_content: u64,
    /// How often a URL is tried again after a reset, a refusal, a failing name server; within its time
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Keep contents in this folder, with an index (index.jsonl)
    #[arg(long, value_name = "FOLDER")]
    pub save: Option<PathBuf>,
    /// Note here which lines are done, and leave those out that are
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// With --resume: do not wait until rows and contents are on the disk; a power cut may lose what is noted as done
    #[arg(long, requires = "resume")]
    pub no_sync: bool,
    #[command(flatten)]
    pub servers: Servers,
    /// A name server in place of the machine's; may be repeated
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = nameserver)]
    pub nameserver: Vec<SocketAddr>,
    /// Where to write what the crawl came to (JSON)
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    pub progress: Option<u32>,
}

/// How many URLs, or connections.
pub fn concurrency(text: &str) -> Result<usize, String> {
    let number = text
        .parse()
        .ok()
        .filter(|number| (1..=MOST_CONCURRENCY).contains(number));
    number.ok_or_else(|| format!("{text:?} is no whole number from 1 to {MOST_CONCURRENCY}"))
}

fn timeout(text: &str) -> Result<Duration, String> {
    let duration = quantity::standard_duration(text)?;
    if duration.is_zero() || duration > MOST_TIMEOUT {
        return Err(format!("{text:?}: must be above 0 and up to a day"));
    }
    Ok(duration)
}

/// What can be sent as the name of a client.
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
        format!("{text:?} is no address: write 192.0.2.1, 192.0.2.1:53 or [2001:db8::1]:53")
    })
}
