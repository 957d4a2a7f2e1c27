//! Correct results, case by case.

use super::*;
use crate::units::Bytes;
use crate::{
    Capabilities, Capability, Check, HttpVersion, Model, Oddity, OneOrigin, Request, Scheme,
};

fn web(extra: &str) -> Web {
    Web::new(
        Model::from_toml(&format!("name = 'test'\nseed = 1\n{extra}")).unwrap(),
        None,
    )
}

fn outcome(web: &Web, url: &str) -> String {
    text(&web.expect(url, Nanos::from_millis(5_000)).outcome)
}

const CHECKING: Terms<'_> = Terms {
    timeout: Nanos(5_000_000_000),
    check: Some(Check::Json),
    version: None,
    capabilities: Capabilities::NONE,
    origin: None,
};

fn checked(web: &Web, url: &str) -> String {
    text(&web.expect_on(&CHECKING, url).outcome)
}

fn text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Status { status, length } => format!("{status} {}", length.0),
        Outcome::Error { cause } => (*cause).to_owned(),
        Outcome::Either { status, length, .. } => format!("either {status} {}", length.0),
    }
}

#[test]
fn an_interim_response_is_a_hazard_even_after_a_redirect() {
    let web = web("[[host]]\nname = 'hints.test'\ninterim = 103\n\
         [[host]]\nname = 'to.test'\nredirect_to = 'http://hints.test/'\n");
    let hazard = |url| web.expect(url, Nanos::from_millis(5_000)).hazard;
    assert_eq!(hazard("https://hints.test/"), Some("interim_response"));
    assert_eq!(hazard("https://to.test/"), Some("interim_response"));
    assert_eq!(hazard("https://other.test/"), None);
}

#[test]
fn a_close_over_http2_is_a_hazard() {
    let web = web(
        "[[host]]\nname = 'both.test'\nhttp2 = true\ncloses = true\n\
         [[host]]\nname = 'one.test'\nhttp2 = false\ncloses = true\n\
         [[host]]\nname = 'stays.test'\nhttp2 = true\ncloses = false\n",
    );
    let hazard = |url| web.expect(url, Nanos::from_millis(5_000)).hazard;
    assert_eq!(hazard("https://both.test/"), Some("goaway_after_answer"));
    assert_eq!(hazard("http://both.test/plain"), None);
    assert_eq!(hazard("https://one.test/"), None);
    assert_eq!(hazard("https://stays.test/"), None);
}

#[test]
fn urls_have_their_outcomes() {
    let web = web("[[host]]\nname = 'loop.test'\nfault = 'redirect_loop'\n\
         [[host]]\nname = 'gone.test'\nfault = 'nxdomain'\n\
         [[host]]\nname = 'to.test'\nredirect_to = 'http://gone.test/'\n");
    let cases = [
        ("https://any.test/plain", "200 13"),
        ("HTTPS://ANY.test/plain", "200 13"),
        ("http://any.test/redirect/10", "200 13"),
        ("http://any.test/redirect/11", "too_many_redirects"),
        ("http://any.test/delay/2999", "200 13"),
        ("http://any.test/delay/3001", "either 200 13"),
        ("http://any.test/delay/9000", "timeout"),
        ("http://any.test:81/plain", "refused"),
        ("https://loop.test/", "redirect_loop"),
        ("https://to.test/", "nxdomain"),
        ("http://localhost/", "refused"),
        ("http://127.0.0.1/plain", "refused"),
        ("http://192.0.2.1/", "unreachable"),
        ("http://10.1.2.3/plain", "200 13"),
        ("http://10.66.2.3/plain", "blackhole"),
        ("http://[2001:db8:67::1]/plain", "refused"),
        ("any.test/plain", "invalid_url"),
        ("ftp://any.test/plain", "invalid_url"),
        ("https://", "invalid_url"),
        ("https:///path", "invalid_url"),
        ("http:", "invalid_url"),
        ("", "invalid_url"),
        ("https://a b.test/", "invalid_url"),
        ("https://any.test/a b", "invalid_url"),
        ("https://a..test/", "invalid_name"),
        ("https://a!b.test/", "invalid_name"),
        ("https://-a.test/", "invalid_name"),
        ("https://a-.test/", "invalid_name"),
        ("https://a_b.test/plain", "200 13"),
        ("https://xn--bcher-kva.test/plain", "200 13"),
    ];
    for (url, expected) in cases {
        assert_eq!(outcome(&web, url), expected, "{url}");
    }
    let long = format!("https://{}.test/", "a".repeat(64));
    assert_eq!(outcome(&web, &long), "invalid_name");
}

#[test]
fn one_origin_serves_only_its_own_urls() {
    let web = web(
        "[[host]]\nname = 'to.test'\nredirect_to = 'http://other:8080/plain'\n\
         [[host]]\nname = 'away.test'\nredirect_to = 'https://away.test/'\n\
         [[host]]\nname = 'gone.test'\nfault = 'nxdomain'\n",
    );
    let cases = [
        ("http://other:8080", "http://other:8080/plain", "200 13"),
        ("http://other:8080", "http://OTHER:8080/plain", "200 13"),
        (
            "http://other:8080",
            "http://other:8080/redirect/2",
            "200 13",
        ),
        ("http://other:8080", "http://other/plain", "elsewhere"),
        ("http://other:8080", "https://other:8080/plain", "elsewhere"),
        ("http://other:8080", "http://else:8080/plain", "elsewhere"),
        ("http://other:8080", "nonsense", "invalid_url"),
        // Real names and addresses: faults and addresses of the web do not apply.
        ("http://gone.test", "http://gone.test/plain", "200 13"),
        ("http://localhost:1", "http://localhost:1/plain", "200 13"),
        ("http://10.66.0.1", "http://10.66.0.1/plain", "200 13"),
        ("http://192.0.2.1", "http://192.0.2.1/plain", "200 13"),
        ("http://[::1]:8080", "http://[::1]:8080/plain", "200 13"),
        ("http://away.test", "http://away.test/", "elsewhere"),
        ("http://to.test", "http://to.test/", "elsewhere"),
    ];
    for (origin, url, expected) in cases {
        let origin = OneOrigin::parse(origin).unwrap();
        let terms = Terms {
            origin: Some(&origin),
            ..Terms::within(Nanos::from_millis(5_000))
        };
        let expectation = web.expect_on(&terms, url);
        assert_eq!(text(&expectation.outcome), expected, "{url}");
    }
}

#[test]
fn a_checking_client_accepts_only_the_right_document() {
    let web = web("[[host]]\nname = 'gone.test'\nfault = 'nxdomain'\n");
    let cases = [
        ("http://any.test/json", "200 16384"),
        ("http://any.test/gzip", "200 16384"),
        ("http://any.test/json?coding=gzip", "200 16384"),
        ("http://any.test/json?delay_ms=3500", "either 200 16384"),
        ("http://any.test/json?delay_ms=9000", "timeout"),
        ("http://any.test/", "check_failed"),
        ("http://any.test/plain", "check_failed"),
        ("http://any.test/redirect/1", "check_failed"),
        ("http://any.test/status/404", "check_failed"),
        // The client may check the content or time out before: either way it is an error.
        ("http://any.test/delay/3500", "timeout"),
        ("http://any.test/redirect/11", "too_many_redirects"),
        ("http://gone.test/json", "nxdomain"),
    ];
    for (url, expected) in cases {
        assert_eq!(checked(&web, url), expected, "{url}");
    }
    let results = web.expect_on(&CHECKING, "http://any.test/plain");
    assert_eq!((results.arrives, results.requests), (true, 1));
}

#[test]
fn a_share_of_urls_has_a_wrong_document() {
    let web = web("[json]\nwrong_share = 0.01\n");
    let url = |number: u32| format!("http://cost.test/json?n={number}");
    let wrong: Vec<u32> = (0..20_000)
        .filter(|&number| checked(&web, &url(number)) == "check_failed")
        .collect();
    // 200 expected; bounds of four standard deviations of 14.
    assert!((144..=256).contains(&wrong.len()), "{}", wrong.len());
    // A client that does not check sees the same length every time.
    assert_eq!(outcome(&web, &url(wrong[0])), "200 16384");
    assert_eq!(checked(&web, &url(wrong[0])), "check_failed");
    // A coding in the path makes another URL, whose document is drawn independently, like that of another host.
    let moved = wrong
        .iter()
        .filter(|number| {
            checked(&web, &format!("http://cost.test/gzip?n={number}")) == "check_failed"
        })
        .count();
    assert!(moved < 20, "{moved}");
}

#[test]
fn a_web_without_wrong_documents_keeps_its_digest() {
    assert_eq!(web("").digest(), web("[json]\nwrong_share = 0\n").digest());
    assert_ne!(web("").digest(), web("[json]\nwrong_share = 1\n").digest());
}

#[test]
fn arrivals_and_requests_are_predicted() {
    let web = web("[[host]]\nname = 'gone.test'\nfault = 'nxdomain'\n");
    let results = |url: &str| {
        let expectation = web.expect(url, Nanos::from_millis(5_000));
        (
            expectation.arrives,
            expectation.requests,
            expectation.request_url,
        )
    };
    assert_eq!(
        results("https://gone.test"),
        (false, 0, Some("https://gone.test/".to_owned()))
    );
    assert_eq!(
        results("http://ANY.test:80/redirect/2?a=b#fragment"),
        (true, 3, Some("http://any.test/redirect/2?a=b".to_owned()))
    );
    assert_eq!(results("nonsense"), (false, 0, None));
}

#[test]
fn a_client_of_one_version_gets_the_answers_of_that_version() {
    let web = web("[http]\nhttp2 = 0\n\
         [[host]]\nname = 'two.test'\nhttp2 = true\n\
         [[host]]\nname = 'two-broken.test'\nhttp2 = true\nfault = 'stream_reset'\n\
         [[host]]\nname = 'two-away.test'\nhttp2 = true\nredirect_to = 'https://one.test/plain'\n\
         [[host]]\nname = 'two-plain.test'\nhttp2 = true\nredirect_to = 'http://two.test/plain'\n\
         [[host]]\nname = 'gone.test'\nfault = 'nxdomain'\n\
         [[host]]\nname = 'expired.test'\nfault = 'expired_certificate'\n");
    let cases = [
        ("https://two.test/plain", "200 13", "200 13"),
        ("https://one.test/plain", "200 13", "without_http2"),
        ("https://two-broken.test/", "stream_reset", "stream_reset"),
        ("https://two-away.test/", "200 13", "without_http2"),
        // Without TLS no version is negotiated.
        ("http://one.test/plain", "200 13", "either 200 13"),
        ("https://two-plain.test/", "200 13", "either 200 13"),
        ("http://one.test/plain?delay_ms=9000", "timeout", "timeout"),
        // Earlier failures take precedence.
        ("https://gone.test/", "nxdomain", "nxdomain"),
        (
            "https://expired.test/",
            "expired_certificate",
            "expired_certificate",
        ),
        ("https://one.test:81/", "refused", "refused"),
    ];
    for (url, of_one, of_two) in cases {
        for (version, expected) in [(HttpVersion::Http11, of_one), (HttpVersion::Http2, of_two)] {
            let terms = Terms {
                version: Some(version),
                ..Terms::within(Nanos::from_millis(5_000))
            };
            let expectation = web.expect_on(&terms, url);
            assert_eq!(text(&expectation.outcome), expected, "{url} {version:?}");
            // Some libraries learn the version from the answer only, so a request is permitted, and not required.
            let refused = expected == "without_http2" && !url.contains("away");
            assert!(!(refused && expectation.arrives), "{url}");
        }
        assert_ne!(outcome(&web, url), "without_http2", "{url}");
    }
}

#[test]
fn a_close_over_http2_is_no_hazard_for_a_client_of_http1() {
    let web = web("[[host]]\nname = 'closes.test'\nhttp2 = true\ncloses = true\n");
    for (version, hazard) in [
        (None, Some("goaway_after_answer")),
        (Some(HttpVersion::Http11), None),
        (Some(HttpVersion::Http2), Some("goaway_after_answer")),
    ] {
        let terms = Terms {
            version,
            ..Terms::within(Nanos::from_millis(5_000))
        };
        assert_eq!(web.expect_on(&terms, "https://closes.test/").hazard, hazard);
    }
}

#[test]
fn an_odd_answer_is_due_from_clients_with_its_capability_alone() {
    let host = |oddity: &Oddity| {
        let name = oddity.name();
        format!(
            "[[host]]\nname = '{}.test'\noddity = '{name}'\ncontent_bytes = 1000\nstatus = 200\n",
            name.replace('_', "-")
        )
    };
    let web = web(&Oddity::ALL.iter().map(host).collect::<String>());
    for &oddity in Oddity::ALL {
        let url = format!("https://{}.test/", oddity.name().replace('_', "-"));
        let (status, length) = match oddity {
            // The shortest page, which every redirect has.
            Oddity::LocationEmpty => (302, 256),
            _ => (200, 1_000),
        };
        let others = Capability::ALL
            .iter()
            .copied()
            .filter(|&capability| capability != oddity.capability());
        let cases = [
            (Capabilities::NONE, false),
            (others.collect(), false),
            ([oddity.capability()].into_iter().collect(), true),
        ];
        for (capabilities, is_due) in cases {
            let terms = Terms {
                capabilities,
                ..Terms::within(Nanos::from_millis(5_000))
            };
            let expected = if is_due {
                Outcome::Status {
                    status,
                    length: Bytes(length),
                }
            } else {
                Outcome::Either {
                    status,
                    length: Bytes(length),
                    cause: oddity.name(),
                }
            };
            assert_eq!(web.expect_on(&terms, &url).outcome, expected, "{url}");
        }
    }
}

#[test]
fn an_odd_host_answers_by_cookie_count_and_path() {
    let web = web(
        "[[host]]\nname = 'cookie.test'\noddity = 'cookie'\nstatus = 200\n\
         [[host]]\nname = 'busy.test'\noddity = 'too_many_requests'\nstatus = 200\n\
         [[host]]\nname = 'moved.test'\noddity = 'redirect_drips'\nstatus = 200\n",
    );
    let first = |host| Request::first(Scheme::Https, host, "/a");
    let with_cookie = Request {
        has_cookie: true,
        ..first("cookie.test")
    };
    let second = Request {
        earlier: 1,
        ..first("busy.test")
    };
    let at_target = Request::first(Scheme::Https, "moved.test", "/moved");
    let cases = [
        (first("cookie.test"), 302, Some("/a")),
        (with_cookie, 200, None),
        (first("busy.test"), 429, None),
        (second, 200, None),
        (first("moved.test"), 302, Some("/moved")),
        (at_target, 200, None),
    ];
    for (request, status, location) in cases {
        let answer = web.answer(&request);
        assert_eq!(
            (answer.status, answer.location.as_deref()),
            (status, location),
            "{request:?}"
        );
    }
    assert_eq!(web.handshake("cookie.test").newest, HttpVersion::Http11);
}
