//! Lines of a URL list, parsed like a client parses them.

use url::Url;

use crate::scheme::Scheme;

/// The URL of a line, if it is an absolute http or https URL without white space inside.
pub(crate) fn parse(line: &str) -> Option<Url> {
    let inner = line.trim();
    let authority = ["http://", "https://"].iter().find_map(|scheme| {
        let (start, rest) = inner.as_bytes().split_at_checked(scheme.len())?;
        start
            .eq_ignore_ascii_case(scheme.as_bytes())
            .then_some(rest)
    })?;
    // Browsers skip further slashes; an empty host is invalid (RFC 9110, section 4.2.1).
    if matches!(authority.first(), Some(b'/' | b'\\') | None) || inner.contains(char::is_whitespace)
    {
        return None;
    }
    Url::parse(inner)
        .ok()
        .filter(|url| url.host_str().is_some_and(|host| !host.is_empty()))
}

pub(crate) fn scheme_of(url: &Url) -> Option<Scheme> {
    match url.scheme() {
        "http" => Some(Scheme::Http),
        "https" => Some(Scheme::Https),
        _ => None,
    }
}

pub(crate) fn request_url(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default().trim_end_matches('.');
    let port = url
        .port()
        .map_or_else(String::new, |port| format!(":{port}"));
    let target = &url[url::Position::BeforePath..url::Position::AfterQuery];
    format!("{}://{host}{port}{target}", url.scheme())
}

/// Whether resolvers look a name up at all: letters, digits, hyphens inside (RFC 1123), and underscores, which occur in practice.
pub(crate) fn is_resolvable(host: &str) -> bool {
    let is_label = |label: &str| {
        let edges = [label.chars().next(), label.chars().last()];
        (1..=63).contains(&label.len())
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
            && edges.iter().all(|edge| *edge != Some('-'))
    };
    host.len() <= 253 && host.split('.').all(is_label)
}
