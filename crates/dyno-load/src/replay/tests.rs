use dyno_client::{Protocol, Proxies};
use proptest::prelude::*;

use super::*;
use crate::prepared::{Message, Prepared};

fn shape() -> Shape {
    Shape {
        method: None,
        headers: vec![("X-Run".to_owned(), "1".to_owned())],
        body: None,
        path_as_is: true,
        keepalive: true,
        protocol: Protocol::Http1,
        checks: Arc::default(),
        proxies: Proxies::default(),
    }
}

fn options(hosts: &[&str]) -> Options<'static> {
    let mut map = Hosts::default();
    for text in hosts {
        map.add(text).unwrap();
    }
    Options {
        base: Some(Origin::parse("http://127.0.0.1:80").unwrap()),
        hosts: map,
        is_rerouted: &|_, _| false,
        speed: 100_000,
        is_loop: false,
    }
}

fn replay(text: &str, options: &Options<'_>) -> Result<Replay, String> {
    read(text.as_bytes(), "file", options, &shape())
}

/// Milliseconds, and the request as text.
fn sent(replay: &Replay) -> Vec<(u64, String)> {
    let text = |prepared: &Prepared| match &prepared.message {
        Message::Http1(request) => String::from_utf8_lossy(&request.to_bytes()).into_owned(),
        Message::Http2(_) => unreachable!("the shape is that of HTTP/1.1"),
    };
    let times = (0..).zip(replay.times.times_ns());
    times
        .map(|(index, ns)| {
            let place = replay.requests.place(index);
            (ns / 1_000_000, text(replay.requests.at(place)))
        })
        .collect()
}

/// Milliseconds, and method and path.
fn schedule(replay: &Replay) -> Vec<(u64, String)> {
    let first = |(ms, text): (u64, String)| {
        let line = text.lines().next().unwrap().to_owned();
        (ms, line.trim_end_matches(" HTTP/1.1").to_owned())
    };
    sent(replay).into_iter().map(first).collect()
}

fn pairs(expected: &[(u64, &str)]) -> Vec<(u64, String)> {
    expected
        .iter()
        .map(|(ms, text)| (*ms, (*text).to_owned()))
        .collect()
}

const LOG: &str = r#"::1 - - [21/Oct/2024:12:00:01 +0000] "GET /b?x=1 HTTP/1.1" 200 5 "http://a.test/\"q\"" "curl/8 \x22x\x22"
10.0.0.1 - a[b] user [21/Oct/2024:12:00:00 +0000] "GET /a HTTP/1.0" 404 0
vhost:80 10.0.0.1 - - [21/Oct/2024:14:00:01 +0200] "HEAD /{{user}}/\xc3\xbc#f HTTP/1.1" 200 - "-" "-"
10.0.0.1 - - [21/Oct/2024:12:00:03 +0000] "\x16\x03\x01" 400 150 "-" "-"
10.0.0.1 - - [21/Oct/2024:12:00:03 +0000] "-" 408 0 "-" "-"
10.0.0.1 - - [21/Oct/2024:12:00:03 +0000] "POST /a HTTP/1.1" 200 0 "-" "-"
10.0.0.1 - - [21/Oct/2024:12:00:03 +0000] "OPTIONS * HTTP/1.0" 200 0 "-" "-"
10.0.0.1 - - [21/Oct/2024:12:00:03 +0000] "GET http://a.test/../c HTTP/1.1" 200 0 "-" "-"
10.0.0.1 - - [21/Oct/2024:12:00:03 +0000] "GET /cut
"#;

#[test]
fn an_access_log_is_replayed_in_the_order_of_its_times() {
    let replay = replay(LOG, &options(&[])).unwrap();
    assert_eq!(replay.recording.format, Format::AccessLog);
    let expected = [
        (0, "GET /a"),
        (1000, "GET /b?x=1"),
        (1500, "HEAD /%7B%7Buser%7D%7D/%C3%BC%23f"),
        (3000, "GET /../c"),
    ];
    assert_eq!(schedule(&replay), pairs(&expected));
    let texts = sent(&replay);
    assert!(
        texts[1]
            .1
            .contains("\r\nReferer: http://a.test/\"q\"\r\nUser-Agent: curl/8 \"x\"\r\n")
    );
    assert!(
        texts[1].1.contains("\r\nHost: 127.0.0.1\r\n") && texts[1].1.contains("\r\nX-Run: 1\r\n")
    );
    assert!(texts[3].1.contains("\r\nHost: a.test\r\n"));
    let recording = &replay.recording;
    assert_eq!(
        recording.counts(),
        "5 of 9 lines are skipped: 2 not requests, 1 OPTIONS *, 1 POST (no body is recorded), 1 malformed (the first: line 9: \"10.0.0.1 - - [21/Oct/2024:12:00:03 +0000] \\\"GET /cut\" is no line of an access log: host ident user [time] \"request\" status bytes)"
    );
    assert_eq!(
        (
            recording.requests,
            recording.different,
            recording.peak_per_s
        ),
        (4, 4, 2)
    );
    assert!((recording.mean_per_s - 1.0).abs() < 1e-9);
}

#[test]
fn json_logs_are_replayed_from_when_each_request_began() {
    let log = r#"{"time_local":"21/Oct/2024:12:00:02 +0000","msec":1729512002.500,"request_time":"0.500","host":"a.test","request":"GET /b HTTP/2.0","http_user_agent":"x","status":200}
{"msec":"1729512001.000","request_time":0.0,"http_host":"b.test:81","request_method":"GET","uri":"/a","args":"q=1"}
{"ts":1729512003.25,"duration":0.25,"request":{"method":"GET","host":"c.test","uri":"/c","headers":{"Accept":["a","b"],"Cookie":["REDACTED"],"Connection":["close"]}}}
{"@timestamp":"2024-10-21T12:00:04Z","method":"POST","path":"/d","request_body":"text"}
{"time":1729512005123,"request":""}
"#;
    let replay = replay(log, &options(&["b.test=http://127.0.0.2"])).unwrap();
    let expected = [
        (0, "GET /a?q=1"),
        (1000, "GET /b"),
        (2000, "GET /c"),
        (3000, "POST /d"),
    ];
    assert_eq!(schedule(&replay), pairs(&expected));
    let texts = sent(&replay);
    for (place, part) in [
        (0, "Host: 127.0.0.2\r\n"),
        (1, "Host: a.test\r\n"),
        (1, "User-Agent: x\r\n"),
        (2, "Accept: a\r\nAccept: b\r\n\r\n"),
        (3, "Content-Length: 4\r\n\r\ntext"),
    ] {
        assert!(texts[place].1.contains(part), "{part}: {}", texts[place].1);
    }
    assert_eq!(replay.recording.skipped["not requests"], 1);
    let hosts: Vec<_> = replay
        .recording
        .hosts
        .iter()
        .map(|host| (host.host.as_deref(), &*host.to))
        .collect();
    assert_eq!(
        hosts,
        [
            (None, "http://127.0.0.1"),
            (Some("a.test"), "http://127.0.0.1"),
            (Some("b.test:81"), "http://127.0.0.2"),
            (Some("c.test"), "http://127.0.0.1"),
        ]
    );
}

const HAR: &str = r#"{
  "log": {
    "version": "1.2", "creator": {"name": "x"},
    "entries": [
      {"startedDateTime": "2024-10-21T12:00:00.500Z", "time": 1, "request": {"method": "POST", "url": "https://a.test/form?x#f",
        "headers": [{"name": ":authority", "value": "a.test"}, {"name": "host", "value": "a.test"}, {"name": "X-A", "value": "{{b}}"}, {"name": "x-run", "value": "2"}, {"name": "content-length", "value": "9"}],
        "postData": {"mimeType": "application/x-www-form-urlencoded", "params": [{"name": "a", "value": "b c"}]}},
       "response": {"content": {"text": "long"}}},
      {"startedDateTime": "2024-10-21T14:00:00.000+02:00", "request": {"method": "GET", "url": "https://a.test/"}, "response": {}},
      {"startedDateTime": "2024-10-21T12:00:00.000Z", "_fromCache": "disk", "request": {"method": "GET", "url": "https://a.test/cached"}},
      {"startedDateTime": "2024-10-21T12:00:00.000Z", "request": {"method": "GET", "url": "wss://a.test/"}},
      {"startedDateTime": "2024-10-21T12:00:00.000Z", "request": {"method": "GET", "url": "https://cdn.test/x.js"}}
    ]
  }
}
"#;

#[test]
fn a_har_file_is_replayed_with_its_bodies() {
    let replay = replay(HAR, &options(&["a.test=http://127.0.0.1:81", "*=skip"])).unwrap();
    assert_eq!(replay.recording.format, Format::Har);
    assert_eq!(
        schedule(&replay),
        pairs(&[(0, "GET /"), (500, "POST /form?x")])
    );
    let text = &sent(&replay)[1].1;
    assert!(
        text.contains("Host: 127.0.0.1:81\r\n") && text.contains("X-A: {{b}}\r\n"),
        "{text}"
    );
    assert!(
        text.contains("X-Run: 1\r\n") && !text.contains("x-run"),
        "{text}"
    );
    assert!(text.ends_with("Content-Length: 5\r\n\r\na=b+c"), "{text}");
    let skipped: u64 = replay.recording.skipped.values().sum();
    assert_eq!((skipped, replay.recording.lines), (3, 5));
    // On one line, as browsers write it.
    let one_line = HAR.replace('\n', " ");
    let again = super::read(
        one_line.as_bytes(),
        "",
        &options(&["*=http://127.0.0.1"]),
        &shape(),
    )
    .unwrap();
    assert_eq!(again.recording.requests, 3);
}

#[test]
fn our_own_format_is_replayed_with_its_times() {
    let text = r#"# comment
{"at": 2.5, "url": "http://127.0.0.1/b", "method": "PUT", "body": "{{seq}}", "label": "put"}
{"at": 0.25, "url": "http://127.0.0.1/users/17/550e8400-e29b-41d4-a716-446655440000"}
{"url": "http://127.0.0.1/b", "at": 3}
"#;
    let replay = replay(text, &options(&[])).unwrap();
    let expected = [
        (250, "GET /users/17/550e8400-e29b-41d4-a716-446655440000"),
        (2500, "PUT /b"),
        (3000, "GET /b"),
    ];
    assert_eq!(schedule(&replay), pairs(&expected));
    assert_eq!(
        replay.requests.labels().names(),
        ["put", "/users/{}/{}", "/b"]
    );
    assert!(sent(&replay)[1].1.ends_with("{{seq}}"));
}

#[test]
fn speed_and_loops_change_the_times() {
    let fast = Options {
        speed: 200_000,
        is_loop: true,
        ..options(&[])
    };
    let replay = replay(LOG, &fast).unwrap();
    assert_eq!(
        replay.times.times_ns(),
        [0, 500_000_000, 750_000_000, 1_500_000_000]
    );
    let rate = crate::arrival_process::Rate::constant(replay.mean);
    let arrivals = crate::arrival_process::Arrivals::Recorded(replay.times.clone());
    let mut process = crate::arrival_process::ArrivalProcess::new(rate, arrivals);
    // A pass of whole seconds lasts to the end of the last second.
    assert_eq!(process.nth(4), Some(2_000_000_000));
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let none = Options {
        base: None,
        ..options(&[])
    };
    let looped = Options {
        is_loop: true,
        ..options(&[])
    };
    let plain = options(&[]);
    let post = r#"a - - [21/Oct/2024:12:00:03 +0000] "POST /a HTTP/1.1" 200 0"#;
    let get = r#"a - - [21/Oct/2024:12:00:03 +0000] "GET /a HTTP/1.1" 200 0"#;
    let at = r#"{"at": 1, "url": "http://127.0.0.1/"}"#;
    for (text, options, expected) in [
        ("", &plain, "the file is empty"),
        (" \n\n", &plain, "the file is empty"),
        ("# a\n", &plain, "the file is empty"),
        (
            get,
            &none,
            "the access log has paths without hosts; name the server",
        ),
        (
            post,
            &plain,
            "it has no request to send: 1 of 1 line is skipped: 1 POST (no body is recorded)",
        ),
        (
            "a,b\nc,d",
            &plain,
            "2 of 2 lines are malformed (read as access log), the first: line 1: \"a,b\" is no line",
        ),
        (
            "{\"a\": 1}",
            &plain,
            "1 of 1 lines are malformed (read as JSON log), the first: line 1: no time: it needs one of the keys msec",
        ),
        (
            "{\"msec\": \"1.5\"}",
            &plain,
            "1 of 1 lines are malformed (read as JSON log), the first: line 1: no request: it needs the key request",
        ),
        (
            &format!("{at}\n{at}").replace("\"at\": 1, ", ""),
            &plain,
            "2 of 2 lines are malformed (read as JSONL), the first: line 1: at is missing",
        ),
        (
            &at.replace('1', "\"x\""),
            &plain,
            "1 of 1 lines are malformed",
        ),
        (
            &format!("{at}\n{}", at.replacen('1', "\"2024-10-21T12:00:00Z\"", 1)),
            &plain,
            "line 2: at: the lines before count",
        ),
        (
            &at.replacen("1,", "1, \"weight\": 2,", 1),
            &plain,
            "1 of 1 lines are malformed (read as JSONL), the first: line 1: weight: a replay",
        ),
        (
            HAR,
            &plain,
            "nothing is sent to recorded hosts unless you say where: a.test (2), cdn.test (1); map each: --hosts a.test=http://127.0.0.1:8080",
        ),
        (
            "{\"log\": {\"entries\": [",
            &plain,
            "no complete HAR file: line 1: column 21: EOF",
        ),
        (
            "{\"log\": {\"pages\": []}}",
            &plain,
            "no complete HAR file: line 1: column 21: missing field `entries`",
        ),
        (at, &looped, "--loop: all requests have the same time"),
    ] {
        // A single time since the start has a duration.
        let text = if expected.starts_with("--loop") {
            text.replace("1,", "0,")
        } else {
            text.to_owned()
        };
        let error = replay(&text, options).unwrap_err();
        assert!(error.starts_with(expected), "{text}\n{error}\n{expected}");
        assert!(!error.contains('\n'));
    }
}

/// Writes a line of an access log as nginx does.
fn written(second: i64, target: &[u8], agent: &[u8]) -> String {
    use std::fmt::Write as _;
    let escaped = |bytes: &[u8]| {
        let mut text = String::new();
        for byte in bytes {
            if (b' '..=b'~').contains(byte) && !matches!(byte, b'"' | b'\\') {
                text.push((*byte).into());
            } else {
                let _ = write!(text, "\\x{byte:02X}");
            }
        }
        text
    };
    let time = ::time::OffsetDateTime::from_unix_timestamp(second).unwrap();
    let (day, month, year) = (time.day(), time.month().to_string(), time.year());
    let (hour, minute, second) = time.to_hms();
    format!(
        "1.2.3.4 - - [{day:02}/{}/{year}:{hour:02}:{minute:02}:{second:02} +0000] \"GET {} HTTP/1.1\" 200 1 \"-\" \"{}\"",
        &month[..3],
        escaped(target),
        escaped(agent),
    )
}

proptest! {
    #[test]
    fn a_written_line_of_an_access_log_is_read(
        second in 0_i64..4_000_000_000,
        path in "/[!-~]{0,20}",
        agent in "[ -~]{1,20}",
    ) {
        prop_assume!(agent != "-");
        let line = written(second, path.as_bytes(), agent.as_bytes());
        let parsed = access_log::line(line.as_bytes());
        let Ok(Line::Request(recorded)) = parsed else {
            return Err(TestCaseError::fail(format!("{line}: {parsed:?}")));
        };
        prop_assert_eq!(recorded.at.ns, second * 1_000_000_000);
        let path = path.replace('#', "%23");
        prop_assert_eq!(recorded.target, Target::Path { path, host: None });
        prop_assert_eq!(&recorded.described.headers[0].1, &agent);
    }

    #[test]
    fn written_requests_of_har_are_read(
        method in "[A-Z]{1,8}", path in "/[a-z0-9?&=%]{0,20}", name in "x-[a-z]{1,9}", value in "[!-~]{0,9}", body: Option<String>,
    ) {
        let url = format!("https://a.test{path}");
        let har = serde_json::json!({"log": {"entries": [{
            "startedDateTime": "2024-10-21T12:00:00.000Z",
            "request": {
                "method": method, "url": url, "headers": [{"name": name, "value": value}],
                "postData": body.as_ref().map(|text| serde_json::json!({"mimeType": "text/plain", "text": text})),
            },
        }]}});
        let mut lines = Vec::new();
        har::read(har.to_string().as_bytes(), |line| { lines.push(line); Ok(()) }).unwrap();
        let Ok(Line::Request(recorded)) = &lines[0] else {
            return Err(TestCaseError::fail(format!("{lines:?}")));
        };
        prop_assert_eq!(&recorded.target, &Target::Url(url));
        let described = Described { method: Some(method), headers: vec![(name, value)], body: body.map(Into::into), ..Described::default() };
        prop_assert_eq!(&recorded.described, &described);
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes: Vec<u8>, begin in 0_usize..4) {
        let begin = ["", "{\"log\":{", "{\"at\":1,\"url\":\"", "a - - [21/Oct/2024:12:00:03 +0000] \""][begin];
        let text = [begin.as_bytes(), &bytes].concat();
        if let Err(error) = read(&text[..], "", &options(&["*=http://127.0.0.1"]), &shape()) {
            prop_assert!(!error.contains('\n'), "{}", error);
        }
    }

    #[test]
    fn a_timeline_keeps_order_and_spreads_seconds(times in proptest::collection::vec(0_i64..50, 1..60), has_seconds: bool) {
        let moments: Vec<(i64, u32)> = times.iter().map(|second| second * SECOND_NS).zip(0..).collect();
        let found = timeline(moments, has_seconds, None);
        prop_assert!(found.times_ns.is_sorted());
        let first = times.iter().min().unwrap();
        let mut before: Option<(i64, u32)> = None;
        for (time_ns, place) in found.times_ns.iter().zip(&found.order) {
            let second = times[*place as usize];
            prop_assert_eq!(i64::try_from(time_ns / 1_000_000_000).unwrap(), second - first);
            prop_assert!(before.is_none_or(|before| before < (second, *place)));
            before = Some((second, *place));
        }
        if has_seconds {
            prop_assert!(found.period_ns > *found.times_ns.last().unwrap());
            let is_spread = found.times_ns.windows(2).all(|pair| pair[0] < pair[1]);
            prop_assert!(is_spread);
        }
    }
}
