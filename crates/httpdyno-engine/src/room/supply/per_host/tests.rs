//! Tables, and simulated subjects that answer in random order.

use std::collections::HashSet;

use proptest::prelude::*;

use super::*;

const TIMEOUT: Duration = Duration::from_secs(5);

type Listed = PerHost<std::vec::IntoIter<Vec<u8>>>;

fn limit(per_host: usize, interval: Duration) -> HostLimit {
    HostLimit {
        per_host: NonZeroUsize::new(per_host).unwrap(),
        interval,
        timeout: TIMEOUT,
    }
}

fn listed(urls: &[&str], per_host: usize, interval: Duration, now: Instant) -> Listed {
    let lines: Vec<_> = urls.iter().map(|url| url.as_bytes().to_vec()).collect();
    PerHost::new(lines.into_iter(), limit(per_host, interval), now)
}

/// The lines permitted now, and whether more may follow.
fn drain<L: Iterator<Item = Vec<u8>>>(list: &mut PerHost<L>, now: Instant) -> (Vec<String>, bool) {
    let (mut urls, mut block) = (Vec::new(), Vec::new());
    loop {
        let more = list.fill(&mut block, now);
        if block.is_empty() {
            return (urls, more);
        }
        let text = String::from_utf8(std::mem::take(&mut block)).unwrap();
        urls.extend(text.lines().map(str::to_owned));
    }
}

fn answer(list: &mut Listed, url: &str, now: Instant) -> bool {
    let rows = list.rows();
    list.read_output(
        format!("{url},200,2026-11-21T10:00:00Z,1.5,13\n").as_bytes(),
        now,
    );
    list.rows() > rows
}

#[test]
fn a_url_has_a_host() {
    for (url, host) in [
        ("https://example.org", Some("example.org")),
        ("https://www.Example.ORG./a?b@c", Some("example.org")),
        ("HTTP://user:pass@example.org:8080/", Some("example.org")),
        ("http://127.0.0.1:8080/x", Some("127.0.0.1")),
        ("http://[2001:db8::1]:80/", Some("[2001:db8::1]")),
        (" https://example.org?x ", Some("example.org")),
        ("https://bücher.example/", Some("bücher.example")),
        ("https://www./", Some("www")),
        ("https:///path", None),
        ("https://example.org:port/", None),
        ("ftp://example.org/", None),
        ("example.org", None),
        ("", None),
    ] {
        assert_eq!(host_of(url.as_bytes()).as_deref(), host, "{url}");
    }
}

#[test]
fn a_waiting_line_follows_the_answer_of_its_host() {
    let now = Instant::now();
    let urls = ["http://a/1", "http://a/2", "http://a/3", "http://b/1"];
    let mut list = listed(&urls, 1, Duration::ZERO, now);
    assert_eq!(
        drain(&mut list, now),
        (vec!["http://a/1".into(), "http://b/1".into()], true)
    );
    assert!(answer(&mut list, "http://a/1", now));
    assert_eq!(drain(&mut list, now), (vec!["http://a/2".into()], true));
    assert!(!answer(&mut list, "http://a/1", now), "answered already");
    assert!(answer(&mut list, "http://a/2", now));
    assert_eq!(drain(&mut list, now), (vec!["http://a/3".into()], false));
    assert_eq!((list.lines_fed(), list.rows(), list.owed()), (4, 2, 2));
}

#[test]
fn a_host_may_have_two_lines_in_flight() {
    let now = Instant::now();
    let mut list = listed(
        &["http://a/0", "http://a/1", "http://a/2"],
        2,
        Duration::ZERO,
        now,
    );
    assert_eq!(drain(&mut list, now).0, ["http://a/0", "http://a/1"]);
    assert!(answer(&mut list, "http://a/1", now));
    assert_eq!(drain(&mut list, now).0, ["http://a/2"]);
}

#[test]
fn an_interval_delays_the_next_line_of_a_host() {
    let (now, interval) = (Instant::now(), Duration::from_secs(1000));
    let mut list = listed(&["http://a/1", "http://a/2"], 1, interval, now);
    assert_eq!(drain(&mut list, now).0, ["http://a/1"]);
    assert!(answer(&mut list, "http://a/1", now));
    // No answers are owed, so there is no limit on the silence.
    let just_before = now + interval.mul_f64(0.999);
    assert_eq!(drain(&mut list, just_before), (vec![], true));
    assert_eq!(list.wake_at(), now + interval);
    assert_eq!(
        drain(&mut list, now + interval),
        (vec!["http://a/2".into()], false)
    );
    assert_eq!(list.withheld(), None);
}

#[test]
fn a_repeated_url_is_fed_as_often() {
    let now = Instant::now();
    let mut list = listed(&["http://a/", "http://a/"], 5, Duration::ZERO, now);
    assert_eq!(drain(&mut list, now).0, ["http://a/"; 2]);
    let answered: Vec<_> = (0..3)
        .map(|_| answer(&mut list, "http://a/", now))
        .collect();
    assert_eq!(answered, [true, true, false]);
}

#[test]
fn a_line_that_is_no_url_is_never_held_back() {
    let (now, urls) = (Instant::now(), ["no url", "no url", "ftp://a/"]);
    assert_eq!(
        drain(&mut listed(&urls, 1, Duration::ZERO, now), now).0,
        urls
    );
}

#[test]
fn the_lookahead_is_limited() {
    let (now, mut read) = (Instant::now(), 0);
    let lines = std::iter::from_fn(|| {
        read += 1;
        Some(format!("http://a/{read}").into_bytes())
    });
    let mut list = PerHost::new(lines, limit(1, Duration::ZERO), now);
    assert_eq!(drain(&mut list, now), (vec!["http://a/1".into()], true));
    drop(list);
    assert_eq!(read, LOOKAHEAD + 1);
}

#[test]
fn a_silent_subject_that_owes_answers_gets_no_more_lines() {
    let begun = Instant::now();
    let active = begun + Duration::from_secs(1);
    for (answers, given, longest, reason) in [
        (
            vec![],
            "",
            START,
            "for 70 s while it owed 2 answers; it was fed no further URLs of their hosts",
        ),
        (
            vec!["http://b/1"],
            "",
            SILENCE,
            "for 20 s while it owed 1 answer; it was fed no further URLs of its host",
        ),
        (
            vec!["http://a/1"],
            "http://a/2",
            SILENCE,
            "for 20 s while it owed 2 answers; it was fed no further URLs of their hosts",
        ),
    ] {
        let urls = ["http://a/1", "http://a/2", "http://a/3", "http://b/1"];
        let mut list = listed(&urls, 1, Duration::ZERO, begun);
        drain(&mut list, begun);
        list.read_output(b"noise\n", active);
        for url in answers {
            assert!(answer(&mut list, url, active));
        }
        assert_eq!(drain(&mut list, active).0.join(" "), given);
        let patience = 2 * TIMEOUT + longest;
        let end = active + patience;
        assert_eq!(list.wake_at(), end);
        assert_eq!(
            drain(&mut list, active + patience.mul_f64(0.999)),
            (vec![], true)
        );
        assert_eq!(list.withheld(), None);
        assert_eq!(drain(&mut list, end), (vec![], false));
        let whole = format!("printed nothing {reason}");
        assert_eq!(list.withheld(), Some(whole.as_str()));
    }
}

#[test]
fn a_subject_with_the_whole_list_may_be_silent() {
    let now = Instant::now();
    let mut list = listed(&["http://a/1", "http://b/1"], 1, Duration::ZERO, now);
    assert!(!drain(&mut list, now).1);
    assert!(!drain(&mut list, now + Duration::from_secs(1000)).1);
    assert_eq!((list.withheld(), list.owed()), (None, 2));
}

proptest! {
    #[test]
    fn any_subject_keeps_the_limit_and_gets_the_whole_list(
        which in prop::collection::vec((0..5_usize, 0..4_u8), 0..40),
        per_host in 1..4_usize,
        interval_ms in 0..20_u64,
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0..10_u64), 40),
    ) {
        let hosts = ["a.example", "b.example", "www.a.example", "A.EXAMPLE:8443"];
        let urls: Vec<String> = which.iter().map(|&(host, page)| match hosts.get(host) {
            Some(host) => format!("https://{host}/{page}"),
            None => "no url".to_owned(),
        }).collect();
        let given: Vec<&str> = urls.iter().map(String::as_str).collect();
        let interval = Duration::from_millis(interval_ms);
        let (mut now, mut steps) = (Instant::now(), steps.into_iter());
        let mut list = listed(&given, per_host, interval, now);
        let (mut open, mut handed) = (Vec::<String>::new(), Vec::<String>::new());
        let mut last = HashMap::new();
        loop {
            let (new, more) = drain(&mut list, now);
            let begun: Vec<_> = new.iter().filter_map(|url| host_of(url.as_bytes())).collect();
            prop_assert!(interval.is_zero() || begun.iter().collect::<HashSet<_>>().len() == begun.len());
            for host in begun {
                let before = last.insert(host, now);
                prop_assert!(before.is_none_or(|before| now - before >= interval));
            }
            open.extend(new.iter().cloned());
            handed.extend(new);
            for host in ["a.example", "b.example"] {
                let of_host = open.iter().filter(|url| host_of(url.as_bytes()).as_deref() == Some(host));
                prop_assert!(of_host.count() <= per_host);
            }
            prop_assert_eq!(list.owed(), open.len() as u64);
            if open.is_empty() && !more {
                break;
            }
            if open.is_empty() {
                now = list.wake_at();
                continue;
            }
            let (index, pass_ms) = steps.next().unwrap();
            let url = open.swap_remove(index.index(open.len()));
            prop_assert!(answer(&mut list, &url, now));
            now += Duration::from_millis(pass_ms);
        }
        prop_assert_eq!(list.withheld(), None);
        for host in [Some("a.example"), Some("b.example"), None] {
            // The lines of a host keep the order of the list.
            let of_host = |url: &&str| host_of(url.as_bytes()).as_deref() == host;
            let asked: Vec<&str> = handed.iter().map(String::as_str).filter(of_host).collect();
            prop_assert_eq!(asked, given.iter().copied().filter(of_host).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_list_of_different_hosts_keeps_its_order(length in 0..50_usize, per_host in 1..4_usize) {
        let now = Instant::now();
        let urls: Vec<_> = (0..length).map(|host| format!("https://h{host}/")).collect();
        let given: Vec<_> = urls.iter().map(String::as_str).collect();
        let mut list = listed(&given, per_host, Duration::from_secs(1), now);
        prop_assert_eq!(drain(&mut list, now).0, urls);
    }
}
