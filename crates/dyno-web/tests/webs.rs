//! The shipped webs: each reads, none leaves a correct client in doubt, `contract` has every fault.
#![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

use std::collections::BTreeSet;

use dyno_web::{Fault, Model, Nanos, Outcome, Web};

const SHIPPED: [(&str, &str); 3] = [
    ("top-sites", include_str!("../../../webs/top-sites.toml")),
    ("plain", include_str!("../../../webs/plain.toml")),
    ("contract", include_str!("../../../webs/contract.toml")),
];

fn webs() -> impl Iterator<Item = Web> {
    SHIPPED.into_iter().map(|(name, text)| {
        let web = Web::new(Model::from_toml(text).unwrap(), None);
        assert_eq!(web.model().name, name);
        web
    })
}

#[test]
fn the_grey_band_is_empty() {
    for web in webs() {
        let timeout = Nanos::from_millis(web.model().timeout_ms);
        for url in web.urls().take(20_000) {
            let outcome = web.expect(&url, timeout).outcome;
            assert!(
                !matches!(outcome, Outcome::Either { .. }),
                "{}: {url}",
                web.model().name
            );
        }
    }
}

#[test]
fn contract_has_every_fault_and_nothing_by_chance() {
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
fn plain_has_no_fault_and_no_delay() {
    let web = webs().find(|web| web.model().name == "plain").unwrap();
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
