//! The published test vector: 100 URLs with all properties that the web gives them (times in nanoseconds, a request that accepts
//! gzip, br, zstd, a timeout of 5 s). It detects accidental changes.
//!
//! A change of these lines with the same model changes every web that has ever been measured: it needs a new context in `draw.rs`
//! and a line in CHANGELOG.md. A change of `crates/dyno-web/webs/top-sites.toml` has its own digest, and needs only that line. To regenerate the
//! vector: `UPDATE_VECTOR=1 cargo test -p dyno-web --test vector`.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use dyno_web::{Accepted, HttpVersion, Model, Nanos, Request, Scheme, Web};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vector.jsonl");
const REAL_NAMES: [&str; 20] = [
    "example.org",
    "www.example.org",
    "wikipedia.org",
    "www.wikipedia.org",
    "en.wikipedia.org",
    "rust-lang.org",
    "python.org",
    "golang.org",
    "nodejs.org",
    "debian.org",
    "ietf.org",
    "w3.org",
    "kernel.org",
    "gnu.org",
    "mozilla.org",
    "curl.se",
    "nginx.org",
    "apache.org",
    "sqlite.org",
    "postgresql.org",
];

fn vector() -> String {
    let web = Web::new(
        Model::from_toml(include_str!("../webs/top-sites.toml")).unwrap(),
        None,
    );
    let made_up = web.urls().take(60);
    let real = REAL_NAMES
        .iter()
        .flat_map(|name| ["https", "http"].map(|scheme| format!("{scheme}://{name}/")));
    made_up
        .chain(real)
        .map(|url| describe(&web, &url))
        .collect()
}

fn describe(web: &Web, url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap();
    let (host, target) = rest.split_at(rest.find('/').unwrap());
    let scheme = if scheme == "https" {
        Scheme::Https
    } else {
        Scheme::Http
    };
    let accepted = Accepted::parse(b"gzip, br, zstd");
    let handshake = web.handshake(host);
    let line = serde_json::json!({
        "url": url,
        "resolve": web.resolve(host),
        "handshake": {
            "fault": handshake.fault,
            "only_1_2": handshake.only_1_2,
            "key": handshake.key,
            "http2": handshake.newest == HttpVersion::Http2,
        },
        "answer": web.answer(&Request { accepted, ..Request::first(scheme, host, target) }),
        "expect": web.expect(url, Nanos::from_millis(5_000)),
    });
    format!("{line}\n")
}

#[test]
fn the_web_has_not_changed() {
    let vector = vector();
    if std::env::var_os("UPDATE_VECTOR").is_some() {
        std::fs::write(FILE, &vector).unwrap();
    }
    let published = std::fs::read_to_string(FILE).unwrap();
    for (line, (now, then)) in vector.lines().zip(published.lines()).enumerate() {
        assert_eq!(now, then, "line {} of the vector", line + 1);
    }
    assert_eq!(
        (vector.lines().count(), published.lines().count()),
        (100, 100)
    );
}

#[test]
fn another_seed_is_another_web() {
    let model = Model::from_toml(include_str!("../webs/top-sites.toml")).unwrap();
    let [one, two] = [1, 2].map(|seed| Web::new(model.clone(), Some(seed)));
    assert_ne!(one.digest(), two.digest());
    let differ = REAL_NAMES
        .iter()
        .filter(|name| one.resolve(name) != two.resolve(name))
        .count();
    assert_eq!(differ, REAL_NAMES.len());
}
