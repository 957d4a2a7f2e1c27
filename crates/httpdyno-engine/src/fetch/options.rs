//! The options of a crawl: from the command line or, if missing there, from the environment.

use std::sync::Arc;

use dyno_client::http1::Profile;
use dyno_client::{Proxies, tls};
use dyno_fetch::{Options, Versions};
use dyno_io::open_files;

use super::arguments::{Arguments, HttpVersion, concurrency, user_agent};
use super::environment::{check, is_on, seconds, variable, version};

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
    let check_json = arguments.check.is_some() || variable("CHECK", check)?.is_some();
    Ok(Options {
        concurrency: given(arguments.concurrency, "CONCURRENCY", concurrency)?
            .unwrap_or(default.concurrency),
        timeout: given(arguments.timeout, "REQUEST_TIMEOUT", seconds)?.unwrap_or(default.timeout),
        user_agent: given(arguments.user_agent.clone(), "USER_AGENT", user_agent)?
            .unwrap_or(default.user_agent),
        keepalive: given(arguments.keepalive, "KEEPALIVE", is_on)?.unwrap_or(default.keepalive),
        check_json,
        profile: Profile::of(arguments.strict),
        http,
        per_host: arguments.per_host,
        delay: arguments.per_host_interval.unwrap_or_default(),
        connections: arguments
            .connections
            .unwrap_or(usize::MAX)
            .min(connections_possible()),
        max_redirects: arguments.max_redirects,
        allow_private: arguments.allow_private,
        max_content: arguments.max_content,
        retries: arguments.retries,
        save: arguments.save.clone(),
        resume: arguments.resume.clone(),
        sync: !arguments.no_sync,
        insecure: arguments.servers.insecure,
        cacert: arguments.servers.cacert.clone(),
        tls: tls::Settings::default(),
        reroute: arguments.servers.reroute(),
        proxies: Proxies::default(),
        sockets: Arc::default(),
        nameservers: arguments.nameserver.clone(),
        measure: arguments.report.is_some(),
        progress: None,
    })
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
