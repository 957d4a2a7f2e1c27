//! `Retry-After`: no pause, or one of bounded length; seconds are read as written.
#![no_main]

use std::time::{Duration, UNIX_EPOCH};

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/dyno-fetch/src/retry_after.rs"]
mod retry_after;

fuzz_target!(|input: (u64, &[u8])| {
    let (now_s, value) = input;
    assert!(retry_after::may_pause(429) && !retry_after::may_pause(200));
    // Up to the year 9999, as in dates of HTTP.
    let now = UNIX_EPOCH + Duration::from_secs(now_s % 253_402_300_800);
    let Some(after) = retry_after::parse(value, now) else {
        return;
    };
    assert!(after <= Duration::from_secs(u32::MAX.into()));
    let text = std::str::from_utf8(value).expect("a value that is read is text");
    if let Ok(seconds) = text.parse::<u32>()
        && text.bytes().all(|byte| byte.is_ascii_digit())
    {
        assert_eq!(after, Duration::from_secs(seconds.into()));
    }
});
