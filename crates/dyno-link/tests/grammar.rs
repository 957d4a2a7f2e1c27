//! The grammar of links: accepted texts, canonical texts, refused texts.

use dyno_link::{Limit, Link, Nanos, PRESETS, Path, Rate, Share};
use proptest::prelude::*;

#[test]
fn texts_have_one_canonical_form() {
    let cases = [
        ("direct", "direct"),
        ("rtt=0", "direct"),
        ("loss=0,mtu=1500", "direct"),
        ("rtt=40ms", "rtt=40ms"),
        ("rtt=0.04s", "rtt=40ms"),
        ("rtt=1.5s", "rtt=1500ms"),
        ("rtt=250us", "rtt=250us"),
        ("rtt=3ns", "rtt=3ns"),
        ("delay=20ms", "rtt=40ms"),
        ("delay=1800s", "rtt=3600s"),
        ("delay=1801s", "delay=1801s"),
        ("up.delay=20ms,down.delay=20ms", "rtt=40ms"),
        ("up.delay=20ms", "up.delay=20ms"),
        ("delay=20ms,up.delay=5ms", "up.delay=5ms,down.delay=20ms"),
        ("rate=1gbit", "rate=1gbit,queue=100ms"),
        ("rate=1Gbit", "rate=1gbit,queue=100ms"),
        ("rate=1000mbit,queue=0.1s", "rate=1gbit,queue=100ms"),
        ("rate=14.7mbit", "rate=14700kbit,queue=100ms"),
        ("queue=5ms,rate=1gbit", "rate=1gbit,queue=5ms"),
        ("down.rate=1gbit,queue=5ms", "down.rate=1gbit,queue=5ms"),
        ("rate=1gbit,queue=0", "rate=1gbit,queue=0"),
        (
            "down.rate=100mbit,up.rate=20mbit",
            "up.rate=20mbit,down.rate=100mbit,queue=100ms",
        ),
        (
            "rate=1gbit,up.rate=20mbit,up.queue=1s",
            "up.rate=20mbit,down.rate=1gbit,up.queue=1s,down.queue=100ms",
        ),
        ("loss=0.1%", "loss=0.1%"),
        ("loss=10%", "loss=10%"),
        ("loss=0.0000001%", "loss=0.0000001%"),
        ("loss=1%,up.loss=0", "down.loss=1%"),
        ("mtu=9000", "mtu=9000"),
        (
            " rtt=40ms , rate=1gbit,queue=100ms,loss=0.1%,mtu=1500",
            "rtt=40ms,rate=1gbit,queue=100ms,loss=0.1%",
        ),
        ("lan,queue=1ms", "rtt=300us,rate=1gbit,queue=1ms"),
        (
            "4g,rtt=10ms,loss=1%",
            "rtt=10ms,up.rate=13600kbit,down.rate=14700kbit,queue=100ms,loss=1%",
        ),
        ("broadband,rate=1gbit", "rtt=20ms,rate=1gbit,queue=100ms"),
        ("direct,rtt=1ms", "rtt=1ms"),
    ];
    for (text, canonical) in cases {
        let link: Link = text.parse().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(link.to_string(), canonical, "{text}");
        assert_eq!(canonical.parse(), Ok(link), "{text}");
    }
}

#[test]
fn impossible_links_are_refused_in_one_line() {
    let cases = [
        ("", "it is empty"),
        ("rtt=40ms,", "must be KEY=VALUE"),
        ("5g", "no preset \"5g\""),
        ("rtt=40ms,lan", "a preset must come first"),
        ("rte=40ms", "unknown key \"rte\""),
        ("side.rate=1gbit", "unknown key \"side.rate\""),
        ("up.down.rate=1gbit", "unknown key"),
        ("RTT=40ms", "unknown key"),
        ("rtt=40", "is not a time"),
        ("rtt=-40ms", "is not a time"),
        ("rtt=2h", "is not a time"),
        ("rtt=3601s", "is not a time"),
        ("rtt=0.5ns", "is not a time"),
        ("rtt=.5ms", "is not a time"),
        ("rtt=5.ms", "is not a time"),
        ("rtt=1e3ms", "is not a time"),
        ("rtt=", "is not a time"),
        ("rate=0", "is not a rate"),
        ("rate=0gbit", "is not a rate"),
        ("rate=-1gbit", "is not a rate"),
        ("rate=1", "is not a rate"),
        ("rate=999bit", "is not a rate"),
        ("rate=2tbit", "is not a rate"),
        ("rate=1gbyte", "is not a rate"),
        ("rate=99999999999999999999gbit", "is not a rate"),
        ("loss=100%", "is not a loss"),
        ("loss=150%", "is not a loss"),
        ("loss=-1%", "is not a loss"),
        ("loss=0.1", "is not a loss"),
        ("loss=0.00000001%", "is not a loss"),
        ("mtu=1279", "is not a packet length"),
        ("mtu=65536", "is not a packet length"),
        ("mtu=+1500", "is not a packet length"),
        ("up.mtu=1500", "applies to both directions"),
        ("up.rtt=40ms", "applies to both directions"),
        ("queue=100ms", "queue needs a rate"),
        (
            "rtt=1ms,up.queue=1ms,down.rate=1gbit",
            "up.queue needs a rate",
        ),
        ("rtt=40ms,rtt=40ms", "rtt is given twice"),
        ("up.rate=1gbit,up.rate=1gbit", "up.rate is given twice"),
        ("rtt=40ms,delay=20ms", "the distance once"),
        ("rtt=40ms,up.delay=20ms", "the distance once"),
        ("rtt=40ms\n,rate=1\n", "is not a time"),
    ];
    for (text, expected) in cases {
        let error = text
            .parse::<Link>()
            .expect_err(&format!("{text:?} is no link"))
            .to_string();
        assert!(error.contains(expected), "{text:?}: {error}");
        assert!(
            error.starts_with("link \"") && error.lines().count() == 1,
            "{error}"
        );
    }
}

#[test]
fn presets_are_links_with_sources() {
    for preset in PRESETS {
        let link = preset.link();
        assert_eq!(preset.name.parse(), Ok(link));
        assert!(
            !link.is_direct() && preset.source.len() > 20,
            "{}",
            preset.name
        );
    }
}

#[test]
fn a_link_has_the_json_of_a_report() {
    let link: Link = "rtt=3ns,down.rate=1gbit,up.loss=0.1%"
        .parse()
        .expect("a link");
    let expected = serde_json::json!({
        "spec": "rtt=3ns,down.rate=1gbit,queue=100ms,up.loss=0.1%",
        "mtu": 1500,
        "rtt_ns": 3,
        "up": {"delay_ns": 1, "rate_bits_per_s": null, "queue_ns": null, "loss": 0.001},
        "down": {"delay_ns": 2, "rate_bits_per_s": 1_000_000_000, "queue_ns": 100_000_000, "loss": 0.0},
    });
    assert_eq!(serde_json::to_value(link).expect("plain data"), expected);
}

fn path() -> impl Strategy<Value = Path> {
    const HOUR: u64 = 3_600_000_000_000;
    let rate = prop::option::of((1_000..=1_000_000_000_000_u64, 0..=HOUR));
    (0..=HOUR, rate, 0..Share::WHOLE).prop_map(|(delay, rate, loss)| Path {
        delay: Nanos(delay),
        limit: rate.map(|(rate, queue)| Limit {
            rate: Rate::new(rate).expect("not zero"),
            queue: Nanos(queue),
        }),
        loss: Share::from_billionths(loss).expect("below the whole"),
    })
}

proptest! {
    #[test]
    fn every_link_parses_from_its_canonical_text(up in path(), down in path(), mtu in 1280..=u16::MAX) {
        let link = Link { up, down, mtu };
        prop_assert_eq!(link.to_string().parse::<Link>(), Ok(link));
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}|[a-z0-9.,=%]{0,40}") {
        let _ = text.parse::<Link>().map_err(|error| error.to_string());
    }
}
