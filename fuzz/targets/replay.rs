//! Recordings: parsed, or refused in one line; times never go back, nothing goes to a host that was not named, and any split
//! of the input into reads gives the same.
#![no_main]

use std::io::BufReader;
use std::sync::Arc;

use dyno_client::{Protocol, Proxies};
use dyno_load::Shape;
use dyno_load::replay::{Hosts, Options, Replay, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (stride, maps_all, bytes) = input;
    let shape = Shape {
        method: None,
        headers: Vec::new(),
        body: None,
        path_as_is: true,
        keepalive: true,
        protocol: Protocol::ALL[usize::from(stride % 2)],
        checks: Arc::default(),
        proxies: Proxies::default(),
    };
    let mut hosts = Hosts::default();
    let known = if maps_all { "*" } else { "a.test" };
    hosts
        .add(&format!("{known}=http://127.0.0.1:8080"))
        .unwrap();
    let options = Options {
        base: None,
        hosts,
        is_rerouted: &|_, _| false,
        speed: 200_000,
        is_loop: false,
    };
    let replay = |stride: usize| {
        read(
            BufReader::with_capacity(stride, bytes),
            "file",
            &options,
            &shape,
        )
    };
    match (
        replay(bytes.len().max(1)),
        replay(usize::from(stride).max(1)),
    ) {
        (Ok(whole), Ok(split)) => {
            assert_eq!(whole.times, split.times);
            assert_eq!(whole.recording.skipped, split.recording.skipped);
            check(&whole);
        }
        (Err(whole), Err(split)) => {
            assert_eq!(whole, split);
            assert!(!whole.contains('\n'), "{whole}");
        }
        (whole, split) => panic!("{whole:?} {split:?}"),
    }
});

fn check(replay: &Replay) {
    let times = replay.times.times_ns();
    assert!(times.is_sorted());
    let skipped: u64 = replay.recording.skipped.values().sum();
    assert_eq!(times.len() as u64 + skipped, replay.recording.lines);
    for server in replay.requests.servers() {
        assert_eq!((server.host.as_str(), server.port), ("127.0.0.1", 8080));
    }
}
