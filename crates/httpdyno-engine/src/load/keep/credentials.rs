//! Removal of credentials, which are never stored.

use std::sync::LazyLock;

use dyno_client::proxy::without_user_info;
use regex_lite::Regex;

/// Patterns of a user name in a URL, a header field, a parameter of a query or a form, a value in JSON. The first group
/// of each pattern is kept.
static PATTERNS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    let letter = r"[\w.\-\x{80}-\x{10FFFF}]";
    let name = format!(
        "{letter}*(?:api[_-]?key|authorization|cookie|credential|passw(?:or)?d|secret|session|signature|token){letter}*"
    );
    [
        r#"(://)[^/?#\s'"]+@"#.to_owned(),
        format!(r"(?im)((?:^|\s)(?:-H|--header=|(?:--check=)?header=)?{name}:[ \t]*)[^\s][^\r\n]*"),
        format!(r#"(?i)((?:^|[?&]|--form=|--multipart=|json=(?:/[^/=\s]*)*/){name}=)[^&#\s'"]+"#),
        format!(r#"(?i)("{name}"\s*:\s*)"(?:[^"\\]|\\.)*"?"#),
    ]
    .map(|pattern| Regex::new(&pattern).expect("a valid pattern"))
});
const HIDDEN: [&str; 4] = ["${1}***@", "${1}***", "${1}***", "${1}***"];

/// Replaces the user name and password in a URL, and secrets that are recognised by their name, with `***`.
pub fn without_credentials(text: &str) -> String {
    let mut safe = text.to_owned();
    for (pattern, hidden) in PATTERNS.iter().zip(HIDDEN) {
        if pattern.is_match(&safe) {
            safe = pattern.replace_all(&safe, hidden).into_owned();
        }
    }
    safe
}

/// The words of a command line without credentials. A proxy may be written without `://`, and its password may have any
/// letter.
pub fn without_credentials_of_words(words: &[String]) -> Vec<String> {
    const PROXY: &str = "--proxy";
    let mut is_proxy = false;
    let safe = words.iter().map(|word| {
        if std::mem::replace(&mut is_proxy, word == PROXY) {
            return without_user_info(word);
        }
        match word
            .strip_prefix(PROXY)
            .and_then(|rest| rest.strip_prefix('='))
        {
            Some(proxy) => format!("{PROXY}={}", without_user_info(proxy)),
            None => without_credentials(word),
        }
    });
    safe.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_replaced() {
        for (text, expected) in [
            ("http://me:planted@a.test/x", "http://***@a.test/x"),
            ("http://me:pl@nted@a.test/x", "http://***@a.test/x"),
            ("http://planted@a.test", "http://***@a.test"),
            ("Authorization: Bearer planted", "Authorization: ***"),
            ("authorization:Basic planted", "authorization:***"),
            (
                "--header=X-Api-Key: planted planted",
                "--header=X-Api-Key: ***",
            ),
            ("-HCookie: a=planted; b=planted", "-HCookie: ***"),
            (
                "Accept: */*\nProxy-Authorization: Basic planted\nX-A: b",
                "Accept: */*\nProxy-Authorization: ***\nX-A: b",
            ),
            (
                "A-Token: planted\nB-Token: planted",
                "A-Token: ***\nB-Token: ***",
            ),
            (
                "http://a.test/?a=b&access_token=planted&c=d",
                "http://a.test/?a=b&access_token=***&c=d",
            ),
            ("user=me&password=planted", "user=me&password=***"),
            ("--form=password=planted", "--form=password=***"),
            ("header=Set-Cookie: planted", "header=Set-Cookie: ***"),
            (
                "--check=header=Authorization: planted",
                "--check=header=Authorization: ***",
            ),
            (
                "json=/user/access_token=planted",
                "json=/user/access_token=***",
            ),
            ("?\u{e9}_token=planted", "?\u{e9}_token=***"),
            (
                r#"{"user": "me", "client_secret": "plan\"ted"}"#,
                r#"{"user": "me", "client_secret": ***}"#,
            ),
        ] {
            assert_eq!(without_credentials(text), expected);
        }
    }

    #[test]
    fn the_user_of_a_proxy_is_replaced_in_a_command_line() {
        let words =
            "load --proxy me:pl'anted@a:1 --proxy=socks5://me:pl/anted@a -H From:me@a --proxy a:1";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let expected = "load --proxy ***@a:1 --proxy=socks5://***@a -H From:me@a --proxy a:1";
        assert_eq!(without_credentials_of_words(&words).join(" "), expected);
    }

    #[test]
    fn other_texts_stay_unchanged() {
        for text in [
            "http://a.test/x@y?z=@w",
            "https://a.test:8443/tokens/1",
            "Accept: text/html",
            "--rate",
            "a=b&c=d",
            r#"{"user": "me"}"#,
            "httpdyno bench --web top-sites",
        ] {
            assert_eq!(without_credentials(text), text);
        }
    }
}
