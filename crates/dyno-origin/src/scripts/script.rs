//! The scripts of hosts: their JSON form, and the refusal of wrong ones.

use std::collections::HashSet;
use std::fmt::Display;
use std::num::{NonZeroU64, NonZeroUsize};

use hickory_proto::rr::Name;
use serde::Deserialize;
use serde_json::Value;

use super::base64_bytes::Base64;
use super::name_answers::Dns;
use super::tls::TlsScript;

/// The largest payload of a frame of HTTP/2.
const MOST_PAYLOAD: usize = (1 << 24) - 1;
/// Each host has an address of its own in a block of 65,536.
const MOST_HOSTS: usize = 60_000;
/// The end of every message about a mistake.
const CURE: &str = "correct the script";

/// A mistake in a script, in one line: host, connection, step, what is wrong, what is allowed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct ScriptError(String);

/// One host.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostScript {
    /// In lower case, without a final dot.
    pub(crate) name: String,
    /// The number in its addresses; `None`: its place in the file, from 1.
    pub(crate) number: Option<u16>,
    #[serde(default)]
    pub(crate) dns: Dns,
    #[serde(default)]
    pub(crate) accept: Accept,
    #[serde(default)]
    pub(crate) tls: TlsScript,
    /// Their JSON, for messages with the number of a step.
    #[serde(default)]
    connections: Vec<Value>,
    #[serde(skip)]
    pub(crate) scripts: Vec<ConnectionScript>,
}

/// What happens right after a connection is accepted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Accept {
    #[default]
    Serve,
    Reset,
    Stall,
}

/// One connection of a host.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConnectionScript {
    #[serde(default = "yes")]
    pub(crate) automatic: bool,
    #[serde(default)]
    pub(crate) repeat: bool,
    /// Their JSON, for messages with the number of a step.
    #[serde(default, rename = "steps")]
    json: Vec<Value>,
    #[serde(skip)]
    pub(crate) steps: Vec<Step>,
}

fn yes() -> bool {
    true
}

/// A step of a connection.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Step {
    /// Read until something has come.
    Expect {
        what: What,
        count: Option<u64>,
        within_ms: Option<u64>,
    },
    /// Send bytes.
    Send {
        base64: Base64,
        piece: Option<NonZeroUsize>,
        #[serde(default)]
        every_ms: u64,
        times: Option<NonZeroU64>,
        #[serde(default)]
        forever: bool,
    },
    /// Send a frame of HTTP/2.
    Frame {
        #[serde(rename = "type")]
        kind: u8,
        #[serde(default)]
        flags: u8,
        #[serde(default)]
        stream: StreamName,
        #[serde(default)]
        payload: Base64,
        /// The length that the head of the frame claims.
        length: Option<u32>,
        times: Option<NonZeroU64>,
        #[serde(default)]
        every_ms: u64,
        #[serde(default)]
        forever: bool,
        /// Whether each frame waits until the client's flow-control windows have room for its payload.
        #[serde(default)]
        within_window: bool,
    },
    Wait {
        ms: u64,
    },
    /// Neither read nor send until the peer goes.
    Stall {},
    Close {},
    CloseWithoutNotify {},
    HalfClose {},
    Reset {},
    /// Change the keys of TLS 1.3.
    KeyUpdate {},
}

/// What a step expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum What {
    Request,
    Head,
    Bytes,
    End,
}

/// The stream of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum StreamName {
    Number(u32),
    /// That of the last request, and so many more.
    Last(i64),
}

impl Default for StreamName {
    fn default() -> Self {
        Self::Number(0)
    }
}

impl TryFrom<Value> for StreamName {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        let read = match &value {
            Value::Number(number) => number
                .as_u64()
                .and_then(|number| u32::try_from(number).ok())
                .filter(|number| *number < 1 << 31)
                .map(Self::Number),
            Value::String(text) if text == "next_push" => Some(Self::Number(2)),
            Value::String(text) => text.strip_prefix("last").and_then(|after| match after {
                "" => Some(Self::Last(0)),
                after if after.starts_with(['+', '-']) => after.parse().ok().map(Self::Last),
                _ => None,
            }),
            _ => None,
        };
        read.ok_or_else(|| {
            format!(
                "{value} is no stream; write a number below 2147483648, \"last\", \"last+2\" or \"next_push\""
            )
        })
    }
}

impl StreamName {
    /// The number of the stream, where `last` is that of the last request.
    pub(crate) fn number(self, last: u32) -> u32 {
        match self {
            Self::Number(number) => number,
            Self::Last(more) => {
                let number = i64::from(last).saturating_add(more);
                u32::try_from(number.rem_euclid(1 << 31)).expect("31 bits")
            }
        }
    }
}

impl Step {
    /// Whether the connection ends with this step.
    fn is_end(&self) -> bool {
        matches!(
            self,
            Self::Stall {}
                | Self::Close {}
                | Self::CloseWithoutNotify {}
                | Self::Reset {}
                | Self::Send { forever: true, .. }
                | Self::Frame { forever: true, .. }
        )
    }

    /// What is wrong with it, although its JSON is right.
    fn mistake(&self) -> Option<&'static str> {
        match self {
            Self::Expect { what, count, .. } => match (what, count) {
                (What::Bytes, None) => Some("\"what\": \"bytes\" needs \"count\""),
                (What::Bytes, Some(_)) | (_, None) => None,
                _ => Some("\"count\" goes with \"what\": \"bytes\" only"),
            },
            Self::Send { times, forever, .. } | Self::Frame { times, forever, .. }
                if *forever && times.is_some() =>
            {
                Some("\"times\" and \"forever\" exclude each other; leave one out")
            }
            Self::Frame { length, .. } if length.is_some_and(|it| it as usize > MOST_PAYLOAD) => {
                Some("\"length\" is at most 16777215")
            }
            Self::Frame { payload, .. } if payload.0.len() > MOST_PAYLOAD => {
                Some("the payload of a frame is at most 16777215 bytes")
            }
            _ => None,
        }
    }
}

/// Reads the hosts of a file.
///
/// # Errors
///
/// [`ScriptError`] for the first mistake.
pub(crate) fn parse(text: &str) -> Result<Vec<HostScript>, ScriptError> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct File {
        hosts: Vec<Value>,
    }
    let file: File = serde_json::from_str(text).map_err(|error| wrong("", error))?;
    if file.hosts.len() > MOST_HOSTS {
        return Err(wrong("", "there are more than 60000 hosts; split the file"));
    }
    let mut names = HashSet::new();
    let mut numbers = HashSet::new();
    let hosts = file.hosts.into_iter().enumerate();
    hosts
        .map(|(place, host)| {
            let name = host.get("name").and_then(Value::as_str);
            let place =
                name.map_or_else(|| format!("host {}", place + 1), |it| format!("host {it}"));
            let host = host_script(&place, host)?;
            if !names.insert(host.name.clone()) {
                let twice = "two hosts have this name; give each its own";
                return Err(wrong(&place, twice));
            }
            if host.number.is_some_and(|number| !numbers.insert(number)) {
                let twice = "two hosts have this \"number\"; give each its own";
                return Err(wrong(&place, twice));
            }
            Ok(host)
        })
        .collect()
}

fn host_script(place: &str, json: Value) -> Result<HostScript, ScriptError> {
    let mut host: HostScript = serde_json::from_value(json).map_err(|error| wrong(place, error))?;
    host.name = host.name.trim_end_matches('.').to_ascii_lowercase();
    if host.name.is_empty() || Name::from_ascii(&host.name).is_err() {
        return Err(wrong(place, "the name is no host name"));
    }
    if let Some(mistake) = host.tls.mistake() {
        return Err(wrong(place, mistake));
    }
    if host
        .number
        .is_some_and(|number| usize::from(number) <= MOST_HOSTS)
    {
        return Err(wrong(place, "\"number\" is 60001 to 65535"));
    }
    let answers = host.dns.a.iter().chain(&host.dns.aaaa);
    for address in answers.flat_map(|answer| &answer.addresses) {
        let known = ["own", "silent", "closed", "stall", "reset"];
        if !known.contains(&address.as_str()) && address.parse::<std::net::IpAddr>().is_err() {
            let allowed = "allowed: own, silent, closed, stall, reset, or an IP address";
            return Err(wrong(
                place,
                format_args!("address \"{address}\": {allowed}"),
            ));
        }
    }
    let connections = std::mem::take(&mut host.connections).into_iter();
    let scripts = connections.enumerate().map(|(number, json)| {
        connection_script(&format!("{place}, connection {}", number + 1), json)
    });
    host.scripts = scripts.collect::<Result<_, _>>()?;
    Ok(host)
}

fn connection_script(place: &str, json: Value) -> Result<ConnectionScript, ScriptError> {
    let mut script: ConnectionScript =
        serde_json::from_value(json).map_err(|error| wrong(place, error))?;
    let count = script.json.len();
    for (number, json) in std::mem::take(&mut script.json).into_iter().enumerate() {
        let place = format!("{place}, step {}", number + 1);
        let step: Step = serde_json::from_value(json).map_err(|error| wrong(&place, error))?;
        if let Some(mistake) = step.mistake() {
            return Err(wrong(&place, mistake));
        }
        if step.is_end() && number + 1 < count {
            let last = "the connection ends with this step; leave out the steps after it";
            return Err(wrong(&place, last));
        }
        script.steps.push(step);
    }
    let expects = |step: &Step| matches!(step, Step::Expect { .. });
    if script.repeat && !script.steps.iter().any(expects) {
        let endless = "\"repeat\" needs a step that expects something";
        return Err(wrong(place, endless));
    }
    Ok(script)
}

/// The mistake of a host that cannot be played outside a room, where all hosts share an address.
pub(crate) fn check_shared_address(host: &HostScript) -> Result<(), ScriptError> {
    let place = format!("host {}", host.name);
    let in_a_room = |what: &str| Err(wrong(&place, format_args!("{what} works in a room only")));
    if host.accept != Accept::Serve {
        return in_a_room("\"accept\"");
    }
    if host.tls.raw {
        return in_a_room("\"raw\"");
    }
    if host.number.is_some() {
        return in_a_room("\"number\"");
    }
    let answers = host.dns.a.iter().chain(&host.dns.aaaa);
    for address in answers.flat_map(|answer| &answer.addresses) {
        if ["silent", "closed", "stall", "reset"].contains(&address.as_str()) {
            return in_a_room(&format!("address \"{address}\""));
        }
    }
    Ok(())
}

fn wrong(place: &str, what: impl Display) -> ScriptError {
    let colon = if place.is_empty() { "" } else { ": " };
    ScriptError(format!("{place}{colon}{what}; {CURE}"))
}

#[cfg(test)]
mod tests {
    use super::super::name_answers::{Forgery, OverTcp};
    use super::super::tls::{Before, TlsVersion};
    use super::*;

    fn mistake(text: &str) -> String {
        parse(text).unwrap_err().to_string()
    }

    #[test]
    fn a_host_needs_only_its_name() {
        let hosts = parse(r#"{"hosts": [{"name": "A.Test."}]}"#).unwrap();
        let host = &hosts[0];
        assert_eq!(host.name, "a.test");
        assert_eq!(host.dns.a[0].addresses, ["own"]);
        assert!(host.dns.aaaa.is_empty() && host.scripts.is_empty());
        assert_eq!(host.tls.alpn, ["h2", "http/1.1"]);
        assert_eq!(host.tls.versions, [TlsVersion::V12, TlsVersion::V13]);
    }

    #[test]
    fn every_step_is_read() {
        let text = r#"{"hosts": [{"name": "a.test", "accept": "serve",
            "dns": {"A": [{"rcode": "SERVFAIL"}, {"cname": ["b.test", "c.test"], "truncate": true, "tcp": "close", "forged": "id"}],
                    "AAAA": [{"rcode": "NXDOMAIN", "silent": true}]},
            "tls": {"before": {"alert": 40}, "certificate": {"issuer": "self", "ocsp": "AAAA"}},
            "connections": [{"repeat": true, "automatic": false, "steps": [
                {"do": "expect", "what": "request", "within_ms": 5},
                {"do": "expect", "what": "bytes", "count": 3},
                {"do": "send", "base64": "aGk=", "piece": 1, "every_ms": 2, "times": 3},
                {"do": "frame", "type": 7, "stream": "last+2", "payload": "AA==", "length": 9},
                {"do": "wait", "ms": 1},
                {"do": "half_close"},
                {"do": "reset"}]}]}]}"#;
        let host = &parse(text).unwrap()[0];
        assert_eq!(host.tls.before, Some(Before::Alert(40)));
        assert_eq!(host.dns.a[1].cname.0.len(), 2);
        assert_eq!(host.dns.a[1].tcp, OverTcp::Close);
        assert_eq!(host.dns.a[1].forged, Some(Forgery::Id));
        assert_eq!(
            (host.dns.a[0].tcp, host.dns.a[0].forged),
            (OverTcp::Answer, None)
        );
        let script = &host.scripts[0];
        assert!(script.repeat && !script.automatic);
        assert_eq!(script.steps.len(), 7);
        let Step::Frame { stream, .. } = &script.steps[3] else {
            panic!("{:?}", script.steps[3]);
        };
        assert_eq!((stream.number(5), script.steps[6].is_end()), (7, true));
    }

    fn with_step(step: &str) -> String {
        let wait = r#"{"do": "wait", "ms": 1}"#;
        with_part(&format!(
            r#""connections": [{{"steps": [{wait}, {step}]}}]"#
        ))
    }

    fn with_part(part: &str) -> String {
        format!(r#"{{"hosts": [{{"name": "a.test", {part}}}]}}"#)
    }

    fn check(cases: &[(String, &str)]) {
        for (text, expected) in cases {
            let message = mistake(text);
            assert!(message.starts_with(expected), "{message}");
            assert!(message.ends_with("; correct the script"), "{message}");
        }
    }

    #[test]
    fn a_mistake_in_a_step_names_the_step_and_what_is_allowed() {
        let cases = [
            (
                with_step(r#"{"do": "sned", "base64": ""}"#),
                "host a.test, connection 1, step 2: unknown variant `sned`, expected one of `expect`, `send`, ",
            ),
            (
                with_step(r#"{"do": "send", "base64": "", "pice": 1}"#),
                "host a.test, connection 1, step 2: unknown field `pice`, expected one of `base64`, `piece`, ",
            ),
            (
                with_step(r#"{"do": "send", "base64": "a?"}"#),
                "host a.test, connection 1, step 2: the base64 is wrong: Invalid symbol 63, offset 1; correct",
            ),
            (
                with_step(r#"{"do": "send", "base64": "", "piece": 0}"#),
                "host a.test, connection 1, step 2: invalid value: integer `0`, expected a nonzero",
            ),
            (
                with_step(r#"{"do": "stall", "ms": 1}"#),
                "host a.test, connection 1, step 2: unknown field `ms`",
            ),
            (
                with_step(r#"{"do": "expect", "what": "bytes"}"#),
                r#"host a.test, connection 1, step 2: "what": "bytes" needs "count"; correct the script"#,
            ),
            (
                with_step(r#"{"do": "expect", "what": "end", "count": 1}"#),
                r#"host a.test, connection 1, step 2: "count" goes with "what": "bytes" only"#,
            ),
            (
                with_step(r#"{"do": "send", "base64": "", "times": 2, "forever": true}"#),
                r#"host a.test, connection 1, step 2: "times" and "forever" exclude each other"#,
            ),
            (
                with_step(r#"{"do": "frame", "type": 0, "stream": "first"}"#),
                r#"host a.test, connection 1, step 2: "first" is no stream; write a number"#,
            ),
            (
                with_step(r#"{"do": "close"}, {"do": "wait", "ms": 1}"#),
                "host a.test, connection 1, step 2: the connection ends with this step; leave out",
            ),
        ];
        check(&cases);
    }

    #[test]
    fn a_mistake_in_a_host_names_the_host_and_what_is_allowed() {
        let cases = [
            (
                with_part(r#""connections": [{"repeat": true}]"#),
                r#"host a.test, connection 1: "repeat" needs a step that expects something"#,
            ),
            (
                with_part(r#""acept": "serve""#),
                "host a.test: unknown field `acept`, expected one of `name`, `number`, `dns`, ",
            ),
            (
                with_part(r#""dns": {"A": [{"rcode": "FAIL"}]}"#),
                "host a.test: unknown variant `FAIL`, expected one of `NOERROR`, `NXDOMAIN`, ",
            ),
            (
                with_part(r#""dns": {"A": [{"addresses": ["mine"]}]}"#),
                r#"host a.test: address "mine": allowed: own, silent, closed, stall, reset, or an IP"#,
            ),
            (
                with_part(r#""dns": {"A": [{"cname": 7}]}"#),
                "host a.test: 7 is no cname; write a name or a list of names",
            ),
            (
                with_part(r#""tls": {"versions": []}"#),
                r#"host a.test: "versions" is empty; allowed: "1.2", "1.3""#,
            ),
            (
                with_part(r#""tls": {"certificate": {"not_after_days": -40}}"#),
                r#"host a.test: "not_before_days" must be less than "not_after_days""#,
            ),
            (
                with_part(r#""tls": {"record_bytes": 26}"#),
                r#"host a.test: "record_bytes" is 27 to 16384"#,
            ),
            (
                with_part(r#""tls": {"tickets": 101}"#),
                r#"host a.test: "tickets" is at most 100"#,
            ),
            (
                with_part(r#""tls": {"certificate": {"hash": "md5"}}"#),
                r#"host a.test: "hash" needs "issuer": "intermediate""#,
            ),
            (
                with_part(r#""tls": {"certificate": {"staple": "good", "ocsp": "AA=="}}"#),
                r#"host a.test: "staple" excludes "ocsp" and "hash"; leave one out"#,
            ),
            (
                with_part(r#""tls": {"certificate": {"issuer": "self", "key": "rsa_1024"}}"#),
                r#"host a.test: "issuer": "self" excludes "staple" and "key": "rsa_1024""#,
            ),
            (
                with_part(r#""number": 60000"#),
                r#"host a.test: "number" is 60001 to 65535"#,
            ),
            (
                r#"{"hosts": [{"name": "a.test", "number": 60001}, {"name": "b.test", "number": 60001}]}"#
                    .to_owned(),
                r#"host b.test: two hosts have this "number"; give each its own"#,
            ),
            (
                r#"{"hosts": [{"name": "a.test"}, {"name": "A.test"}]}"#.to_owned(),
                "host A.test: two hosts have this name; give each its own",
            ),
            (
                r#"{"hosts": [{}]}"#.to_owned(),
                "host 1: missing field `name`",
            ),
            (
                r#"{"hosts": [{"name": ""}]}"#.to_owned(),
                "host : the name is no host name",
            ),
            (
                r#"{"host": []}"#.to_owned(),
                "unknown field `host`, expected `hosts` at line 1",
            ),
            (
                "{".to_owned(),
                "EOF while parsing an object at line 1 column 1",
            ),
        ];
        check(&cases);
    }

    #[test]
    fn hosts_that_share_an_address_are_known_only_by_their_names() {
        for part in [
            r#""accept": "reset""#,
            r#""tls": {"raw": true}"#,
            r#""number": 60001"#,
            r#""dns": {"A": [{"addresses": ["silent"]}]}"#,
        ] {
            let text = format!(r#"{{"hosts": [{{"name": "a.test", {part}}}]}}"#);
            let host = &parse(&text).unwrap()[0];
            let message = check_shared_address(host).unwrap_err().to_string();
            assert!(message.contains("works in a room only"), "{message}");
        }
        let host = &parse(r#"{"hosts": [{"name": "a.test"}]}"#).unwrap()[0];
        assert!(check_shared_address(host).is_ok());
    }
}
