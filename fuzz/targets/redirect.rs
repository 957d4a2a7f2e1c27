//! Target of a redirect: a URL that can be fetched, or one of two refusals.
#![no_main]

use dyno_client::Failure;
use libfuzzer_sys::fuzz_target;
use url::Url;

#[path = "../../crates/dyno-fetch/src/redirect.rs"]
mod redirect;

fuzz_target!(|location: &[u8]| {
    assert!(redirect::is_redirect(301));
    let at = Url::parse("https://a.test:8443/b/c?d#e").expect("a URL");
    match redirect::target(&at, [location].into_iter()) {
        Ok(None) => assert!(location.trim_ascii().is_empty()),
        Ok(Some(next)) => {
            assert!(matches!(next.scheme(), "http" | "https"));
            assert!(next.host_str().is_some_and(|host| !host.is_empty()));
            assert!(next.fragment().is_some());
            // The part for the request line.
            assert!(
                next.as_str().bytes().all(|byte| byte.is_ascii_graphic()),
                "{next}"
            );
        }
        Err(failure) => {
            assert!(matches!(
                failure,
                Failure::InvalidRedirect | Failure::UnsupportedScheme
            ));
        }
    }
});
