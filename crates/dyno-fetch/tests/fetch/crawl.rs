//! Runs crawls within a test, and tests crawls as a whole.

use std::collections::HashMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use dyno_client::Reroute;
use dyno_fetch::{End, Options};

use super::server::{Server, send, whole};

/// Limit that only a hang exceeds.
pub const PATIENCE: Duration = Duration::from_secs(300);

/// Timeouts to try in turn, for crawls with answers that never arrive: a busy machine may not deliver a good answer
/// within a short one. A client that mistakes one fault for another does so at every timeout.
pub const TIMEOUTS: [Duration; 3] = [
    Duration::from_secs(1),
    Duration::from_secs(6),
    Duration::from_secs(60),
];

/// Crawls with one timeout after another, until the result is as expected.
pub fn at_a_timeout<T: PartialEq + std::fmt::Debug>(due: &T, crawl: impl Fn(Duration) -> T) {
    let mut found = None;
    for timeout in TIMEOUTS {
        found = Some(crawl(timeout));
        if found.as_ref() == Some(due) {
            return;
        }
    }
    assert_eq!(found.as_ref(), Some(due));
}

/// Rules that connect to other hosts and ports.
pub fn connecting(rules: impl IntoIterator<Item = String>) -> Reroute {
    Reroute {
        connect_to: rules
            .into_iter()
            .map(|rule| rule.parse().unwrap())
            .collect(),
        ..Reroute::default()
    }
}

/// Options that connect all hosts of a test to this server.
pub fn at(server: &Server) -> Options {
    let address = server.address;
    Options {
        reroute: connecting([format!(":80:{address}")]),
        timeout: PATIENCE,
        ..Options::default()
    }
}

/// Returns the rows in the order they were printed: URL, code, milliseconds, length.
pub fn crawl(options: Options, lines: &[impl AsRef<str>]) -> Vec<(String, String, f64, u64)> {
    reported(options, lines).0
}

/// Returns the rows and the report.
pub fn reported(
    options: Options,
    lines: &[impl AsRef<str>],
) -> (Vec<(String, String, f64, u64)>, serde_json::Value) {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let list: String = lines
        .iter()
        .map(|line| format!("{}\n", line.as_ref()))
        .collect();
    let feeder = thread::spawn(move || File::from(write).write_all(list.as_bytes()).unwrap());
    let (text, report) = printed(options, read);
    feeder.join().unwrap();
    assert!(text.is_empty() || text.ends_with('\n'));
    let row = |line: &str| {
        let mut columns = line.rsplitn(5, ',');
        let mut column = || columns.next().unwrap().to_owned();
        let (length, duration, _start, code, url) =
            (column(), column(), column(), column(), column());
        (
            url,
            code,
            duration.parse().unwrap(),
            length.parse().unwrap(),
        )
    };
    (text.lines().map(row).collect(), report)
}

fn printed(options: Options, list: OwnedFd) -> (String, serde_json::Value) {
    let (read, write) = rustix::pipe::pipe().unwrap();
    let reader = thread::spawn(move || {
        let mut text = String::new();
        File::from(read).read_to_string(&mut text).unwrap();
        text
    });
    let Ok(End::Finished(report)) = dyno_fetch::run(options, list, write) else {
        panic!("the list was not fetched to its end")
    };
    (
        reader.join().unwrap(),
        serde_json::to_value(report).unwrap(),
    )
}

/// Seconds since midnight of a time in a row.
fn time_of_day_s(moment: &str) -> f64 {
    let (_, time) = moment.trim_end_matches('Z').split_once('T').unwrap();
    time.split(':')
        .map(|part| part.parse::<f64>().unwrap())
        .fold(0.0, |sum, part| sum * 60.0 + part)
}

pub fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("dyno-fetch-{name}-{}", std::process::id()));
    drop(std::fs::remove_dir_all(&path));
    drop(std::fs::remove_file(&path));
    path
}

#[test]
fn every_line_has_its_row() {
    let server = Server::start(|stream, path, _| whole(stream, "", path.as_bytes()));
    let mut lines: Vec<String> = (0..300)
        .map(|number| format!("http://host{}.test/{number}", number % 7))
        .collect();
    lines.push(lines[0].clone());
    lines.push(" http://host1.test/blank ".to_owned());
    lines.push("nonsense".to_owned());
    let rows = crawl(
        Options {
            concurrency: 20,
            ..at(&server)
        },
        &lines,
    );
    let mut urls: Vec<&String> = rows.iter().map(|row| &row.0).collect();
    let mut expected: Vec<&String> = lines.iter().collect();
    urls.sort();
    expected.sort();
    assert_eq!(urls, expected);
    assert!(rows.iter().all(|row| row.1
        == if row.0 == "nonsense" {
            "InvalidUrl"
        } else {
            "200"
        }));
    assert!(
        server.connections.load(Ordering::SeqCst) < 200,
        "connections are kept"
    );
}

#[test]
fn a_list_of_one_host_takes_no_more_connections_than_urls_under_way() {
    let server = Server::start(|stream, path, _| whole(stream, "", path.as_bytes()));
    let lines: Vec<String> = (0..1_000)
        .map(|number| format!("http://host.test/{number}"))
        .collect();
    let rows = crawl(
        Options {
            concurrency: 40,
            ..at(&server)
        },
        &lines,
    );
    assert!(rows.iter().all(|row| row.1 == "200"));
    let connections = server.connections.load(Ordering::SeqCst);
    assert!(connections <= 40, "{connections} connections");
}

#[test]
fn a_row_is_printed_while_the_list_goes_on() {
    let server = Server::start(|stream, _, _| whole(stream, "", b"x"));
    let (list, mut feed) = rustix::pipe::pipe()
        .map(|(read, write)| (read, File::from(write)))
        .unwrap();
    let (rows, out) = rustix::pipe::pipe()
        .map(|(read, write)| (File::from(read), write))
        .unwrap();
    let options = at(&server);
    let crawl = thread::spawn(move || dyno_fetch::run(options, list, out).map(|_| ()));
    let mut rows = rows;
    for number in 0..3 {
        writeln!(feed, "http://a.test/{number}").unwrap();
        let mut row = Vec::new();
        while !row.ends_with(b"\n") {
            let mut byte = [0];
            rows.read_exact(&mut byte).unwrap();
            row.push(byte[0]);
        }
        assert!(row.starts_with(format!("http://a.test/{number},200,").as_bytes()));
    }
    drop(feed);
    crawl.join().unwrap().unwrap();
}

#[test]
fn a_host_has_at_most_its_limit_and_delays_no_other_host() {
    /// Requests of the busy host, its peak concurrency, and the number of answered requests to other hosts.
    #[derive(Default)]
    struct Seen {
        now: usize,
        most: usize,
        others: usize,
    }
    let seen = Arc::new((Mutex::new(Seen::default()), Condvar::new()));
    let watched = seen.clone();
    let server = Server::start(move |stream, path, _| {
        let (seen, changed) = &*watched;
        let mut now = seen.lock().unwrap();
        if path.starts_with("/slow") {
            now.now += 1;
            now.most = now.most.max(now.now);
            changed.notify_all();
            // Answers nothing before the busy host has its maximum of requests, and the other hosts have been answered.
            let waits = |seen: &mut Seen| seen.most < 2 || seen.others < 20;
            let waited = changed.wait_timeout_while(now, PATIENCE, waits).unwrap();
            assert!(!waited.1.timed_out(), "others waited for a busy host");
            now = waited.0;
            now.now -= 1;
            drop(now);
            return whole(stream, "", b"x");
        }
        drop(now);
        let keeps_on = whole(stream, "", b"x");
        seen.lock().unwrap().others += 1;
        changed.notify_all();
        keeps_on
    });
    let mut lines: Vec<String> = (0..20)
        .map(|number| format!("http://slow.test/slow{number}"))
        .collect();
    lines.extend((0..20).map(|number| format!("http://host{number}.test/")));
    let rows = crawl(
        Options {
            concurrency: 10,
            per_host: Some(2),
            ..at(&server)
        },
        &lines,
    );
    assert!(rows.iter().all(|row| row.1 == "200"));
    assert_eq!((rows.len(), seen.0.lock().unwrap().most), (40, 2));
}

#[test]
fn beginnings_at_a_host_are_apart() {
    let begun = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let server = Server::start(|stream, _, _| whole(stream, "", b"x"));
    let (list, write) = rustix::pipe::pipe().unwrap();
    let lines = (0..5).map(|number| format!("http://a.test/{number}\n"));
    let lines: String = lines.collect();
    File::from(write).write_all(lines.as_bytes()).unwrap();
    let options = Options {
        delay: Duration::from_millis(50),
        ..at(&server)
    };
    let (text, _) = printed(options, list);
    let mut starts: Vec<&str> = text
        .lines()
        .map(|line| line.split(',').nth(2).unwrap())
        .collect();
    starts.sort_unstable();
    assert_eq!(starts.len(), 5);
    // Waiting for the host is not part of a URL's time, which starts afterwards.
    for (start, due_ms) in starts.into_iter().zip((0..).step_by(50)) {
        let after_s = (time_of_day_s(start) - begun.as_secs_f64()).rem_euclid(86_400.0);
        // With times of these years, a double has a precision of a quarter of a microsecond.
        assert!(
            after_s * 1e3 + 0.1 >= f64::from(due_ms),
            "{begun:?} {start}"
        );
    }
}

#[test]
fn a_connection_that_was_closed_meanwhile_costs_no_answer() {
    // The server announces keep-alive, and closes when the next request arrives.
    let server = Server::start(|stream, _, number| number == 0 && whole(stream, "", b"content"));
    let lines: Vec<String> = (0..10)
        .map(|number| format!("http://a.test/{number}"))
        .collect();
    // Only the time distinguishes this from a crash: on a busy machine the server may close too late in one crawl, but
    // hardly in twenty.
    let crawled = (0..20).any(|_| {
        let options = Options {
            concurrency: 1,
            ..at(&server)
        };
        let (rows, report) = reported(options, &lines);
        let whole = rows.iter().filter(|row| row.3 == 7).count();
        let resent = report["resent"].as_u64().unwrap();
        assert!(whole == 10 || rows.iter().any(|row| row.1 == "ClosedBeforeAnswer"));
        whole == 10 && resent == 9
    });
    assert!(crawled);
}

#[test]
fn without_keepalive_each_request_has_its_connection() {
    let server = Server::start(|stream, _, _| whole(stream, "", b"x"));
    let lines: Vec<String> = (0..10)
        .map(|number| format!("http://a.test/{number}"))
        .collect();
    let rows = crawl(
        Options {
            keepalive: false,
            ..at(&server)
        },
        &lines,
    );
    assert!(rows.iter().all(|row| row.1 == "200"));
    assert_eq!(server.connections.load(Ordering::SeqCst), 10);
}

#[test]
fn retries_are_made_only_where_they_may_help_and_were_asked_for() {
    let tries = Arc::new(AtomicUsize::new(0));
    let counted = tries.clone();
    let server = Server::start(move |stream, path, _| match path {
        "/third" if counted.fetch_add(1, Ordering::SeqCst) < 2 => false,
        "/garbage" => {
            send(stream, b"nonsense\r\n\r\n");
            false
        }
        _ => whole(stream, "", b"x"),
    });
    let once = crawl(at(&server), &["http://a.test/third"]);
    assert_eq!(once[0].1, "ClosedBeforeAnswer");
    let rows = crawl(
        Options {
            retries: 3,
            ..at(&server)
        },
        &["http://a.test/third", "http://b.test/garbage"],
    );
    let codes: HashMap<_, _> = rows
        .iter()
        .map(|row| (row.0.as_str(), row.1.as_str()))
        .collect();
    assert_eq!(codes["http://a.test/third"], "200");
    assert_eq!(codes["http://b.test/garbage"], "MalformedHead");
    assert_eq!(server.requests.load(Ordering::SeqCst), 4);
}

#[test]
fn a_list_is_continued_where_it_was_interrupted() {
    let server = Server::start(|stream, _, _| whole(stream, "", b"x"));
    let journal = scratch("continued");
    let lines: Vec<String> = (0..50)
        .map(|number| format!("http://a.test/{}", number / 2))
        .collect();
    let with = || Options {
        resume: Some(journal.clone()),
        ..at(&server)
    };
    assert_eq!(crawl(with(), &lines[..20]).len(), 20);
    // An incomplete line is not finished.
    let text = std::fs::read_to_string(&journal).unwrap();
    std::fs::write(&journal, &text[..text.len() - 2]).unwrap();
    assert_eq!(crawl(with(), &lines).len(), 31);
    assert_eq!(crawl(with(), &lines).len(), 0);
    std::fs::remove_file(journal).unwrap();
}

#[test]
fn contents_are_kept_decoded() {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(b"the content").unwrap();
    let coded = encoder.finish().unwrap();
    let server = Server::start(move |stream, path, _| match path {
        "/short" => {
            send(
                stream,
                b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
            );
            false
        }
        _ => whole(
            stream,
            "Content-Encoding: gzip\r\nContent-Type: text/plain\r\n",
            &coded,
        ),
    });
    let folder = scratch("kept");
    let options = Options {
        save: Some(folder.clone()),
        ..at(&server)
    };
    let rows = crawl(options, &["http://a.test/whole", "http://a.test/short"]);
    assert_eq!(rows.len(), 2);
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let entries: Vec<serde_json::Value> = index
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(entries.len(), 1);
    assert_eq!(
        (&entries[0]["url"], &entries[0]["content_type"]),
        (&"http://a.test/whole".into(), &"text/plain".into())
    );
    let file = entries[0]["file"].as_str().unwrap();
    assert_eq!(std::fs::read(folder.join(file)).unwrap(), b"the content");
    std::fs::remove_dir_all(folder).unwrap();
}
