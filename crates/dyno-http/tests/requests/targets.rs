//! Request targets and hosts.

use dyno_http::{Limits, Parse, Problem, Tolerance, request, target::Form};

use crate::{accepted, refused};

#[test]
fn the_four_forms_of_a_target() {
    // method, target, form, authority, path and query
    for (method, target, form, authority, path_and_query) in [
        ("GET", "/", Form::Origin, "h", "/"),
        ("GET", "//x//?/?%20%fF", Form::Origin, "h", "//x//?/?%20%fF"),
        (
            "GET",
            "/-._~!$&'()*+,;=:@",
            Form::Origin,
            "h",
            "/-._~!$&'()*+,;=:@",
        ),
        ("GET", "http://a.test", Form::Absolute, "a.test", "/"),
        (
            "GET",
            "HTTPS://a.test:1/b?c",
            Form::Absolute,
            "a.test:1",
            "/b?c",
        ),
        ("GET", "http://a.test?c", Form::Absolute, "a.test", "?c"),
        (
            "GET",
            "http://[2001:db8::1]:80/",
            Form::Absolute,
            "[2001:db8::1]:80",
            "/",
        ),
        ("CONNECT", "a.test:443", Form::Authority, "a.test:443", ""),
        ("CONNECT", "[::1]:443", Form::Authority, "[::1]:443", ""),
        ("OPTIONS", "*", Form::Asterisk, "h", ""),
        ("OPTIONS", "/x", Form::Origin, "h", "/x"),
    ] {
        let bytes = format!("{method} {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let head = accepted(bytes.as_bytes());
        assert_eq!(head.target.as_str(), target);
        assert_eq!(head.target.form(), form, "{target}");
        assert_eq!(head.authority(), Some(authority), "{target}");
        assert_eq!(head.target.path_and_query(), path_and_query, "{target}");
    }
}

#[test]
fn invalid_targets_are_refused() {
    use Problem::{InvalidAuthority, InvalidTarget};
    // method, target, offset within the target, problem
    for (method, target, offset, problem) in [
        ("GET", "x", 0, InvalidTarget),
        ("GET", "*", 0, InvalidTarget),
        ("GET", "a.test:443", 6, InvalidTarget),
        ("GET", "1http://a/", 0, InvalidTarget),
        ("GET", "http:/a/", 4, InvalidTarget),
        ("GET", "http://", 7, InvalidAuthority),
        ("GET", "http:///x", 7, InvalidAuthority),
        ("GET", "http://u@a/", 7, InvalidAuthority),
        ("GET", "http://a:x/", 7, InvalidAuthority),
        ("GET", "http://a:65536/", 7, InvalidAuthority),
        ("GET", "http://[::1/", 7, InvalidAuthority),
        ("GET", "http://[::1]x/", 7, InvalidAuthority),
        ("GET", "http://[v1.x]/", 7, InvalidAuthority),
        ("GET", "http://a/[", 9, InvalidTarget),
        ("CONNECT", "/", 0, InvalidTarget),
        ("CONNECT", "a.test", 0, InvalidTarget),
        ("CONNECT", "a.test:", 0, InvalidTarget),
        ("CONNECT", "http://a.test:80/", 0, InvalidTarget),
        ("GET", "/a#b", 2, InvalidTarget),
        ("GET", "/%", 1, InvalidTarget),
        ("GET", "/%4", 1, InvalidTarget),
        ("GET", "/%4g", 1, InvalidTarget),
        ("GET", "/\"", 1, InvalidTarget),
        ("GET", "/<", 1, InvalidTarget),
        ("GET", "/>", 1, InvalidTarget),
        ("GET", "/\\", 1, InvalidTarget),
        ("GET", "/^", 1, InvalidTarget),
        ("GET", "/`", 1, InvalidTarget),
        ("GET", "/{", 1, InvalidTarget),
        ("GET", "/|", 1, InvalidTarget),
        ("GET", "/}", 1, InvalidTarget),
        ("GET", "/[", 1, InvalidTarget),
        ("GET", "/]", 1, InvalidTarget),
        ("GET", "/\u{7f}", 1, InvalidTarget),
        ("GET", "/\u{e9}", 1, InvalidTarget),
        ("GET", "/\0", 1, InvalidTarget),
        ("GET", "/\t", 1, InvalidTarget),
    ] {
        let bytes = format!("{method} {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let start = method.len() as u64 + 1;
        let found = refused(bytes.as_bytes(), &Limits::default());
        assert_eq!(found, (start + offset, problem), "{method} {target}");
    }
}

#[test]
fn targets_of_lax_user_agents_can_be_accepted() {
    let tolerance = Tolerance {
        unescaped_target: true,
        ..Tolerance::NONE
    };
    let limits = Limits {
        tolerance,
        ..Limits::default()
    };
    for target in [
        "/?a|b",
        "/{}",
        "/^`\\\"<>",
        "/%",
        "/%zz",
        "/?a[0]=1",
        "http://a/[]?%4",
    ] {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        let Ok(Parse::Complete { head, .. }) = request::parse(bytes.as_bytes(), &limits) else {
            panic!("{target}");
        };
        assert_eq!(head.target.as_str(), target);
    }
    for target in ["/#", "/\u{e9}", "/\u{7f}", "/\u{1}"] {
        let bytes = format!("GET {target} HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(
            refused(bytes.as_bytes(), &limits),
            (5, Problem::InvalidTarget),
            "{target}"
        );
    }
}

#[test]
fn host_is_single_and_valid() {
    use Problem::{DuplicateHost, InvalidHost, MissingHost};
    let parse = |version: &str, target: &str, fields: &str| {
        let bytes = format!("GET {target} HTTP/{version}\r\n{fields}\r\n");
        request::parse(bytes.as_bytes(), &Limits::default())
            .map(|_| ())
            .map_err(|error| error.problem)
    };
    for (version, target, fields, expected) in [
        ("1.1", "/", "", Err(MissingHost)),
        ("1.1", "http://a/", "", Err(MissingHost)),
        ("1.0", "/", "", Ok(())),
        ("1.1", "/", "Host: a\r\nHost: a\r\n", Err(DuplicateHost)),
        ("1.0", "/", "Host: a\r\nhost: b\r\n", Err(DuplicateHost)),
        ("1.1", "/", "Host:\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: :80\r\n", Err(InvalidHost)),
        ("1.0", "/", "Host:\r\n", Ok(())),
        ("1.1", "http://a/", "Host:\r\n", Ok(())),
        ("1.1", "/", "Host: a b\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a,b\r\n", Ok(())),
        ("1.1", "/", "Host: a/b\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: u@a\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a:80:80\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a:99999\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a:-1\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: a:\r\n", Ok(())),
        ("1.1", "/", "Host: a_b-c.d~%41!\r\n", Ok(())),
        ("1.1", "/", "Host: a%4\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: \u{e9}\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: [::1]:80\r\n", Ok(())),
        ("1.1", "/", "Host: ::1\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: [::g]\r\n", Err(InvalidHost)),
        ("1.1", "/", "Host: [fe80::1%25eth0]\r\n", Err(InvalidHost)),
    ] {
        assert_eq!(
            parse(version, target, fields),
            expected,
            "HTTP/{version} {target} {fields:?}"
        );
    }
}
