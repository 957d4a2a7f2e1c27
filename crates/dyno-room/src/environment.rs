//! Environment variables of programs in the room.

use std::ffi::{OsStr, OsString};

use crate::files::{BUNDLE, CERTIFICATES, HOME, TEMPORARY};
use crate::options::Environment;

/// Default if the caller has no `PATH`.
const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Variables that make runtimes trust the room's authority and disable their network requests to vendors.
const ROOM: &[(&str, &str)] = &[
    ("SSL_CERT_FILE", BUNDLE),
    ("SSL_CERT_DIR", CERTIFICATES),
    ("REQUESTS_CA_BUNDLE", BUNDLE),
    ("CURL_CA_BUNDLE", BUNDLE),
    ("NODE_EXTRA_CA_CERTS", BUNDLE),
    ("DENO_TLS_CA_STORE", "system"),
    ("DENO_NO_UPDATE_CHECK", "1"),
    ("DOTNET_CLI_TELEMETRY_OPTOUT", "1"),
];

/// Variables of trust, proxies (in either case) and name lookup that a machine may set. They would mask failures.
const REMOVED: &[&str] = &[
    "AWS_CA_BUNDLE",
    "CARGO_HTTP_CAINFO",
    "DENO_CERT",
    "GIT_SSL_CAINFO",
    "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    "NIX_SSL_CERT_FILE",
    "PIP_CERT",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "RES_OPTIONS",
];
const REMOVED_SUFFIX: &str = "_PROXY";

type Variables = Vec<(OsString, OsString)>;

/// Return the variables of a program, derived from the caller's.
///
/// `trusts_authorities` says whether the room has its own authority; without one, the variables of trust are not set.
pub(crate) fn variables(
    environment: &Environment,
    caller: impl Iterator<Item = (OsString, OsString)>,
    trusts_authorities: bool,
) -> Variables {
    let (mut variables, own) = match environment {
        Environment::Clean(own) => (clean(caller), own),
        Environment::Inherited(own) => {
            (caller.filter(|(name, _)| !is_removed(name)).collect(), own)
        }
    };
    let room = ROOM
        .iter()
        .filter(|(_, value)| trusts_authorities || !value.starts_with('/'))
        .map(|(name, value)| (OsString::from(name), OsString::from(value)));
    for (name, value) in room.chain(own.iter().cloned()) {
        variables.retain(|(known, _)| *known != name);
        variables.push((name, value));
    }
    variables
}

/// The minimum for a program to run.
fn clean(mut caller: impl Iterator<Item = (OsString, OsString)>) -> Variables {
    let path = caller.find(|(name, _)| name == "PATH");
    let path = path.map_or_else(|| DEFAULT_PATH.into(), |(_, value)| value);
    let fixed = [
        ("HOME", HOME),
        ("TMPDIR", TEMPORARY),
        ("LANG", "C.UTF-8"),
        ("TZ", "UTC"),
    ];
    [("PATH".into(), path)]
        .into_iter()
        .chain(fixed.map(|(name, value)| (name.into(), value.into())))
        .collect()
}

fn is_removed(name: &OsStr) -> bool {
    let name = name.to_string_lossy().to_ascii_uppercase();
    name.ends_with(REMOVED_SUFFIX)
        || REMOVED.contains(&name.as_str())
        || ROOM.iter().any(|(known, _)| *known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        list.iter()
            .map(|(name, value)| (name.into(), value.into()))
            .collect()
    }

    fn value<'a>(variables: &'a [(OsString, OsString)], name: &str) -> Option<&'a str> {
        let mut found = variables.iter().filter(|(known, _)| known == name);
        let value = found.next().and_then(|(_, value)| value.to_str());
        assert!(found.next().is_none(), "{name} is there twice");
        value
    }

    #[test]
    fn a_clean_environment_passes_only_the_path() {
        let caller = pairs(&[("PATH", "/opt/bin"), ("SECRET", "x"), ("https_proxy", "y")]);
        let own = Environment::Clean(pairs(&[("CONCURRENCY", "5"), ("TZ", "Asia/Tokyo")]));
        let found = variables(&own, caller.into_iter(), true);
        for (name, expected) in [
            ("PATH", Some("/opt/bin")),
            ("SECRET", None),
            ("https_proxy", None),
            ("CONCURRENCY", Some("5")),
            ("TZ", Some("Asia/Tokyo")),
            ("LANG", Some("C.UTF-8")),
            ("SSL_CERT_FILE", Some(BUNDLE)),
        ] {
            assert_eq!(value(&found, name), expected, "{name}");
        }
    }

    #[test]
    fn an_inherited_environment_drops_proxies_and_trust() {
        let caller = pairs(&[
            ("EDITOR", "vi"),
            ("HTTPS_PROXY", "a"),
            ("no_proxy", "b"),
            ("Pip_Cert", "c"),
            ("RES_OPTIONS", "d"),
            ("CURL_CA_BUNDLE", "/home/me/ca.pem"),
        ]);
        let found = variables(&Environment::Inherited(vec![]), caller.into_iter(), true);
        for (name, expected) in [
            ("EDITOR", Some("vi")),
            ("HTTPS_PROXY", None),
            ("no_proxy", None),
            ("Pip_Cert", None),
            ("RES_OPTIONS", None),
            ("CURL_CA_BUNDLE", Some(BUNDLE)),
            ("HOME", None),
        ] {
            assert_eq!(value(&found, name), expected, "{name}");
        }
    }

    #[test]
    fn without_an_authority_no_variable_points_to_one() {
        let found = variables(&Environment::Clean(vec![]), std::iter::empty(), false);
        assert_eq!(value(&found, "SSL_CERT_FILE"), None);
        assert_eq!(value(&found, "PATH"), Some(DEFAULT_PATH));
        assert_eq!(value(&found, "DENO_NO_UPDATE_CHECK"), Some("1"));
    }
}
