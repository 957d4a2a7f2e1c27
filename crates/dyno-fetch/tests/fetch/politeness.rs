//! Limits per address and domain, pauses of hosts, dead hosts, and the time limits of the parts of a URL.

use std::net::Ipv4Addr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use dyno_client::{Reroute, Resolve};
use dyno_fetch::{Limit, Options};

use super::crawl::{PATIENCE, at, at_a_timeout, connecting, crawl, reported};
use super::server::{KeepsOn, Server, send, whole};

/// The most requests that a server had to answer at a time.
#[derive(Default)]
struct InFlight {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl InFlight {
    fn most(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

/// A server that takes a moment for each answer, so that requests without a limit overlap.
fn slow(in_flight: &Arc<InFlight>) -> Server {
    let counted = in_flight.clone();
    Server::start(move |stream, _, _| {
        let now = counted.now.fetch_add(1, Ordering::SeqCst) + 1;
        counted.most.fetch_max(now, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(5));
        // Before the answer, because the client's next request may follow at once.
        counted.now.fetch_sub(1, Ordering::SeqCst);
        whole(stream, "", b"x")
    })
}

/// Options with an address of this machine for each name.
fn named(server: &Server, names: impl IntoIterator<Item = String>) -> Options {
    let port = server.address.port();
    let rule = |name: String| -> Resolve { format!("{name}:{port}:127.0.0.1").parse().unwrap() };
    Options {
        reroute: Reroute {
            resolve: names.into_iter().map(rule).collect(),
            ..Reroute::default()
        },
        concurrency: 20,
        timeout: PATIENCE,
        ..Options::default()
    }
}

const fn at_once(most: usize) -> Limit {
    Limit {
        at_once: Some(most),
        interval: Duration::ZERO,
    }
}

#[test]
fn many_names_of_one_address_have_the_limit_of_the_address() {
    let in_flight = Arc::default();
    let server = slow(&in_flight);
    let names = || (0..60).map(|number| format!("host{number}.test"));
    let port = server.address.port();
    let lines: Vec<String> = names()
        .map(|name| format!("http://{name}:{port}/"))
        .collect();
    let options = Options {
        per_address: at_once(2),
        ..named(&server, names())
    };
    let rows = crawl(options, &lines);
    assert!(rows.iter().all(|row| row.1 == "200"), "{rows:?}");
    assert_eq!((rows.len(), in_flight.most()), (60, 2));
}

#[test]
fn a_redirect_waits_for_its_address_too() {
    let in_flight: Arc<InFlight> = Arc::default();
    let target = slow(&in_flight);
    let to = target.address;
    let sends = Server::start(move |stream, _, _| -> KeepsOn {
        let head =
            format!("HTTP/1.1 302 Found\r\nLocation: http://{to}/\r\nContent-Length: 0\r\n\r\n");
        send(stream, head.as_bytes());
        true
    });
    let lines: Vec<String> = (0..20)
        .map(|number| format!("http://host{number}.test/"))
        .collect();
    let options = Options {
        concurrency: 20,
        per_address: at_once(1),
        allow_private: true,
        ..at(&sends)
    };
    let rows = crawl(options, &lines);
    assert!(rows.iter().all(|row| row.1 == "200"), "{rows:?}");
    assert_eq!((rows.len(), in_flight.most()), (20, 1));
}

#[test]
fn names_of_one_domain_have_its_limit_and_other_domains_go_on() {
    /// Requests of the busy domain now, the most, and answers of others.
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
        if path == "/busy" {
            now.now += 1;
            now.most = now.most.max(now.now);
            changed.notify_all();
            // Answers nothing before the other domains were answered: those that wait must have no slot.
            let waits = |seen: &mut Seen| seen.most < 2 || seen.others < 20;
            let waited = changed.wait_timeout_while(now, PATIENCE, waits).unwrap();
            assert!(!waited.1.timed_out(), "others waited for a busy domain");
            now = waited.0;
            now.now -= 1;
        } else {
            now.others += 1;
            changed.notify_all();
        }
        drop(now);
        whole(stream, "", b"x")
    });
    let mut lines: Vec<String> = (0..20)
        .map(|number| format!("http://name{number}.busy.co.uk/busy"))
        .collect();
    lines.extend((0..20).map(|number| format!("http://other{number}.co.uk/")));
    let options = Options {
        per_domain: at_once(2),
        ..at(&server)
    };
    let rows = crawl(options, &lines);
    assert!(rows.iter().all(|row| row.1 == "200"), "{rows:?}");
    assert_eq!((rows.len(), seen.0.lock().unwrap().most), (40, 2));
}

#[test]
fn waiting_for_an_address_is_not_part_of_a_urls_time() {
    let in_flight = Arc::default();
    let server = slow(&in_flight);
    let lines: Vec<String> = (0..60)
        .map(|number| format!("http://host{number}.test/"))
        .collect();
    let options = Options {
        concurrency: 60,
        per_address: at_once(1),
        ..at(&server)
    };
    let begun = Instant::now();
    let rows = crawl(options, &lines);
    let elapsed_ms = begun.elapsed().as_secs_f64() * 1e3;
    assert_eq!((rows.len(), in_flight.most()), (60, 1));
    // Requests are sent one after another. With their waits, the times would add up to thirty times the crawl's.
    let sum_ms: f64 = rows.iter().map(|row| row.2).sum();
    assert!(sum_ms < 4.0 * elapsed_ms, "{sum_ms} of {elapsed_ms}");
}

/// A server whose host `busy.test` asks for a pause as long as `refuses` is positive.
fn pausing(refuses: usize, value: &'static str) -> (Server, Arc<AtomicUsize>) {
    let left = Arc::new(AtomicUsize::new(refuses));
    let counted = left.clone();
    let server = Server::start(move |stream, path, _| {
        let refuse = path.starts_with("/busy")
            && counted
                .fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| {
                    left.checked_sub(1)
                })
                .is_ok();
        if !refuse {
            return whole(stream, "", b"x");
        }
        let head =
            format!("HTTP/1.1 429 Slow Down\r\nRetry-After: {value}\r\nContent-Length: 0\r\n\r\n");
        send(stream, head.as_bytes());
        true
    });
    (server, left)
}

#[test]
fn a_host_that_asks_for_a_pause_has_it_while_others_go_on() {
    let mut lines = vec!["http://busy.test/busy/0".to_owned()];
    lines.extend((0..20).map(|number| format!("http://other{number}.test/")));
    lines.extend((1..4).map(|number| format!("http://busy.test/busy/{number}")));
    // On a busy machine, the other hosts need more time than a short pause.
    let are_first = ["1", "6", "60"].into_iter().any(|value| {
        let (server, _) = pausing(1, value);
        let options = Options {
            concurrency: 1,
            max_retry_after: Duration::from_secs(300),
            ..at(&server)
        };
        let begun = Instant::now();
        let (rows, report) = reported(options, &lines);
        let pause_s: f64 = value.parse().unwrap();
        assert!(begun.elapsed().as_secs_f64() >= pause_s);
        assert!(rows.iter().all(|row| row.1 == "200"), "{rows:?}");
        assert_eq!(server.requests.load(Ordering::SeqCst), lines.len() + 1);
        let found = &report["retry_after"];
        assert_eq!(
            (&found["answers"], &found["pauses"]),
            (&1.into(), &1.into())
        );
        assert!((found["paused_s"].as_f64().unwrap() - pause_s).abs() < 1e-6);
        // With the only slot, all other hosts were answered before the pause was over.
        rows[..20].iter().all(|row| row.0.contains("other"))
    });
    assert!(are_first);
}

#[test]
fn without_the_option_a_pause_is_the_answer() {
    let (server, left) = pausing(1, "1");
    let rows = crawl(at(&server), &["http://busy.test/busy"]);
    assert_eq!(
        (rows[0].1.as_str(), left.load(Ordering::SeqCst)),
        ("429", 0)
    );
    assert_eq!(server.requests.load(Ordering::SeqCst), 1);
}

#[test]
fn a_host_that_always_asks_for_a_pause_does_not_make_a_crawl_endless() {
    let (server, _) = pausing(usize::MAX, "3600");
    let lines: Vec<String> = (0..30)
        .map(|number| format!("http://busy.test/busy/{number}"))
        .collect();
    let options = Options {
        max_retry_after: Duration::from_millis(300),
        retries: 5,
        ..at(&server)
    };
    let (rows, report) = reported(options, &lines);
    assert!(rows.iter().all(|row| row.1 == "429"), "{rows:?}");
    assert_eq!(rows.len(), 30);
    let paused_s = report["retry_after"]["paused_s"].as_f64().unwrap();
    assert!((paused_s - 0.3).abs() < 1e-6, "{report}");
}

#[test]
fn tries_after_a_pause_have_the_limit_of_retries() {
    for (retries, requests) in [(0, 2), (1, 2), (3, 4)] {
        let (server, _) = pausing(usize::MAX, "0");
        let options = Options {
            max_retry_after: PATIENCE,
            retries,
            ..at(&server)
        };
        let rows = crawl(options, &["http://busy.test/busy"]);
        assert_eq!(rows[0].1, "429");
        assert_eq!(
            server.requests.load(Ordering::SeqCst),
            requests,
            "{retries}"
        );
    }
}

/// A port of this machine on which nothing listens, kept from other programs.
fn closed() -> (socket2::Socket, u16) {
    let taken = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    let any = std::net::SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    taken.bind(&any.into()).unwrap();
    let port = taken.local_addr().unwrap().as_socket().unwrap().port();
    (taken, port)
}

#[test]
fn a_dead_host_is_left_alone() {
    let (_taken, port) = closed();
    let server = Server::start(|stream, _, _| whole(stream, "", b"x"));
    let mut lines: Vec<String> = (0..200)
        .map(|number| format!("http://dead.test/{number}"))
        .collect();
    lines.push("http://well.test/".to_owned());
    let with = |dead_after| Options {
        reroute: connecting([
            format!("dead.test:80:127.0.0.1:{port}"),
            format!(":80:{}", server.address),
        ]),
        concurrency: 5,
        timeout: PATIENCE,
        dead_after,
        ..Options::default()
    };
    let count =
        |rows: &[(String, String, f64, u64)], code| rows.iter().filter(|row| row.1 == code).count();
    let (rows, report) = reported(with(3), &lines);
    let refused = count(&rows, "ConnectionRefused");
    assert!((3..=7).contains(&refused), "{refused}");
    assert_eq!(count(&rows, "HostDown"), 200 - refused);
    assert_eq!(count(&rows, "200"), 1);
    assert_eq!(
        (&report["dead_hosts"], &report["connections"]["failed"]),
        (&1.into(), &refused.into())
    );
    let rows = crawl(with(0), &lines);
    assert_eq!(count(&rows, "ConnectionRefused"), 200);
    // The retries of a URL are made nevertheless.
    let retrying = Options {
        retries: 4,
        ..with(1)
    };
    let (rows, report) = reported(retrying, &lines[..1]);
    assert_eq!(count(&rows, "ConnectionRefused"), 1);
    assert_eq!(report["retried"], 4);
}

/// A server that accepts connections and sends the given pieces of an answer, 20 ms apart, then nothing more.
fn stalls(pieces: &'static [&'static str]) -> Server {
    Server::start(move |stream, _, _| {
        for piece in pieces {
            send(stream, piece.as_bytes());
            thread::sleep(Duration::from_millis(20));
        }
        thread::sleep(PATIENCE);
        false
    })
}

#[test]
fn silence_has_a_limit_of_its_own_and_the_name_of_its_stage() {
    let cases: [(&[&str], &str); 2] = [
        (&[], "HeadTimeout"),
        (
            &[
                "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n",
                "a",
                "b",
                "c",
            ],
            "BodyTimeout",
        ),
    ];
    for (pieces, code) in cases {
        let server = stalls(pieces);
        at_a_timeout(&code.to_owned(), |idle_timeout| {
            let options = Options {
                idle_timeout,
                ..at(&server)
            };
            crawl(options, &["http://a.test/"])[0].1.clone()
        });
    }
}

#[test]
fn a_steady_answer_may_take_longer_than_the_limits_of_its_parts() {
    at_a_timeout(&("200".to_owned(), 30), |limit| {
        let server = Server::start(move |stream, _, _| {
            send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n");
            for _ in 0..30 {
                thread::sleep(limit / 20);
                send(stream, b"x");
            }
            true
        });
        let options = Options {
            connect_timeout: limit,
            idle_timeout: limit,
            ..at(&server)
        };
        let rows = crawl(options, &["http://a.test/"]);
        (rows[0].1.clone(), rows[0].3)
    });
}

#[test]
fn a_handshake_without_an_end_takes_the_time_to_connect() {
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    at_a_timeout(&"TlsTimeout".to_owned(), |connect_timeout| {
        let options = Options {
            reroute: connecting([format!(":443:{address}")]),
            connect_timeout,
            timeout: PATIENCE,
            ..Options::default()
        };
        crawl(options, &["https://a.test/"])[0].1.clone()
    });
}
