//! Lines of JSON logs: nginx with `escape=json` and the usual keys, and Caddy. No I/O.

use serde_json::{Map, Value};

use super::time::{self, At};
use super::{Line, NO_REQUEST, hosts, is_kept, log_request, request_line};

const TIMES: [&str; 9] = [
    "msec",
    "@timestamp",
    "timestamp",
    "ts",
    "time",
    "time_iso8601",
    "time_local",
    "datetime",
    "date",
];
const METHODS: [&str; 3] = ["request_method", "method", "http_method"];
const TARGETS: [&str; 4] = ["request_uri", "uri", "path", "url"];
const QUERIES: [&str; 3] = ["args", "query_string", "query"];
const HOSTS: [&str; 3] = ["http_host", "host", "vhost"];
/// Times that a request took, in seconds.
const DURATIONS: [&str; 2] = ["request_time", "duration"];
/// Keys of headers, with the names of these.
const HEADERS: [(&str, &str); 16] = [
    ("http_user_agent", "User-Agent"),
    ("user_agent", "User-Agent"),
    ("http_referer", "Referer"),
    ("http_referrer", "Referer"),
    ("referer", "Referer"),
    ("referrer", "Referer"),
    ("http_accept", "Accept"),
    ("http_accept_encoding", "Accept-Encoding"),
    ("http_accept_language", "Accept-Language"),
    ("http_authorization", "Authorization"),
    ("http_cookie", "Cookie"),
    ("http_if_modified_since", "If-Modified-Since"),
    ("http_if_none_match", "If-None-Match"),
    ("http_range", "Range"),
    ("http_x_forwarded_for", "X-Forwarded-For"),
    ("content_type", "Content-Type"),
];

/// Parses a line.
pub(super) fn line(line: &[u8]) -> Result<Line, String> {
    let keys: Map<String, Value> = serde_json::from_slice(line)
        .map_err(|error| format!("no JSON object: {}", crate::jsonl::reason(&error)))?;
    let at = time_of(&keys)?;
    match keys.get("request") {
        // Caddy nests the request.
        Some(Value::Object(request)) => of_keys(at, request),
        Some(Value::String(request)) => {
            let Some((method, target)) = request_line(request.as_bytes()) else {
                return Ok(Line::Skipped(NO_REQUEST.to_owned()));
            };
            let (host, headers, body) = (host(&keys), headers(&keys), body(&keys));
            Ok(log_request(at, method, target, host, headers, body))
        }
        _ => of_keys(at, &keys),
    }
}

/// The finest of the times of a line; the beginning of the request, where it says how long the request took.
fn time_of(keys: &Map<String, Value>) -> Result<At, String> {
    let read = |key: &&str| match keys.get(*key)? {
        Value::String(text) => At::from_text(text),
        Value::Number(number) => At::since_1970(&number.to_string()),
        _ => None,
    };
    let found = TIMES.iter().filter_map(read);
    let at = found
        .min_by_key(|at| at.precision_ns)
        .ok_or_else(|| format!("no time: it needs one of the keys {}", TIMES.join(", ")))?;
    let took = DURATIONS.iter().find_map(|key| match keys.get(*key)? {
        Value::String(text) => time::seconds(text),
        Value::Number(number) => time::seconds(&number.to_string()),
        _ => None,
    });
    Ok(at.before(took.unwrap_or(0)))
}

fn of_keys(at: At, keys: &Map<String, Value>) -> Result<Line, String> {
    let (Some(method), Some(target)) = (text(keys, &METHODS), text(keys, &TARGETS)) else {
        let is_there = METHODS
            .iter()
            .chain(&TARGETS)
            .any(|key| keys.contains_key(*key));
        if is_there {
            return Ok(Line::Skipped(NO_REQUEST.to_owned()));
        }
        return Err(
            "no request: it needs the key request, or request_method and request_uri".to_owned(),
        );
    };
    let mut target = target.to_owned();
    if let (Some(query), false) = (text(keys, &QUERIES), target.contains('?')) {
        target = format!("{target}?{}", query.trim_start_matches('?'));
    }
    let line = format!("{method} {target} HTTP/1.1");
    let Some((method, target)) = request_line(line.as_bytes()) else {
        return Ok(Line::Skipped(NO_REQUEST.to_owned()));
    };
    Ok(log_request(
        at,
        method,
        target,
        host(keys),
        headers(keys),
        body(keys),
    ))
}

/// The first of some keys that has a text; nginx writes `-` or nothing where there is none.
fn text<'k>(keys: &'k Map<String, Value>, names: &[&str]) -> Option<&'k str> {
    let text = |name: &&str| keys.get(*name)?.as_str();
    names
        .iter()
        .filter_map(text)
        .find(|text| !matches!(*text, "" | "-"))
}

fn host(keys: &Map<String, Value>) -> Option<String> {
    text(keys, &HOSTS).and_then(hosts::recorded)
}

fn body(keys: &Map<String, Value>) -> Option<String> {
    text(keys, &["request_body"]).map(str::to_owned)
}

fn headers(keys: &Map<String, Value>) -> Vec<(String, String)> {
    let mut headers: Vec<(String, String)> = Vec::new();
    for (key, name) in HEADERS {
        let is_known = headers.iter().any(|(known, _)| known == name);
        if let (Some(value), false) = (text(keys, &[key]), is_known) {
            headers.push((name.to_owned(), value.to_owned()));
        }
    }
    // Caddy has lists of values by name, and hides credentials.
    if let Some(Value::Object(all)) = keys.get("headers") {
        for (name, values) in all.iter().filter(|(name, _)| is_kept(name)) {
            let values = values.as_array().into_iter().flatten();
            let values = values.filter_map(Value::as_str);
            let values = values.filter(|value| *value != "REDACTED");
            headers.extend(values.map(|value| (name.clone(), value.to_owned())));
        }
    }
    headers
}
