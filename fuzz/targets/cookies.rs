//! Values of `Set-Cookie`, and files of cookies: what is sent fits into a header, and reaches no other site.
#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;
use url::Url;

#[path = "../../crates/dyno-fetch/src/cookies.rs"]
mod cookies;

use cookies::{CookieFile, Jar, cookies_for};

fuzz_target!(|text: &[u8]| {
    let now = UNIX_EPOCH + Duration::from_secs(1_800_000_000);
    let url = |text: &str| Url::parse(text).expect("a URL");
    let (at, other) = (url("https://x.a.test/b/c"), url("https://b.test/b/c"));
    let mut jar = Jar::default();
    for line in text.split(|byte| *byte == b'\n') {
        jar.store(&at, line, now);
    }
    let file = CookieFile::parse(text, now).ok();
    let sent = cookies_for(&at, Some(&jar), file.as_ref());
    assert!(
        !sent
            .iter()
            .any(|byte| byte.is_ascii_control() && *byte != b'\t')
    );
    assert!(cookies_for(&other, Some(&jar), None).is_empty());
});
