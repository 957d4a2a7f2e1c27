//! Texts of links: parsed, or refused in one line; the canonical text parses as the same link.
#![no_main]

use dyno_link::Link;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    match text.parse::<Link>() {
        Ok(link) => {
            let canonical = link.to_string();
            assert_eq!(canonical.parse::<Link>().as_ref(), Ok(&link), "{canonical}");
            let longest = link.super_packet().longest_bytes();
            assert!(longest.is_none_or(|bytes| bytes >= u32::from(link.mtu)));
        }
        Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
    }
});
