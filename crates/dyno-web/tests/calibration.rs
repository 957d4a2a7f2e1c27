//! Comparison of `crates/dyno-web/webs/top-sites.toml` with the published figures, within the sampling error.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeMap;

use dyno_web::{
    Accepted, Coding, HttpVersion, KeyKind, Model, Nanos, Outcome, Request, Resolved, Scheme, Web,
};

const SAMPLE: usize = 40_000;

fn top_sites() -> Web {
    Web::new(
        Model::from_toml(include_str!("../webs/top-sites.toml")).unwrap(),
        None,
    )
}

struct Crawl {
    outcomes: BTreeMap<String, usize>,
    mean_ms: f64,
    mean_ok_bytes: f64,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts and milliseconds far below 2^53"
)]
fn crawl(web: &Web) -> Crawl {
    let timeout = Nanos::from_millis(5_000);
    let (mut outcomes, mut total_ms, mut bytes, mut ok) = (BTreeMap::new(), 0.0, 0, 0);
    for url in web.urls().take(SAMPLE) {
        let expectation = web.expect(&url, timeout);
        let key = match expectation.outcome {
            Outcome::Status { status, length } => {
                if status == 200 {
                    bytes += length.0;
                    ok += 1;
                }
                format!("{}xx", status / 100)
            }
            Outcome::Error { cause } => cause.to_owned(),
            Outcome::Either { .. } => "either".to_owned(),
        };
        *outcomes.entry(key).or_default() += 1;
        total_ms += expectation.planned.unwrap_or(timeout).min(timeout).0 as f64 / 1e6;
    }
    Crawl {
        outcomes,
        mean_ms: total_ms / SAMPLE as f64,
        mean_ok_bytes: bytes as f64 / f64::from(ok),
    }
}

/// Asserts that a share lies within four standard errors of the expected one.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn near(what: &str, count: usize, of: usize, share: f64) {
    let seen = count as f64 / of as f64;
    let error = (share * (1.0 - share) / of as f64).sqrt();
    assert!(
        (seen - share).abs() <= 4.0 * error,
        "{what}: {seen:.5}, wanted {share} within {:.5}",
        4.0 * error
    );
}

#[test]
fn outcomes_match_the_published_ones() {
    let crawl = crawl(&top_sites());
    println!(
        "{:?} mean {:.1} ms, {:.0} bytes",
        crawl.outcomes, crawl.mean_ms, crawl.mean_ok_bytes
    );
    let count = |key: &str| crawl.outcomes.get(key).copied().unwrap_or(0);
    let sum = |keys: &[&str]| keys.iter().map(|key| count(key)).sum::<usize>();
    near("2xx", count("2xx"), SAMPLE, 0.798);
    near("3xx", count("3xx"), SAMPLE, 0.0001);
    near("4xx", count("4xx"), SAMPLE, 0.097);
    near("5xx", count("5xx"), SAMPLE, 0.0021);
    near("nxdomain", count("nxdomain"), SAMPLE, 0.069);
    near("servfail", count("servfail"), SAMPLE, 0.005);
    near("refused", count("refused"), SAMPLE, 0.003);
    let silent = [
        "blackhole",
        "stall_after_accept",
        "stall_tls",
        "stall_headers",
        "drip_body",
    ];
    near("silence", sum(&silent), SAMPLE, 0.013);
    near(
        "tls",
        sum(&[
            "expired_certificate",
            "wrong_host",
            "self_signed",
            "tls_alert",
        ]),
        SAMPLE,
        0.009,
    );
    near(
        "broken",
        sum(&[
            "reset_mid_body",
            "empty_reply",
            "short_body",
            "garbage_head",
        ]),
        SAMPLE,
        0.004,
    );
    assert_eq!(count("either"), 0, "the grey band must be empty");
    assert!(
        (660.0..690.0).contains(&crawl.mean_ms),
        "a URL takes {:.0} ms, published 680",
        crawl.mean_ms
    );
    let kilobytes = crawl.mean_ok_bytes / 1e3;
    assert!(
        (247.0..267.0).contains(&kilobytes),
        "a page has {kilobytes:.0} KB, published 257"
    );
}

#[test]
fn hosts_match_the_published_ones() {
    let web = top_sites();
    let (mut v6, mut resolved, mut only_1_2, mut ecdsa, mut http2) = (0, 0, 0, 0, 0);
    for url in web.urls().take(SAMPLE) {
        let host = url.trim_start_matches("https://").trim_end_matches('/');
        if let Resolved::Addresses { v6: address, .. } = web.resolve(host).resolved {
            resolved += 1;
            v6 += usize::from(address.is_some());
        }
        let handshake = web.handshake(host);
        only_1_2 += usize::from(handshake.only_1_2);
        ecdsa += usize::from(handshake.key == KeyKind::Ecdsa);
        http2 += usize::from(handshake.newest == HttpVersion::Http2);
    }
    near("IPv6", v6, resolved, 0.316);
    near("TLS 1.2 only", only_1_2, SAMPLE, 0.113);
    near("ECDSA", ecdsa, SAMPLE, 0.33);
    near("HTTP/2", http2, SAMPLE, 0.766);
}

/// Compares page weights on the wire, for a client that accepts every coding, with those of the Web Almanac 2025 (desktop HTML).
#[test]
fn weights_on_the_wire_match_the_published_ones() {
    let web = top_sites();
    let accepted = Accepted::parse(b"gzip, br, zstd");
    let (mut weights, mut codings) = (Vec::new(), BTreeMap::<Coding, usize>::new());
    for url in web.urls().take(SAMPLE) {
        let host = format!(
            "www.{}",
            url.trim_start_matches("https://").trim_end_matches('/')
        );
        let answer = web.answer(&Request {
            accepted,
            ..Request::first(Scheme::Https, &host, "/")
        });
        if answer.status == 200 && answer.fault.is_none() {
            *codings.entry(answer.coding).or_default() += 1;
            let divisor = if answer.coding == Coding::Identity {
                1
            } else {
                5
            };
            weights.push(answer.content.bytes() / divisor);
        }
    }
    weights.sort_unstable();
    let kilobytes = |percent: usize| weights[weights.len() * percent / 100] / 1_000;
    let quantiles = [10, 25, 50, 75, 90].map(kilobytes);
    println!("wire KB at 10, 25, 50, 75, 90 %: {quantiles:?}, published [5, 14, 35, 80, 154]");
    let compressed: usize = codings
        .iter()
        .filter(|(coding, _)| **coding != Coding::Identity)
        .map(|(_, n)| n)
        .sum();
    near("compressed", compressed, weights.len(), 0.70);
    near(
        "gzip of compressed",
        codings[&Coding::Gzip],
        compressed,
        0.50,
    );
    near("br of compressed", codings[&Coding::Br], compressed, 0.43);
    near(
        "zstd of compressed",
        codings[&Coding::Zstd],
        compressed,
        0.07,
    );
    assert!(
        (28..=42).contains(&quantiles[2]),
        "the median page weighs {} KB, published 35",
        quantiles[2]
    );
}
