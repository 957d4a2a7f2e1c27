//! The options of `fetch`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use dyno_client::resolve::NameServer;
use dyno_fetch::BucketAddress;

use super::environment::is_on;
use crate::quantity;
use crate::servers::Servers;
use crate::shards::choice::{self, Choice};
use crate::shards::number_of_shards;
use crate::usage::{HELP, needs_python};

/// Maximum number of URLs in flight: more than the ports available to one server.
const MOST_CONCURRENCY: usize = 65_536;
/// Longest timeout: a day.
pub const MOST_TIMEOUT: Duration = Duration::from_secs(86_400);

/// Shortest WARC file: with less, a crawl would fill its folder with files.
const MIN_WARC_BYTES: u64 = 1_000_000;

/// The checks of content.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Check {
    /// JSON whose first element's `numbers` is 123123
    Json,
}

/// The methods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
pub enum Method {
    /// The whole answer
    Get,
    /// The head only
    Head,
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

/// The forms of rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Five fields separated by commas, quoted as in RFC 4180
    Csv,
    /// A JSON object with the redirects, the times of all phases, bytes, address and versions
    Jsonl,
    /// The line that httpdyno expects of every client: like csv, but without quotes
    Contract,
    /// The rows of jsonl as a Parquet file, written to -o FILE at the end
    Parquet,
}

/// Printed before the options.
const EXAMPLE: &str =
    "Example: httpdyno fetch --concurrency 200 < urls.txt > rows.csv   many at once";
/// Printed after the options.
const MORE: &str = "\
Reads one URL a line; prints url,code,start_time,duration,body_length when each is done, or JSON with more of it. The code is \
the status of the last answer, or the name of the error. An option overrides its environment variable.

Exit status: 0 every row is printed, 2 an option is wrong, 4 a disk is full, 127 a variable is not supported, 125 the \
fetcher failed, 128 + N ended by signal N.

More examples
    httpdyno fetch --polite --retries 2 < urls.txt                     with limits per host and address
    httpdyno fetch --robots --user-agent 'mybot/1.0 (+https://example.org/mybot)' < urls.txt     obey robots.txt
    httpdyno fetch --save pages < urls.txt                             store the contents
    httpdyno fetch --warc crawl.warc.gz < urls.txt                     archive requests and answers
    httpdyno fetch --resume done.txt -o rows.csv < urls.txt            continue after an interruption
    httpdyno fetch --shard 3/16 --into crawl < urls.txt                one of 16 parts, each on a machine of its own
    httpdyno fetch --format jsonl -o rows.jsonl < urls.txt             redirects, times of all phases, bytes";

/// Each option overrides the environment variable of its name, which a trial sets.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate flag on the command line"
)]
#[command(help_template = HELP, before_help = EXAMPLE, after_help = MORE)]
pub struct Arguments {
    /// Maximum number of URLs in flight [environment: CONCURRENCY] [default: 10]
    #[arg(short, long, value_name = "N", value_parser = concurrency)]
    pub concurrency: Option<usize>,
    #[arg(help = "Timeout of a URL, redirects included [environment: REQUEST_TIMEOUT] [default: 5m]", long, value_name = "TIME", value_parser = timeout)]
    pub timeout: Option<Duration>,
    #[arg(help = "Timeout of name lookup, connection and TLS handshake together [default: 5s, or --timeout if given]", long, value_name = "TIME", value_parser = timeout)]
    pub connect_timeout: Option<Duration>,
    #[arg(help = "Longest wait for the head, and between two pieces of content [default: 10s, or --timeout if given]", long, value_name = "TIME", value_parser = timeout)]
    pub idle_timeout: Option<Duration>,
    /// Method of every request
    #[arg(long, value_name = "METHOD", default_value = "GET", ignore_case = true)]
    pub method: Method,
    /// Header field of every request; may be repeated. Host, Authorization and Cookie are not sent to other hosts after a redirect
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE", value_parser = header, allow_hyphen_values = true)]
    pub headers: Vec<(String, String)>,
    /// Send the cookies of this file (cookies.txt) to their hosts; the file is only read
    #[arg(long, value_name = "FILE")]
    pub load_cookies: Option<PathBuf>,
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
    /// Maximum number of requests in flight to one address, whatever the names; redirects included
    #[arg(long, value_name = "N", value_parser = concurrency)]
    pub per_address: Option<usize>,
    /// Minimum time between two requests to one address
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub per_address_interval: Option<Duration>,
    /// Maximum number of requests in flight to one registered domain (example.co.uk); redirects included
    #[arg(long, value_name = "N", value_parser = concurrency)]
    pub per_domain: Option<usize>,
    /// Minimum time between two requests to one registered domain
    #[arg(long, value_name = "TIME", value_parser = interval)]
    pub per_domain_interval: Option<Duration>,
    /// Short for --per-host 2 --per-host-interval 250ms --per-address 4 --max-retry-after 5m; each may have another value
    #[arg(long)]
    pub polite: bool,
    /// Request robots.txt of each host once, and no URL that it forbids (Disallowed); needs a --user-agent with a contact
    #[arg(long)]
    pub robots: bool,
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
    /// Refuse URLs with blanks inside, which are percent-encoded otherwise
    #[arg(long)]
    pub strict_urls: bool,
    /// Retries of a URL after a reset, a refusal or a failing name server, within its timeout
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub retries: u32,
    /// Form of the rows
    #[arg(long, value_name = "FORMAT", default_value = "csv")]
    pub format: Format,
    /// Print the names of the columns first, unless rows are added to a file that has some
    #[arg(long)]
    pub column_names: bool,
    /// Write rows to this file; with --resume it is continued, and each URL has one row [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Show no progress and no summary on standard error
    #[arg(short, long)]
    pub quiet: bool,
    #[arg(
        help = "Longest time in a row for which Retry-After of answers 429 and 503 holds up their host; 0: not at all [default: 5m with --retries or --polite, else 0]",
        long,
        value_name = "TIME",
        value_parser = interval
    )]
    pub max_retry_after: Option<Duration>,
    #[arg(
        help = "Failed connections in a row after which the URLs of a host get HostDown for a minute; 0: never [default: 3]",
        long,
        value_name = "N"
    )]
    pub dead_after: Option<u32>,
    /// Store contents in this folder, with an index (index.jsonl), or in this bucket of an object store (S3); its index is next to the journal
    #[arg(long, value_name = "FOLDER|s3://BUCKET/PREFIX")]
    pub save: Option<PathBuf>,
    /// The bucket of `--save`, whose index is then in the folder of `save`.
    #[arg(skip)]
    pub bucket: Option<BucketAddress>,
    /// Keep what came of a content that was cut short or too long
    #[arg(long)]
    pub keep_partial: bool,
    /// Archive all requests and answers in WARC files of this name: crawl.warc.gz gives crawl-00000.warc.gz and so on
    #[arg(long, value_name = "FILE")]
    pub warc: Option<PathBuf>,
    /// Length at which the next WARC file begins [default: 1GB]
    #[arg(long, value_name = "SIZE", value_parser = warc_size)]
    pub warc_size: Option<u64>,
    /// Fetch a part of the list, by registered domain: I/N with I from 1 to N, slurm, slurm/N or kubernetes/N
    #[arg(long, value_name = "I/N", value_parser = choice::parse)]
    pub shard: Option<Choice>,
    /// Write the shard to a folder in this one, which appears when it is done; the same command continues it
    #[arg(long, value_name = "FOLDER")]
    pub into: Option<PathBuf>,
    /// Read the file of the shard in this folder of httpdyno split, not standard input
    #[arg(long, value_name = "FOLDER")]
    pub from: Option<PathBuf>,
    /// Fetch nothing more of a shard that was begun: what is finished is done, and its other URLs become N shards in a folder of their own
    #[arg(long, value_name = "N", value_parser = number_of_shards)]
    pub divide: Option<u32>,
    /// Seed of the hash that chooses a shard, the same for all shards [default: 0]
    #[arg(long, value_name = "N")]
    pub shard_seed: Option<u64>,
    /// Fetch all shards of --from on the nodes of this Ray cluster, and merge them; local:N starts N nodes here (needs pip install 'httpdyno[ray]')
    #[arg(long, value_name = "auto|ADDRESS|local:N", value_parser = needs_python)]
    cluster: Option<String>,
    /// Record finished lines in this file, and skip the lines that it has
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// With --resume or --into: do not wait until rows and contents are on the disk; a power cut may lose lines that are recorded as finished
    #[arg(long)]
    pub no_sync: bool,
    #[command(flatten)]
    pub servers: Servers,
    #[arg(
        help = "Name servers to use instead of the machine's, also tcp://ADDRESS and tls://ADDRESS#NAME; separated by commas, or repeated",
        long,
        value_name = "ADDRESS[:PORT]",
        value_delimiter = ','
    )]
    pub nameserver: Vec<NameServer>,
    /// Write a summary of the crawl here (JSON)
    #[arg(long, value_name = "FILE")]
    pub report: Option<PathBuf>,
    /// An open file descriptor to write progress to (JSON lines)
    #[arg(long, value_name = "DESCRIPTOR")]
    pub progress: Option<u32>,
}

impl Arguments {
    /// Refuses options that contradict each other; the error is the line to print.
    pub fn check(&self) -> Result<(), String> {
        let limits_addresses = self.per_address.is_some() || self.per_address_interval.is_some();
        if limits_addresses && self.servers.is_unix() {
            return Err(
                "--per-address: all connections go to --unix-socket; use --per-host or --per-domain"
                    .to_owned(),
            );
        }
        if self.no_sync && self.resume.is_none() && self.into.is_none() {
            return Err(
                "--no-sync: there is no journal to write; add --resume FILE or --into FOLDER"
                    .to_owned(),
            );
        }
        if self.keep_partial && self.save.is_none() {
            return Err(
                "--keep-partial: keeps contents, and none are stored; add --save FOLDER".to_owned(),
            );
        }
        if self.warc_size.is_some() && self.warc.is_none() {
            return Err("--warc-size: there is no archive; add --warc FILE".to_owned());
        }
        self.check_shard()?;
        let Some(whole) = self.timeout else {
            return Ok(());
        };
        let parts = [
            ("--connect-timeout", self.connect_timeout),
            ("--idle-timeout", self.idle_timeout),
        ];
        for (name, part) in parts {
            if part.is_some_and(|part| part > whole) {
                return Err(format!(
                    "{name}: longer than --timeout, which limits the whole URL; lower it, or raise --timeout"
                ));
            }
        }
        Ok(())
    }
}

impl Arguments {
    /// Separates the bucket of `--save` from the folder of its index; the error is the line to print.
    pub fn split_bucket(&mut self) -> Result<(), String> {
        let Some(text) = self.save.as_deref().and_then(Path::to_str) else {
            return Ok(());
        };
        if !text.starts_with("s3://") {
            return Ok(());
        }
        let address = BucketAddress::parse(text, |name| std::env::var(name).ok())?;
        let folder = match &self.resume {
            _ if self.into.is_some() => PathBuf::from("contents"),
            Some(journal) => {
                let mut name = journal.clone().into_os_string();
                name.push(".contents");
                name.into()
            }
            None => {
                return Err(format!(
                    "--save {text}: the index of the contents needs a place on this machine, next to a journal; add --resume FILE"
                ));
            }
        };
        self.bucket = Some(address);
        self.save = Some(folder);
        Ok(())
    }
}

impl Arguments {
    /// Refuses options that do not fit to a shard.
    fn check_shard(&self) -> Result<(), String> {
        let of_shards = [
            ("--into", self.into.is_some()),
            ("--from", self.from.is_some()),
            ("--shard-seed", self.shard_seed.is_some()),
        ];
        if self.shard.is_none()
            && let Some((option, _)) = of_shards.iter().find(|(_, is_given)| *is_given)
        {
            return Err(format!(
                "{option}: needs a shard; add --shard I/N, such as --shard 1/16"
            ));
        }
        if self.divide.is_some() && (self.into.is_none() || self.from.is_none()) {
            return Err(
                "--divide: needs the shard's list and folder; add --from LISTS and --into FOLDER"
                    .to_owned(),
            );
        }
        let chosen = [
            (
                "--output",
                self.output.is_some(),
                "rows go to a file in the folder",
            ),
            (
                "--resume",
                self.resume.is_some(),
                "the journal is in the folder",
            ),
            (
                "--report",
                self.report.is_some(),
                "reports go to the folder",
            ),
        ];
        if self.into.is_some()
            && let Some((option, _, why)) = chosen.iter().find(|(_, is_given, _)| *is_given)
        {
            return Err(format!(
                "{option} conflicts with --into: {why}; leave it out"
            ));
        }
        if self.into.is_some() && self.format == Format::Parquet {
            return Err(
                "--into conflicts with --format parquet: such a file is written once; use --format jsonl, and convert the rows of httpdyno merge"
                    .to_owned(),
            );
        }
        Ok(())
    }
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

/// Parses a header. Headers that change how a request is sent are refused.
fn header(text: &str) -> Result<(String, String), String> {
    let wrong = |reason: &str| Err(format!("{text:?}: {reason}"));
    let Some((name, value)) = text.split_once(':') else {
        return wrong("is not a header; write 'Name: value'");
    };
    let value = value.trim();
    match name.to_ascii_lowercase().as_str() {
        "connection" => wrong("use --keepalive false to close connections"),
        "proxy-authorization" => wrong("write user:password@ before the host of --proxy"),
        "content-length" | "expect" | "keep-alive" | "te" | "trailer" | "transfer-encoding"
        | "upgrade" => wrong("a request without content has no such header; leave it out"),
        _ if name.parse::<http::HeaderName>().is_err() => {
            wrong("the name has a character that HTTP does not allow; write 'Name: value'")
        }
        _ if value.is_empty() => wrong("the value is missing; write 'Name: value'"),
        _ if http::HeaderValue::from_bytes(value.as_bytes()).is_err() => {
            wrong("the value has a control character; remove it")
        }
        _ => Ok((name.to_owned(), value.to_owned())),
    }
}

fn interval(text: &str) -> Result<Duration, String> {
    let duration = quantity::standard_duration(text)?;
    if duration > MOST_TIMEOUT {
        return Err(format!("{text:?}: must be up to a day"));
    }
    Ok(duration)
}

fn warc_size(text: &str) -> Result<u64, String> {
    let size = quantity::bytes(text)?;
    if size < MIN_WARC_BYTES {
        return Err(format!(
            "{text:?} is too short: write 1MB or more, such as 1GB"
        ));
    }
    Ok(size)
}
