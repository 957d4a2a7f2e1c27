//! `robots.txt` (RFC 9309): the rules for one crawler, and whether they allow a path. No I/O.

use std::cmp::Reverse;
use std::time::Duration;

use memchr::memmem;

/// Length of a file that is parsed; the rest is ignored (RFC 9309, 2.5: at least 500 KiB).
pub const MAX_BYTES: usize = 500 << 10;
/// Longest `Crawl-delay` that is kept: a host with more would hold up a crawl for days.
pub const MAX_DELAY: Duration = Duration::from_secs(30);

/// Any octets, in a pattern: `*`. Patterns have no control characters of their own, because these are encoded.
const ANY: u8 = 0;
/// The end of the path, in a pattern: `$`.
const END: u8 = 1;

/// The rules of a file for one crawler; the default allows everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Rules {
    /// A line per rule: `+` (allow) or `-`, and its pattern. The longest pattern is first; of two equal ones, `+`.
    lines: Box<[u8]>,
    /// `Crawl-delay`, at most [`MAX_DELAY`]; zero if there is none.
    pub delay: Duration,
}

/// The groups of a file that may apply, merged.
#[derive(Debug, Default)]
struct Group {
    is_there: bool,
    rules: Vec<(bool, Pattern)>,
    delay: Duration,
}

/// What a rule matches.
#[derive(Debug, PartialEq, Eq)]
struct Pattern {
    /// In normal form.
    text: Vec<u8>,
    /// Its length, by which rules are compared: as written, with letters decoded.
    octets: usize,
}

/// Returns the product token of a User-Agent, which lines `User-agent` name: `bot` of `bot/1.0 (+https://a.test)`.
/// RFC 9309 has letters, `_` and `-`; digits and dots are as common.
#[must_use]
pub fn product(user_agent: &str) -> &str {
    let text = user_agent.trim_ascii_start();
    let is_of_token = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    let end = text.bytes().position(|byte| !is_of_token(&byte));
    &text[..end.unwrap_or(text.len())]
}

/// Whether a path is `/robots.txt` itself, which is always allowed.
#[must_use]
pub fn is_robots_txt(target: &str) -> bool {
    let path = target.split_once('?').map_or(target, |(path, _)| path);
    path == "/robots.txt"
}

impl Rules {
    /// Parses a file for the crawler with this [`product`] token. Lines that are not understood are ignored.
    #[must_use]
    pub fn parse(file: &[u8], product: &str) -> Self {
        let (mut own, mut any) = (Group::default(), Group::default());
        let (mut is_own, mut is_any, mut names_crawlers) = (false, false, false);
        for line in whole_lines(file).split(|byte| matches!(byte, b'\r' | b'\n')) {
            let Some((key, value)) = key_and_value(line) else {
                continue;
            };
            if key.eq_ignore_ascii_case(b"user-agent") {
                if !names_crawlers {
                    (is_own, is_any, names_crawlers) = (false, false, true);
                }
                is_own |= names(value, product);
                is_any |= is_everyone(value);
                own.is_there |= is_own;
                continue;
            }
            let rule = match &*key.to_ascii_lowercase() {
                b"allow" => Some(true),
                b"disallow" => Some(false),
                _ => None,
            };
            let delay = delay(key, value);
            // Other lines, `Crawl-delay` too, end no list of crawlers (RFC 9309, 2.2.4).
            names_crawlers &= rule.is_none();
            for (group, applies) in [(&mut own, is_own), (&mut any, is_any)] {
                if !applies {
                    continue;
                }
                if let Some(allows) = rule.filter(|_| !value.is_empty()) {
                    group.rules.push((allows, pattern(value)));
                }
                group.delay = group.delay.max(delay);
            }
        }
        if own.is_there { own } else { any }.into()
    }

    /// Whether a path with its query may be requested.
    #[must_use]
    pub fn allow(&self, target: &str) -> bool {
        if self.lines.is_empty() || is_robots_txt(target) {
            return true;
        }
        let path = normal_form(target.as_bytes(), false);
        // `/` and `?` may be encoded in a query, or not; a rule may have either form.
        let in_query = normal_form(target.as_bytes(), true);
        let in_query = (path != in_query).then_some(in_query);
        let mut lines = self.lines.split(|byte| *byte == b'\n');
        let first = lines.find(|line| {
            line.split_first().is_some_and(|(_, pattern)| {
                matches(pattern, &path)
                    || in_query.as_ref().is_some_and(|path| matches(pattern, path))
            })
        });
        first.is_none_or(|line| line.first() == Some(&b'+'))
    }

    /// Bytes that the rules need.
    #[must_use]
    pub const fn size(&self) -> usize {
        self.lines.len()
    }
}

impl From<Group> for Rules {
    fn from(group: Group) -> Self {
        let Group {
            mut rules, delay, ..
        } = group;
        rules.sort_by(|(allows, pattern), (other_allows, other)| {
            let key = |allows: bool, pattern: &Pattern| (Reverse(pattern.octets), !allows);
            let equal = || pattern.text.cmp(&other.text);
            key(*allows, pattern)
                .cmp(&key(*other_allows, other))
                .then_with(equal)
        });
        rules.dedup();
        let mut lines = Vec::new();
        for (allows, pattern) in rules {
            lines.push(if allows { b'+' } else { b'-' });
            lines.extend_from_slice(&pattern.text);
            lines.push(b'\n');
        }
        Self {
            lines: lines.into(),
            delay,
        }
    }
}

/// The part of a file that is parsed, without the mark of its byte order. A line that is cut off would be another rule.
fn whole_lines(file: &[u8]) -> &[u8] {
    let mut kept = &file[..file.len().min(MAX_BYTES)];
    if kept.len() < file.len() {
        let end = kept.iter().rposition(|byte| matches!(byte, b'\r' | b'\n'));
        kept = &kept[..end.unwrap_or(0)];
    }
    kept.strip_prefix(b"\xef\xbb\xbf").unwrap_or(kept)
}

/// The two sides of a line, without blanks and its comment.
fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = line.iter().position(|byte| *byte == b'#');
    let line = &line[..end.unwrap_or(line.len())];
    let colon = line.iter().position(|byte| *byte == b':')?;
    Some((line[..colon].trim_ascii(), line[colon + 1..].trim_ascii()))
}

/// Whether a line `User-agent` names this product.
fn names(value: &[u8], of_crawler: &str) -> bool {
    let text = str::from_utf8(value).unwrap_or_default();
    !of_crawler.is_empty() && product(text).eq_ignore_ascii_case(of_crawler)
}

/// Whether a line `User-agent` is for all crawlers that the file does not name.
fn is_everyone(value: &[u8]) -> bool {
    value
        .strip_prefix(b"*")
        .is_some_and(|rest| rest.first().is_none_or(u8::is_ascii_whitespace))
}

/// The time of a line `Crawl-delay`; zero for every other line.
fn delay(key: &[u8], value: &[u8]) -> Duration {
    let seconds = key
        .eq_ignore_ascii_case(b"crawl-delay")
        .then(|| str::from_utf8(value).ok()?.parse::<f64>().ok())
        .flatten()
        .filter(|seconds| *seconds > 0.0);
    seconds.map_or(Duration::ZERO, |seconds| {
        Duration::from_secs_f64(seconds.min(MAX_DELAY.as_secs_f64()))
    })
}

/// The pattern of a rule: [`ANY`] for `*`, and [`END`] for a `$` at the end.
fn pattern(value: &[u8]) -> Pattern {
    let (value, is_whole) = match value.strip_suffix(b"$") {
        Some(rest) => (rest, true),
        None => (value, false),
    };
    let mut pattern = normal(value, true, true);
    if is_whole {
        pattern.text.push(END);
        pattern.octets += 1;
    }
    pattern
}

/// The form of a path in which octets are compared.
fn normal_form(target: &[u8], decodes_query: bool) -> Vec<u8> {
    normal(target, false, decodes_query).text
}

/// Normalises percent-encoding (RFC 9309, 2.2.2), so that `a`, `%61`, `=` and `%3D` are equal to each other: printable
/// ASCII is decoded, all other octets are encoded in upper case. An encoded `/` or `?` stays different in a path; in a
/// query it may be decoded. A `%` that encodes nothing stays.
fn normal(text: &[u8], has_wildcards: bool, decodes_query: bool) -> Pattern {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let (mut out, mut is_query, mut rest) = (Vec::with_capacity(text.len()), false, text);
    let mut shortened = 0;
    while let Some((&byte, after)) = rest.split_first() {
        let encoded = after
            .split_first_chunk()
            .filter(|_| byte == b'%')
            .and_then(|(digits, after)| Some((decoded(*digits)?, after)));
        let is_encoded = encoded.is_some();
        let (octet, after) = encoded.unwrap_or((byte, after));
        rest = after;
        let stays = octet.is_ascii_graphic()
            && match octet {
                b'%' => !is_encoded,
                b'/' | b'?' => !is_encoded || (is_query && decodes_query),
                _ => true,
            };
        if has_wildcards && byte == b'*' {
            out.push(ANY);
        } else if stays {
            out.push(octet);
            // RFC 9309 decodes only unreserved characters, so any other counts as three octets.
            let is_unreserved = octet.is_ascii_alphanumeric() || b"-._~".contains(&octet);
            shortened += if is_encoded && !is_unreserved { 2 } else { 0 };
        } else {
            let (high, low) = (usize::from(octet >> 4), usize::from(octet & 15));
            out.extend_from_slice(&[b'%', DIGITS[high], DIGITS[low]]);
        }
        is_query |= byte == b'?';
    }
    Pattern {
        octets: out.len() + shortened,
        text: out,
    }
}

/// The octet of two hexadecimal digits.
fn decoded(digits: [u8; 2]) -> Option<u8> {
    let [high, low] = digits.map(|digit| char::from(digit).to_digit(16));
    u8::try_from(high? * 16 + low?).ok()
}

/// Whether a pattern matches a path from its beginning. The time is linear in the length of both: each part between two
/// wildcards is searched after the first occurrence of the one before, which is as good as any later one.
fn matches(pattern: &[u8], path: &[u8]) -> bool {
    let (pattern, is_whole) = match pattern.strip_suffix(&[END]) {
        Some(rest) => (rest, true),
        None => (pattern, false),
    };
    let mut parts = pattern.split(|byte| *byte == ANY).peekable();
    let Some(mut rest) = parts.next().and_then(|first| path.strip_prefix(first)) else {
        return false;
    };
    if parts.peek().is_none() {
        return !is_whole || rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if is_whole && parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(found) = memmem::find(rest, part) else {
            return false;
        };
        rest = &rest[found + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allows(file: &str, product: &str, target: &str) -> bool {
        Rules::parse(file.as_bytes(), product).allow(target)
    }

    #[test]
    fn the_examples_of_the_rfc_hold() {
        // RFC 9309, 5.1.
        let file = "User-Agent: *\nDisallow: *.gif$\nDisallow: /example/\nAllow: /publications/\n\n\
             User-Agent: foobot\nDisallow:/\nAllow:/example/page.html\nAllow:/example/allowed.gif\n\n\
             User-Agent: barbot\nUser-Agent: bazbot\nDisallow: /example/page.html\n\n\
             User-Agent: quxbot\n";
        let cases = [
            ("other", "/a.gif", false),
            ("other", "/a.gif?b", true),
            ("other", "/example/", false),
            ("other", "/example", true),
            ("other", "/publications/", true),
            ("foobot", "/", false),
            ("foobot", "/example/page.html", true),
            ("FooBot", "/example/allowed.gif", true),
            ("foobot", "/example/page.gif", false),
            ("barbot", "/example/page.html", false),
            ("bazbot", "/example/page.html", false),
            ("bazbot", "/a.gif", true),
            ("quxbot", "/a.gif", true),
            ("quxbot", "/example/", true),
        ];
        for (product, target, expected) in cases {
            assert_eq!(
                allows(file, product, target),
                expected,
                "{product} {target}"
            );
        }
        // 5.2: the longest match.
        let file =
            "User-Agent: foobot\nAllow: /example/page/\nDisallow: /example/page/disallowed.gif\n";
        assert!(allows(file, "foobot", "/example/page/"));
        assert!(!allows(file, "foobot", "/example/page/disallowed.gif"));
    }

    #[test]
    fn percent_encoding_is_normalised_as_in_the_table_of_the_rfc() {
        // RFC 9309, 2.2.2 and 2.2.3: pattern, path, whether they match.
        let cases = [
            ("/foo/bar?baz=quz", "/foo/bar?baz=quz", true),
            (
                "/foo/bar?baz=https://foo.bar",
                "/foo/bar?baz=https%3A%2F%2Ffoo.bar",
                true,
            ),
            (
                "/foo/bar?baz=https%3A%2F%2Ffoo.bar",
                "/foo/bar?baz=https://foo.bar",
                true,
            ),
            ("/foo/bar/\u{30c4}", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%E3%83%84", "/foo/bar/%e3%83%84", true),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz", true),
            ("/foo/bar/baz", "/foo/bar/%62%61%7a", true),
            (
                "/path/file-with-a-%2A.html",
                "/path/file-with-a-*.html",
                true,
            ),
            (
                "/path/file-with-a-%2A.html",
                "/path/file-with-a-b.html",
                false,
            ),
            ("/path/foo-%24", "/path/foo-$", true),
            ("/path/foo-%24", "/path/foo-", false),
            ("/path/foo-$", "/path/foo-", true),
            ("/path/foo-$", "/path/foo-$", false),
            // An encoded slash is another path, but not in a query, whichever way a rule gets there.
            ("/a/b", "/a%2Fb", false),
            ("/a%2fb", "/a%2Fb", true),
            ("/*=%2F", "/a?b=%2Fc", true),
            ("/*=/", "/a?b=%2Fc", true),
            ("/a%3Fb", "/a?b", false),
            ("/a:b", "/a%3Ab", true),
            ("/a b", "/a%20b", true),
            ("/{", "/%7B", true),
            // A sign that encodes nothing.
            ("/*%", "/a%20", true),
            ("/%zz", "/%zz", true),
            ("/%25", "/%zz", false),
            ("/%", "/%", true),
            // Patterns that do not begin with a slash.
            ("*.pdf$", "/a/b.pdf", true),
            ("a", "/a", false),
            ("https://a.test/", "/", false),
            // Case matters, and a fragment is a comment.
            ("/A", "/a", false),
            ("/a#b", "/a", true),
        ];
        for (pattern, target, expected) in cases {
            let file = format!("User-agent: *\nDisallow: {pattern}\n");
            assert_eq!(
                !allows(&file, "bot", target),
                expected,
                "{pattern} {target}"
            );
        }
    }

    #[test]
    fn the_longest_match_wins_and_allow_wins_a_tie() {
        let cases = [
            ("Disallow: /a\nAllow: /a", "/a", true),
            ("Allow: /a\nDisallow: /a", "/a", true),
            ("Allow: /p\nDisallow: /", "/page", true),
            ("Allow: /folder\nDisallow: /folder", "/folder/page", true),
            ("Allow: /page\nDisallow: /*.htm", "/page.htm", false),
            ("Allow: /page\nDisallow: /*.ph", "/page.php5", true),
            ("Allow: /*a\nDisallow: /*%2A", "/a*", false),
            ("Allow: /*ab\nDisallow: /*%61%62", "/ab", true),
            ("Allow: /$\nDisallow: /", "/", true),
            ("Allow: /$\nDisallow: /", "/page.htm", false),
            ("Disallow: /", "/robots.txt", true),
            ("Disallow: /", "/robots.txt?a", true),
            ("Disallow: /", "/robots.txt/", false),
            ("Disallow:", "/", true),
            ("Disallow: /a*b*c", "/axxbxxc", false),
            ("Disallow: /a*b*c$", "/abcc", false),
            ("Disallow: /a*b*c$", "/abcd", true),
            ("Disallow: /a**b", "/ab", false),
            ("Disallow: /a*$", "/abc", false),
            ("Disallow: $", "/", true),
        ];
        for (rules, target, expected) in cases {
            let file = format!("user-agent: *\n{rules}\n");
            assert_eq!(allows(&file, "bot", target), expected, "{rules} {target}");
        }
    }

    #[test]
    fn groups_are_merged_and_found_by_their_product() {
        let cases = [
            // Two groups of one crawler are one (RFC 9309, 2.2.1).
            (
                "user-agent: bot\ndisallow: /a\nuser-agent: x\ndisallow: /b\nuser-agent: BOT\ndisallow: /c",
                "/a /c",
            ),
            (
                "user-agent: bot/2.0 (x)\ndisallow: /a\nuser-agent: *\ndisallow: /b",
                "/a",
            ),
            (
                "user-agent: bot2\ndisallow: /a\nuser-agent: *\ndisallow: /b",
                "/b",
            ),
            (
                "user-agent: bo\ndisallow: /a\nuser-agent: * # all\ndisallow: /b",
                "/b",
            ),
            ("user-agent: bot\nuser-agent: *\ndisallow: /a", "/a"),
            (
                "user-agent: *\ndisallow: /a\nuser-agent: *\ndisallow: /b",
                "/a /b",
            ),
            (
                "user-agent: bot\ndisallow:\nuser-agent: *\ndisallow: /b",
                "",
            ),
            ("disallow: /a\nuser-agent: *\ndisallow: /b", "/b"),
            // Other lines do not separate crawlers, whether they are understood or not.
            (
                "user-agent: bot\nsitemap: /x\ncrawl-delay: 2\n\nuser-agent: x\ndisallow: /a",
                "/a",
            ),
            (
                "\u{feff}user-agent: *\r\ndisallow: /a\r\n\r\ndisallow: /b",
                "/a /b",
            ),
            (
                "user-agent: *\rdisallow: /a\rdisallow: /b # and why",
                "/a /b",
            ),
            (
                " USER-AGENT : * \n\tDisAllow\t:\t/a \nnoindex: /b\nno line\n:\n",
                "/a",
            ),
            ("user-agent: **\ndisallow: /a", ""),
            (
                "<html><a href=\"https://a.test/\">user-agent: *</a>\ndisallow: /",
                "",
            ),
        ];
        for (file, expected) in cases {
            let rules = Rules::parse(file.as_bytes(), "bot");
            let forbidden: Vec<_> = ["/a", "/b", "/c"]
                .into_iter()
                .filter(|target| !rules.allow(target))
                .collect();
            assert_eq!(forbidden.join(" "), expected, "{file}");
        }
    }

    #[test]
    fn a_delay_is_of_its_group_and_has_a_limit() {
        let cases = [
            ("user-agent: *\ncrawl-delay: 2", 2.0),
            ("user-agent: *\nCrawl-Delay: 0.25 # s", 0.25),
            ("user-agent: *\ncrawl-delay: 86400", 30.0),
            ("user-agent: *\ncrawl-delay: inf", 30.0),
            ("user-agent: *\ncrawl-delay: nan", 0.0),
            ("user-agent: *\ncrawl-delay: -1", 0.0),
            ("user-agent: *\ncrawl-delay: soon", 0.0),
            (
                "user-agent: *\ncrawl-delay: 9\nuser-agent: bot\ndisallow:\nuser-agent: x",
                0.0,
            ),
            (
                "user-agent: *\ncrawl-delay: 1\nallow: /\nuser-agent: bot\ncrawl-delay: 3",
                3.0,
            ),
            ("crawl-delay: 2", 0.0),
        ];
        for (file, expected) in cases {
            let rules = Rules::parse(file.as_bytes(), "bot");
            assert_eq!(rules.delay, Duration::from_secs_f64(expected), "{file}");
        }
    }

    #[test]
    fn a_product_is_the_first_word_of_a_user_agent() {
        let cases = [
            ("bot/1.0 (+https://a.test)", "bot"),
            (" my_bot-2.x; me@a.test", "my_bot-2.x"),
            ("(+https://a.test)", ""),
            ("", ""),
        ];
        for (user_agent, expected) in cases {
            assert_eq!(product(user_agent), expected, "{user_agent}");
        }
    }

    #[test]
    fn rules_after_the_limit_are_ignored_and_none_is_cut() {
        let rule = |number| format!("disallow: /folder{number:06}\n");
        let head = "user-agent: *\n";
        let fit = (MAX_BYTES - head.len()) / rule(0).len();
        assert_ne!((MAX_BYTES - head.len()) % rule(0).len(), 0);
        let file: String = [head.to_owned()]
            .into_iter()
            .chain((0..fit + 10).map(rule))
            .collect();
        assert!(!allows(&file, "bot", &format!("/folder{:06}", fit - 1)));
        for number in [fit, fit + 1] {
            assert!(allows(&file, "bot", &format!("/folder{number:06}")));
        }
        assert!(allows(&"x".repeat(MAX_BYTES + 1), "bot", "/"));
    }

    #[test]
    fn many_wildcards_need_no_more_than_linear_time() {
        // Each would take longer than the age of the universe with a search that tries every division of the path.
        let file = format!("user-agent: *\ndisallow: /{}b\n", "*a".repeat(10_000));
        assert!(allows(&file, "bot", &format!("/{}", "a".repeat(50_000))));
        let file = format!("user-agent: *\ndisallow: /{}b$\n", "a*".repeat(10_000));
        assert!(allows(&file, "bot", &format!("/{}", "a".repeat(50_000))));
    }

    /// A part of a normalised pattern, as the RFC describes it.
    fn is_match_by_definition(pattern: &[u8], path: &[u8]) -> bool {
        match pattern.split_first() {
            None => true,
            Some((&END, _)) => path.is_empty(),
            Some((&ANY, rest)) => {
                (0..=path.len()).any(|skipped| is_match_by_definition(rest, &path[skipped..]))
            }
            Some((octet, rest)) => path
                .split_first()
                .is_some_and(|(first, path)| octet == first && is_match_by_definition(rest, path)),
        }
    }

    proptest! {
        #[test]
        fn a_match_is_one_by_the_definition(
            rules in prop::collection::vec((any::<bool>(), "[/*][ab*%/?]{0,7}[$]?"), 0..6),
            target in "/[ab%/?*$]{0,9}",
        ) {
            let lines: Vec<_> = rules
                .iter()
                .map(|(allows, pattern)| format!("{}: {pattern}\n", if *allows { "Allow" } else { "Disallow" }))
                .collect();
            let lines = lines.concat();
            let path = normal_form(target.as_bytes(), false);
            let best = rules
                .iter()
                .map(|(allows, text)| (pattern(text.as_bytes()), *allows))
                .filter(|(pattern, _)| is_match_by_definition(&pattern.text, &path))
                .map(|(pattern, allows)| (pattern.octets, allows))
                .max();
            let expected = best.is_none_or(|(_, allows)| allows);
            prop_assert_eq!(allows(&format!("user-agent: *\n{lines}"), "bot", &target), expected);
        }

        #[test]
        fn any_cut_of_any_bytes_is_read(file: Vec<u8>, cut: prop::sample::Index, target in "/.{0,20}") {
            let cut = &file[..cut.index(file.len() + 1)];
            let rules = Rules::parse(cut, "bot");
            prop_assert!(rules.allow("/robots.txt") && rules.delay <= MAX_DELAY);
            let _ = rules.allow(&target);
        }

        #[test]
        fn ends_comments_and_other_lines_change_nothing(
            lines in prop::collection::vec(
                prop_oneof![
                    Just("user-agent: bot"), Just("user-agent: *"), Just("user-agent: x"), Just("allow: /a"),
                    Just("disallow: /"), Just("disallow: /a$"), Just("disallow:"), Just("crawl-delay: 1"),
                ],
                0..12,
            ),
            cut: prop::sample::Index,
        ) {
            let plain = Rules::parse(lines.join("\n").as_bytes(), "bot");
            for end in ["\r", "\r\n", "\n\n", " # x\n", "\nsitemap: /a\n", "\nno line\n"] {
                prop_assert_eq!(&Rules::parse(lines.join(end).as_bytes(), "bot"), &plain);
            }
            // Every cut between two lines is a file.
            let _ = Rules::parse(lines[..cut.index(lines.len() + 1)].join("\n").as_bytes(), "bot");
        }

        #[test]
        fn encoding_any_letter_changes_nothing(
            target in "/[a-z]{1,8}",
            pattern in "/[a-z]{0,3}",
            which in prop::collection::vec(any::<bool>(), 9),
        ) {
            let encoded = |text: &str| -> String {
                text.chars().zip(&which).map(|(letter, encodes)| match letter {
                    'a'..='z' if *encodes => format!("%{:02x}", u32::from(letter)),
                    other => other.to_string(),
                }).collect()
            };
            let file = |pattern: &str| format!("user-agent: *\ndisallow: {pattern}");
            let plain = allows(&file(&pattern), "bot", &target);
            prop_assert_eq!(allows(&file(&encoded(&pattern)), "bot", &target), plain);
            prop_assert_eq!(allows(&file(&pattern), "bot", &encoded(&target)), plain);
        }
    }
}
