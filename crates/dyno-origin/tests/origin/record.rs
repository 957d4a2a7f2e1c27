//! Counts of a known sequence of requests.

use std::io::{BufReader, Write};
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dyno_http::Method;
use dyno_origin::{AccessLog, Authority, Error, Options, Origin};
use dyno_web::{Model, Web};
use rustix::process::setpriority_process;
use rustix::thread::{CpuSet, sched_setaffinity};

use crate::stage::{Stage, cache, connect, cpu, reply, request};

/// Pins the calling thread to the CPU of the origins.
fn pin() {
    let mut own = CpuSet::new();
    own.set(cpu());
    sched_setaffinity(None, &own).unwrap();
}

#[test]
fn counters_are_exact() {
    let stage = Stage::new("");
    let mut stream = stage.connect();
    let targets = ["/plain", "/status/404", "/plain", "/gzip"];
    let (mut sent, mut contents) = (0, 0);
    for target in targets {
        let bytes = request(
            "GET",
            "A.test",
            target,
            "User-Agent: one\r\nAccept-Encoding: gzip\r\n",
        );
        stream.write_all(&bytes).unwrap();
        sent += bytes.len() as u64;
        contents += reply(&mut stream, Method::Get).content.len() as u64;
    }
    let last = b"GET /plain HTTP/1.0\r\nHost: b.test\r\nUser-Agent: two\r\n\r\n";
    contents += 13;
    sent += last.len() as u64;
    assert!(stage.send(last).ends_with(b"Hello, World!"));
    let snapshot = stage.settled(5);
    assert_eq!(
        (snapshot.requests, snapshot.answers, snapshot.in_flight),
        (5, 5, 0)
    );
    let authority = format!("a.test:{}", stage.http().port());
    let mut other = stage.connect();
    other
        .write_all(&request("GET", &authority, "/a,b", ""))
        .unwrap();
    contents += reply(&mut other, Method::Get).content.len() as u64;
    sent += request("GET", &authority, "/a,b", "").len() as u64;
    let record = stage.stop();
    let report = record.report;
    assert_eq!(
        (
            report.connections,
            report.requests,
            report.reused,
            report.repeated
        ),
        (3, 6, 3, 1)
    );
    assert_eq!(report.statuses["404"], 1);
    assert_eq!(report.statuses.values().sum::<u64>(), 6);
    assert_eq!((report.codings["gzip"], report.codings["identity"]), (1, 5));
    assert_eq!(report.http_versions, [("1.0", 1), ("1.1", 5)].into());
    assert_eq!(
        report.user_agents,
        [
            ("one".to_owned(), 4),
            ("two".to_owned(), 1),
            (String::new(), 1)
        ]
        .into()
    );
    assert_eq!((report.received_bytes, report.peak_concurrency), (sent, 1));
    assert!(report.sent_bytes > contents);
    assert_eq!(
        record
            .throughput
            .iter()
            .map(|(_, count)| count)
            .sum::<u64>(),
        6
    );
    check_arrivals(&record.arrivals, &authority);
}

/// Checks the rows of the requests of [`counters_are_exact`], in the order of arrival.
fn check_arrivals(arrivals: &AccessLog, authority: &str) {
    let mut csv = Vec::new();
    arrivals.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let rows: Vec<Vec<&str>> = csv
        .lines()
        .skip(1)
        .map(|line| line.splitn(4, ',').collect())
        .collect();
    let urls: Vec<&str> = rows.iter().map(|row| row[3]).collect();
    let quoted = format!("\"http://{authority}/a,b\",200");
    let expected = [
        "http://a.test/plain,200",
        "http://a.test/status/404,404",
        "http://a.test/plain,200",
        "http://a.test/gzip,200",
        "http://b.test/plain,200",
        &quoted,
    ];
    assert_eq!(urls, expected);
    for row in &rows {
        assert!(
            row[0].parse::<u64>().unwrap() <= row[1].parse::<u64>().unwrap(),
            "{row:?}"
        );
    }
    let connections: Vec<&str> = rows.iter().map(|row| row[2]).collect();
    assert_eq!(connections, ["1", "1", "1", "1", "2", "3"]);
}

#[test]
fn requests_in_flight_are_counted_over_all_threads() {
    let stage = Stage::at(
        "[[host]]\nname = 'stall.test'\nfault = 'stall_headers'\n",
        Ipv4Addr::LOCALHOST.into(),
        2,
    );
    let stalled: Vec<_> = (0..20).map(|_| stage.ask("stall.test", "/", "")).collect();
    while stage.running().snapshot().in_flight < 20 {
        std::thread::yield_now();
    }
    drop(stalled);
    while stage.running().snapshot().in_flight > 0 {
        std::thread::yield_now();
    }
    stage.get("a.test", "/plain", "");
    let record = stage.stop();
    assert_eq!(
        (
            record.report.peak_concurrency,
            record.report.requests,
            record.report.repeated
        ),
        (20, 21, 19)
    );
    assert_eq!(record.arrivals.len(), 21);
}

#[test]
fn a_request_that_is_given_up_is_in_flight_no_more() {
    let stage = Stage::new("");
    drop(stage.ask("a.test", "/delay/3600000", ""));
    while stage.running().snapshot().requests < 1 || stage.running().snapshot().in_flight > 0 {
        std::thread::yield_now();
    }
    let report = stage.stop().report;
    assert_eq!(
        (
            report.requests,
            report.statuses.len(),
            report.lateness_ns.count
        ),
        (1, 0, 0)
    );
}

#[test]
fn an_origin_says_how_long_it_waited_where_the_kernel_does() {
    let stage = Stage::new("");
    stage.running().begin();
    assert_eq!(stage.get("a.test", "/plain", "").status, 200);
    let kernel_tells = std::path::Path::new("/proc/self/schedstat").exists();
    assert_eq!(stage.stop().report.waiting_ns.is_some(), kernel_tells);
}

#[test]
#[ignore = "measurement: how a kernel shares a CPU out"]
fn an_origin_whose_cpu_others_use_says_how_long_it_waited() {
    let stage = Stage::new("");
    stage.running().begin();
    let over = AtomicBool::new(false);
    let hog = || {
        pin();
        while !over.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(hog);
        }
        for _ in 0..100 {
            assert_eq!(stage.get("a.test", "/plain", "").status, 200);
        }
        over.store(true, Ordering::Relaxed);
    });
    match stage.stop().report.waiting_ns {
        Some(waited) => assert!(waited > 1_000_000, "{waited} ns"),
        None => assert!(!std::path::Path::new("/proc/self/schedstat").exists()),
    }
}

#[test]
fn the_report_has_the_names_of_the_record() {
    let report = serde_json::to_value(Stage::new("").stop().report).unwrap();
    let names: Vec<&str> = report
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut expected = vec![
        "connections",
        "handshakes_full",
        "handshakes_resumed",
        "handshakes_failed",
        "tls_versions",
        "http_versions",
        "requests",
        "reused",
        "repeated",
        "peak_concurrency",
        "dns_queries",
        "dns_repeated",
        "statuses",
        "codings",
        "faults",
        "user_agents",
        "sent_bytes",
        "received_bytes",
        "lateness_ns",
        "waiting_ns",
    ];
    expected.sort_unstable();
    let mut names = names;
    names.sort_unstable();
    assert_eq!(names, expected);
    assert_eq!(
        report["lateness_ns"],
        serde_json::json!({"count": 0, "mean": 0, "p50": 0, "p99": 0, "max": 0})
    );
}

#[test]
fn what_keeps_an_origin_from_starting_is_said() {
    let stage = Stage::new("");
    let start = |options: fn(Options, std::net::SocketAddr) -> Options| {
        let web = Arc::new(Web::new(
            Model::from_toml("name = 'x'\nseed = 1").unwrap(),
            None,
        ));
        let authority = Arc::new(Authority::new().unwrap());
        let given = Options {
            cache: cache(),
            ..Options::new(web, authority)
        };
        Origin::start(options(given, stage.http())).unwrap_err()
    };
    let taken = start(|options, address| Options {
        https: vec![address],
        ..options
    });
    assert!(
        matches!(taken, Error::AddressInUse { protocol: "TCP", address } if address == stage.http())
    );
    let no_cpu = start(|options, _| Options {
        cpus: vec![1_000_000],
        ..options
    });
    assert!(
        matches!(no_cpu, Error::Pin { cpu: 1_000_000, .. }),
        "{no_cpu}"
    );
    drop(connect(stage.http()));
}

/// Tolerance: the origin reads the time of day ten times a second and extrapolates it in between, while the time of day
/// may be slewed.
const SLACK: Duration = Duration::from_millis(1);

/// On one CPU, a client reads its answer before the origin's thread returns from the call that sent it.
#[test]
fn no_answer_ends_after_its_client_has_read_it() {
    let stage = Stage::new("");
    pin();
    // Without the right to raise its priority, this process runs first only sometimes.
    let _ = setpriority_process(None, -20);
    let mut received_ns = Vec::new();
    let mut receive = || {
        let now = SystemTime::now();
        received_ns.push(now.duration_since(UNIX_EPOCH).unwrap().as_nanos());
        while now.elapsed().is_ok_and(|elapsed| elapsed < 2 * SLACK) {
            std::hint::spin_loop();
        }
    };
    let mut stream = BufReader::new(stage.connect());
    let secure = stage.secure("a.test", &stage.client(rustls::ALL_VERSIONS));
    let mut secure = BufReader::new(secure);
    for target in ["/plain", "/bytes/100000", "/stream/3", "/json"] {
        for _ in 0..25 {
            let asked = request("GET", "a.test", target, "");
            stream.get_mut().write_all(&asked).unwrap();
            reply(&mut stream, Method::Get);
            receive();
            secure.get_mut().write_all(&asked).unwrap();
            reply(&mut secure, Method::Get);
            receive();
        }
    }
    drop((stream, secure));
    stage.settled(received_ns.len() as u64);
    let mut csv = Vec::new();
    stage.stop().arrivals.write_csv(&mut csv).unwrap();
    let csv = String::from_utf8(csv).unwrap();
    let done_ns = csv.lines().skip(1).map(|line| line.split(',').nth(1));
    let done_ns: Vec<u128> = done_ns.map(|done| done.unwrap().parse().unwrap()).collect();
    assert_eq!(done_ns.len(), received_ns.len());
    for (done_ns, received_ns) in done_ns.iter().zip(&received_ns) {
        assert!(
            *done_ns <= received_ns + SLACK.as_nanos(),
            "{done_ns} {received_ns}"
        );
    }
}
