//! `robots.txt`: the first line is a path, the rest a file. What does not matter changes nothing, and a match is one by
//! the definition.
#![no_main]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/dyno-fetch/src/robots.rs"]
mod robots;

use robots::{MAX_DELAY, Rules, is_robots_txt, product};

fuzz_target!(|text: &[u8]| {
    let mut parts = text.splitn(2, |byte| *byte == b'\n');
    let target = String::from_utf8_lossy(parts.next().unwrap_or_default());
    let file = parts.next().unwrap_or_default();
    let rules = Rules::parse(file, "bot");
    let allowed = rules.allow(&target);
    assert!(allowed || !is_robots_txt(&target));
    assert!(rules.delay <= MAX_DELAY && rules.size() <= 3 * file.len());
    // Lines may end in CR LF, and lines of other programs may come between them.
    let mut with_others = b"sitemap: /a\n".to_vec();
    for line in file.split(|byte| *byte == b'\n') {
        with_others.extend_from_slice(line);
        with_others.extend_from_slice(b"\r\nnoindex: /\n");
    }
    let marked = file.starts_with(b"\xef\xbb\xbf");
    if with_others.len() < robots::MAX_BYTES && !marked {
        assert_eq!(Rules::parse(&with_others, "bot"), rules);
        assert_eq!(Rules::parse(file, "BOT"), rules);
    }
    // A file with one rule more: it decides if the path begins with it.
    let product = product(&target);
    assert!(product.bytes().all(|byte| !byte.is_ascii_whitespace()));
    if file.len() < 4_096 {
        let one = |path: &str| {
            Rules::parse(
                format!("user-agent: *\ndisallow: {path}\n").as_bytes(),
                "bot",
            )
        };
        assert!(one("/*").allow(&target) == (!target.starts_with('/') || is_robots_txt(&target)));
        assert!(one("/").allow(&target) == one("/*").allow(&target));
    }
});
