//! The shipped webs: each parses, none has undecided results, `contract` has every fault.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::{BTreeMap, BTreeSet};

use dyno_web::{Capability, Check, Fault, Model, Nanos, Oddity, Outcome, Resolved, Terms, Web};

const SHIPPED: [(&str, &str); 5] = [
    ("top-sites", include_str!("../webs/top-sites.toml")),
    ("plain", include_str!("../webs/plain.toml")),
    ("contract", include_str!("../webs/contract.toml")),
    (
        "wrong-documents",
        include_str!("../webs/wrong-documents.toml"),
    ),
    ("wild", include_str!("../webs/wild.toml")),
];

fn webs() -> impl Iterator<Item = Web> {
    SHIPPED.into_iter().map(|(name, text)| {
        let web = Web::new(Model::from_toml(text).unwrap(), None);
        assert_eq!(web.model().name, name);
        web
    })
}

#[test]
fn no_url_has_an_undecided_result() {
    for web in webs() {
        let timeout = Nanos::from_millis(web.model().timeout_ms);
        let able = Terms {
            capabilities: Capability::ALL.iter().copied().collect(),
            ..Terms::within(timeout)
        };
        for url in web.urls().take(20_000) {
            let outcome = web.expect_on(&able, &url).outcome;
            assert!(
                !matches!(outcome, Outcome::Either { .. }),
                "{}: {url}",
                web.model().name
            );
        }
    }
}

#[test]
fn contract_has_every_fault_and_nothing_random() {
    let web = webs().find(|web| web.model().name == "contract").unwrap();
    let timeout = Nanos::from_millis(1_000);
    let causes: BTreeSet<&str> = web
        .urls()
        .filter_map(|url| match web.expect(&url, timeout).outcome {
            Outcome::Error { cause } => Some(cause),
            _ => None,
        })
        .collect();
    let faults: BTreeSet<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
    assert_eq!(causes, faults);
    assert_eq!(
        web.urls().count(),
        Web::new(web.model().clone(), Some(99)).urls().count()
    );
}

#[test]
fn example_names_answer_in_every_web() {
    let names = [
        "example.com",
        "example.net",
        "example.org",
        "www.example.com",
        "landing.example.net",
        "api.shop.example.org",
        "my-client.example",
        "a.b.test",
    ];
    let urls = names
        .iter()
        .flat_map(|name| ["http", "https"].map(|scheme| format!("{scheme}://{name}/")));
    for url in urls {
        for web in webs() {
            for seed in 1..50 {
                let web = Web::new(web.model().clone(), Some(seed));
                let expectation = web.expect(&url, Nanos::from_millis(5_000));
                assert!(
                    matches!(expectation.outcome, Outcome::Status { status: 200, .. })
                        && expectation.requests == 1,
                    "{} {seed}: {url}: {expectation:?}",
                    web.model().name
                );
            }
        }
    }
}

#[test]
fn wild_has_every_oddity_in_its_share() {
    let web = webs().find(|web| web.model().name == "wild").unwrap();
    let mut hosts = BTreeMap::<Oddity, usize>::new();
    let mut addresses = BTreeMap::<String, usize>::new();
    for url in web.urls() {
        let host = url
            .trim_start_matches("https://")
            .trim_end_matches('/')
            .to_owned();
        if let Some(oddity) = web.oddity(&host) {
            assert_eq!(web.fault(&host), None, "{host}");
            *hosts.entry(oddity).or_default() += 1;
        }
        if let Resolved::Addresses { v4, .. } = web.resolve(&host).resolved {
            *addresses.entry(v4.to_string()).or_default() += 1;
        }
    }
    assert_eq!(hosts.len(), Oddity::ALL.len());
    // 1 to 3 % of the 18,500 hosts without a fault; bounds of four standard deviations and more.
    assert!(
        hosts.values().all(|count| (125..660).contains(count)),
        "{hosts:?}"
    );
    // 20 % of the hosts with an address are on 40 addresses, about 90 on each.
    let shared = addresses.values().filter(|&&hosts| hosts > 40).count();
    assert_eq!(shared, 40, "{addresses:?}");
}

#[test]
fn a_reliable_domain_includes_its_subdomains_only() {
    let text = "name = 'x'\nseed = 1\n[names]\nreliable = ['example.com']\n[faults]\nrefused = 1\n\
        [[host]]\nname = 'gone.example.com'\nfault = 'nxdomain'\n";
    let web = Web::new(Model::from_toml(text).unwrap(), None);
    let cases = [
        ("example.com", None),
        ("www.example.com", None),
        ("gone.example.com", Some(Fault::NxDomain)),
        ("myexample.com", Some(Fault::Refused)),
        ("example.com.net", Some(Fault::Refused)),
        ("com", Some(Fault::Refused)),
    ];
    for (name, fault) in cases {
        assert_eq!(web.fault(name), fault, "{name}");
    }
}

#[test]
fn plain_has_no_fault_and_no_delay() {
    has_only_successful_answers("plain");
}

#[test]
fn wrong_documents_are_one_in_a_thousand_and_nothing_else_is_wrong() {
    has_only_successful_answers("wrong-documents");
    let web = webs()
        .find(|web| web.model().name == "wrong-documents")
        .unwrap();
    let checking = Terms {
        check: Some(Check::Json),
        ..Terms::within(Nanos::from_millis(5_000))
    };
    let wrong = (0..10_000)
        .map(|number| web.expect_on(&checking, &format!("http://cost.example/json?n={number}")))
        .filter(|expectation| !matches!(expectation.outcome, Outcome::Status { .. }))
        .count();
    // 10 expected; bounds of three standard deviations of 3.2.
    assert!((1..=20).contains(&wrong), "{wrong}");
}

fn has_only_successful_answers(name: &str) {
    let web = webs().find(|web| web.model().name == name).unwrap();
    for url in web.urls().take(5_000) {
        let expectation = web.expect(&url, Nanos::from_millis(5_000));
        assert!(
            matches!(expectation.outcome, Outcome::Status { status: 200, .. }),
            "{url}"
        );
        assert_eq!(
            (expectation.requests, expectation.planned),
            (1, Some(Nanos::ZERO)),
            "{url}"
        );
    }
}
