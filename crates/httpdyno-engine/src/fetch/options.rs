//! The options of a crawl: from the command line or, if missing there, from the environment.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use dyno_client::http1::Profile;
use dyno_client::{Proxies, tls};
use dyno_fetch::{CookieFile, Limit, Options, RowFormat, Versions, product};
use dyno_io::open_files;

use super::arguments::{Arguments, Format, HttpVersion, Method, concurrency, user_agent};
use super::environment::{check, is_on, is_under_contract, method, seconds, variable, version};

/// Timeout of a URL without a contract and without `--timeout`: content of 10 MB at 1 MB/s arrives whole.
const WHOLE_TIMEOUT: Duration = Duration::from_secs(300);
/// Time to connect in that case.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest silence in that case.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);

/// Timeout of a URL under the contract, without `REQUEST_TIMEOUT`.
const CONTRACT_TIMEOUT: Duration = Duration::from_secs(5);
/// Failed connections in a row after which a host is dead, without a contract.
const DEAD_AFTER: u32 = 3;
/// Longest pause of a host, if there are retries.
const MAX_RETRY_AFTER: Duration = Duration::from_secs(300);
/// The limits of `--polite`: of a name, and of an address.
const POLITE_PER_HOST: usize = 2;
const POLITE_INTERVAL: Duration = Duration::from_millis(250);
const POLITE_PER_ADDRESS: usize = 4;

/// Descriptors that are not connections of URLs: streams, files, name servers, raced addresses.
const OTHER_FILES: u64 = 32;

/// Number of open files if there is no limit: more connections than the ports available to one server.
const UNLIMITED: u64 = 1 << 20;

/// Reads the options; the error is the line to print.
pub fn options(arguments: &Arguments) -> Result<Options, String> {
    let default = Options::default();
    let http = match given(arguments.http_version, "HTTP_VERSION", version)? {
        Some(HttpVersion::Auto) => Versions::Auto,
        Some(HttpVersion::Http1) => Versions::Http1,
        Some(HttpVersion::Http2) => Versions::Http2,
        None => default.http,
    };
    let whole = given(arguments.timeout, "REQUEST_TIMEOUT", seconds)?;
    let [timeout, connect_timeout, idle_timeout] = timeouts(whole, is_under_contract());
    if is_under_contract() {
        variable("METHOD", method)?;
    }
    let check_json = arguments.check.is_some() || variable("CHECK", check)?.is_some();
    let polite = arguments.polite;
    Ok(Options {
        concurrency: given(arguments.concurrency, "CONCURRENCY", concurrency)?
            .unwrap_or(default.concurrency),
        timeout,
        connect_timeout: arguments.connect_timeout.unwrap_or(connect_timeout),
        idle_timeout: arguments.idle_timeout.unwrap_or(idle_timeout),
        robots: arguments.robots,
        user_agent: given(arguments.user_agent.clone(), "USER_AGENT", user_agent)?
            .unwrap_or(default.user_agent),
        is_head: arguments.method == Method::Head,
        headers: arguments.headers.clone(),
        cookies: None,
        strict_urls: arguments.strict_urls,
        keepalive: given(arguments.keepalive, "KEEPALIVE", is_on)?.unwrap_or(default.keepalive),
        check_json,
        profile: Profile::of(arguments.strict),
        http,
        per_host: arguments.per_host.or(polite.then_some(POLITE_PER_HOST)),
        delay: arguments
            .per_host_interval
            .or(polite.then_some(POLITE_INTERVAL))
            .unwrap_or_default(),
        per_domain: Limit {
            at_once: arguments.per_domain,
            interval: arguments.per_domain_interval.unwrap_or_default(),
        },
        per_address: Limit {
            at_once: arguments
                .per_address
                .or((polite && !arguments.servers.is_unix()).then_some(POLITE_PER_ADDRESS)),
            interval: arguments.per_address_interval.unwrap_or_default(),
        },
        connections: arguments
            .connections
            .unwrap_or(usize::MAX)
            .min(connections_possible()),
        max_redirects: arguments.max_redirects,
        allow_private: arguments.allow_private,
        max_content: arguments.max_content,
        retries: arguments.retries,
        max_retry_after: arguments
            .max_retry_after
            .or((polite || arguments.retries > 0).then_some(MAX_RETRY_AFTER))
            .unwrap_or_default(),
        dead_after: arguments.dead_after.unwrap_or(if is_under_contract() {
            0
        } else {
            DEAD_AFTER
        }),
        share: None,
        save: arguments.save.clone(),
        bucket: arguments.bucket.clone(),
        warc: arguments.warc.clone(),
        warc_size: arguments.warc_size.unwrap_or(default.warc_size),
        resume: arguments.resume.clone(),
        sync: !arguments.no_sync,
        insecure: arguments.servers.insecure,
        cacert: arguments.servers.cacert.clone(),
        tls: tls::Settings::default(),
        reroute: arguments.servers.reroute(),
        proxies: Proxies::default(),
        sockets: Arc::default(),
        nameservers: arguments.nameserver.clone(),
        on_name_server_failure: None,
        rows_file: arguments.output.clone(),
        rows: match arguments.format {
            Format::Csv => RowFormat::Csv,
            Format::Jsonl | Format::Parquet => RowFormat::Jsonl,
            Format::Contract => RowFormat::Contract,
        },
        column_names: arguments.column_names,
        keep_partial: arguments.keep_partial,
        measure: arguments.report.is_some(),
        progress: None,
        observer: None,
    })
}

/// Whether a User-Agent has an address for the owners of sites to write to.
fn has_contact(user_agent: &str) -> bool {
    let is_mail = |word: &str| {
        let parts = word.split_once('@');
        parts.is_some_and(|(name, host)| !name.is_empty() && host.contains('.'))
    };
    let mut words = user_agent
        .split(|character: char| character.is_whitespace() || "()<>;,+".contains(character));
    words.any(|word| {
        let is_page = |scheme| {
            word.strip_prefix(scheme)
                .is_some_and(|rest: &str| !rest.is_empty())
        };
        is_page("http://") || is_page("https://") || is_mail(word)
    })
}

/// Checks that the options fit together.
pub fn check_together(options: &Options) -> Result<(), String> {
    let user_agent = options.sent_user_agent();
    if options.robots && (product(user_agent).is_empty() || !has_contact(user_agent)) {
        let (option, field) = if user_agent == options.user_agent {
            ("--user-agent", "")
        } else {
            ("-H", "User-Agent: ")
        };
        return Err(format!(
            "--robots: the User-Agent {user_agent:?} has no name with a contact; write {option} '{field}mybot/1.0 (+https://example.org/mybot)', or a mail address"
        ));
    }
    let refused = [
        (options.check_json, "--check: needs the content"),
        (options.save.is_some(), "--save: stores contents"),
        (options.keep_partial, "--keep-partial: keeps contents"),
    ];
    match refused.iter().find(|(is_given, _)| *is_given && options.is_head) {
        Some((_, option)) => Err(format!(
            "{option}, and an answer to --method HEAD has none; remove one of them"
        )),
        None if options.keep_partial && options.check_json => Err(
            "--check: needs the whole content, and --keep-partial keeps the beginning of a longer one; remove one of them"
                .to_owned(),
        ),
        None => Ok(()),
    }
}

/// Reads the file of cookies.
pub fn cookies(arguments: &Arguments) -> Result<Option<CookieFile>, String> {
    let Some(path) = &arguments.load_cookies else {
        return Ok(None);
    };
    let wrong = |reason: String| format!("--load-cookies {}: {reason}", path.display());
    let text = std::fs::read(path).map_err(|error| wrong(error.to_string()))?;
    let file = CookieFile::parse(&text, SystemTime::now());
    file.map(Some).map_err(|line| {
        wrong(format!(
            "line {line} is not a cookie; export the cookies as cookies.txt (Netscape format: 7 columns, separated by tabs)"
        ))
    })
}

/// Returns the timeouts of a whole URL, of its connection and of silence, as far as only the whole may be given. A given
/// whole limits every part, and so does the contract's.
fn timeouts(whole: Option<Duration>, is_under_contract: bool) -> [Duration; 3] {
    match whole {
        Some(whole) => [whole; 3],
        None if is_under_contract => [CONTRACT_TIMEOUT; 3],
        None => [WHOLE_TIMEOUT, CONNECT_TIMEOUT, IDLE_TIMEOUT],
    }
}

/// Raises this process's limit of open files; returns half of it for connections, because lookups and races need the
/// rest.
fn connections_possible() -> usize {
    let possible = open_files::raise().unwrap_or(UNLIMITED);
    usize::try_from(possible.saturating_sub(OTHER_FILES) / 2)
        .unwrap_or(usize::MAX)
        .max(1)
}

fn given<T>(
    option: Option<T>,
    name: &str,
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Option<T>, String> {
    option.map_or_else(|| variable(name, read), |value| Ok(Some(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_contact_is_a_page_or_a_mail_address() {
        let cases = [
            ("bot/1.0 (+https://a.test/bot)", true),
            ("bot/1.0 (http://a.test)", true),
            ("bot/1.0 (me@a.test)", true),
            ("bot <me@a.test>", true),
            ("httpdyno/0.1.0", false),
            ("bot/1.0 (+https://)", false),
            ("bot @home", false),
            ("bot a@b", false),
            ("bot/1.0 (a.test)", false),
        ];
        for (user_agent, expected) in cases {
            assert_eq!(has_contact(user_agent), expected, "{user_agent}");
        }
    }

    #[test]
    fn a_given_timeout_and_the_contract_limit_every_part() {
        let s = Duration::from_secs;
        let cases = [
            (None, false, [300, 5, 10]),
            (None, true, [5, 5, 5]),
            (Some(2), false, [2, 2, 2]),
            (Some(60), false, [60, 60, 60]),
            (Some(60), true, [60, 60, 60]),
        ];
        for (whole, is_under_contract, expected) in cases {
            let found = timeouts(whole.map(s), is_under_contract);
            assert_eq!(found, expected.map(s), "{whole:?} {is_under_contract}");
        }
    }
}
