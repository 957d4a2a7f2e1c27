//! The files that the room mounts over the machine's: paths and content.

use std::fmt::Write as _;
use std::net::IpAddr;
use std::path::Path;

use crate::addresses::PEER_V4;
use crate::java_keystore::java_keystore;
use crate::options::Authority;
use crate::protocol::NameFiles;
use crate::subject_hash::subject_hash;

/// The room's own folder, on a tmpfs that ends with the room.
pub(crate) const FOLDER: &str = "/run/httpdyno";
/// Home of a subject with a clean environment.
pub(crate) const HOME: &str = "/run/httpdyno/home";
/// Its folder for temporary files.
pub(crate) const TEMPORARY: &str = "/run/httpdyno/tmp";
/// OpenSSL's directory of authorities on Debian and its derivatives.
pub(crate) const CERTIFICATES: &str = "/etc/ssl/certs";
/// The bundle in this directory.
pub(crate) const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Fully qualified name of a peer program, for clients that reject names without a dot.
const PEER_NAME: &str = "peer.example";

/// Return the name files of a sealed room.
pub(crate) fn sealed_names(hostname: &str) -> NameFiles {
    NameFiles {
        hosts: hosts(hostname),
        resolver: resolver_configuration(),
    }
}

/// Return the resolver's configuration: names are looked up at the peer's end of the link.
fn resolver_configuration() -> String {
    format!("nameserver {}\n", PEER_V4.address)
}

/// Return the name service configuration: the hosts file, then DNS; no mDNS, systemd-resolved or LDAP.
pub(crate) fn name_service_switch() -> &'static str {
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n"
}

/// Return the hosts file. It must contain this host's own name (Ruby's curb looks it up) and the name of a peer program.
fn hosts(hostname: &str) -> String {
    format!(
        "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 {hostname}\n{} peer {PEER_NAME}\n",
        PEER_V4.address
    )
}

/// Return the hosts file of a subject on the machine's own network: these hosts, then the machine's.
pub(crate) fn merged_hosts(hosts: &[(String, IpAddr)], hostname: &str, machine: &str) -> String {
    let mut text = format!("127.0.1.1 {hostname}\n");
    for (name, address) in hosts {
        let _ = writeln!(text, "{address} {name}");
    }
    text.push_str(machine);
    text
}

/// One file of the directory of certificates: its relative path and its content.
pub(crate) type CertificateFile = (String, Vec<u8>);

/// Return the directory that replaces `/etc/ssl/certs`; `None` if a certificate is not DER.
pub(crate) fn certificate_directory(authorities: &[Authority]) -> Option<Vec<CertificateFile>> {
    let mut files = vec![
        ("ca-certificates.crt".to_owned(), bundle(authorities)),
        ("java/cacerts".to_owned(), keystore(authorities)),
    ];
    let mut hashes = Vec::new();
    for authority in authorities {
        let hash = subject_hash(&authority.der)?;
        // The number after the dot distinguishes authorities with equal hashes.
        let number = hashes.iter().filter(|known| **known == hash).count();
        files.push((
            format!("{hash}.{number}"),
            authority.pem.clone().into_bytes(),
        ));
        hashes.push(hash);
    }
    Some(files)
}

/// Return all authorities as PEM.
pub(crate) fn bundle(authorities: &[Authority]) -> Vec<u8> {
    let mut text = String::new();
    for authority in authorities {
        text.push_str(authority.pem.trim_end());
        text.push('\n');
    }
    text.into_bytes()
}

/// Return all authorities as a Java keystore.
pub(crate) fn keystore(authorities: &[Authority]) -> Vec<u8> {
    java_keystore(authorities.iter().map(|authority| authority.der.as_slice()))
}

/// Return a policy that makes Chromium and its derivatives trust the authorities.
pub(crate) fn chromium_policy(authorities: &[Authority]) -> String {
    let certificates: Vec<String> = authorities
        .iter()
        .map(|authority| {
            let lines = authority.pem.lines();
            // Between the first and the last line of PEM is the DER in base64.
            lines.filter(|line| !line.starts_with('-')).collect()
        })
        .collect();
    serde_json::json!({ "CACertificates": certificates }).to_string()
}

/// Return a policy that makes Firefox trust the authorities with a file of their own in the directory of certificates.
pub(crate) fn firefox_policy(directory: &[CertificateFile]) -> String {
    let is_one = |name: &str| {
        let number = name.rsplit_once('.').map(|(_, number)| number);
        number.is_some_and(|number| number.parse::<usize>().is_ok())
    };
    let one_each = directory.iter().filter(|(name, _)| is_one(name));
    let paths: Vec<String> = one_each
        .map(|(name, _)| format!("{CERTIFICATES}/{name}"))
        .collect();
    serde_json::json!({ "policies": { "Certificates": { "Install": paths } } }).to_string()
}

/// Return whether a trust file is a Java keystore rather than PEM, by its name.
pub(crate) fn is_java_keystore(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name == "cacerts" || name == "jssecacerts")
        || path.extension().is_some_and(|extension| extension == "jks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_file_names_this_host() {
        assert!(hosts("subject").contains("\n127.0.1.1 subject\n"));
    }

    #[test]
    fn the_hosts_file_names_a_peer_program() {
        assert!(hosts("subject").contains("\n198.18.0.1 peer peer.example\n"));
    }

    #[test]
    fn hosts_of_other_machines_precede_the_machines_own() {
        let hosts = [("other".to_owned(), [192, 0, 2, 1].into())];
        assert_eq!(
            merged_hosts(&hosts, "subject", "127.0.0.1 localhost\n192.0.2.9 other\n"),
            "127.0.1.1 subject\n192.0.2.1 other\n127.0.0.1 localhost\n192.0.2.9 other\n"
        );
    }

    #[test]
    fn trust_files_are_distinguished_by_name() {
        for (path, java) in [
            ("/opt/venv/certifi/cacert.pem", false),
            ("/usr/lib/jvm/x/lib/security/cacerts", true),
            ("/opt/app/trust.jks", true),
            ("/etc/ssl/cert.pem", false),
        ] {
            assert_eq!(is_java_keystore(Path::new(path)), java, "{path}");
        }
    }

    #[test]
    fn policies_name_each_authority() {
        let authority = |certificate: &str| Authority {
            pem: format!(
                "-----BEGIN CERTIFICATE-----\n{certificate}\nAA==\n-----END CERTIFICATE-----\n"
            ),
            der: Vec::new(),
        };
        assert_eq!(
            chromium_policy(&[authority("MIIB"), authority("MIIC")]),
            r#"{"CACertificates":["MIIBAA==","MIICAA=="]}"#
        );
        let directory = [
            "ca-certificates.crt",
            "java/cacerts",
            "5a5d7a0e.0",
            "5a5d7a0e.1",
        ];
        let directory = directory.map(|name| (name.to_owned(), Vec::new()));
        assert_eq!(
            firefox_policy(&directory),
            r#"{"policies":{"Certificates":{"Install":["/etc/ssl/certs/5a5d7a0e.0","/etc/ssl/certs/5a5d7a0e.1"]}}}"#
        );
    }

    #[test]
    fn an_invalid_certificate_is_detected() {
        let authority = Authority {
            pem: String::new(),
            der: b"nonsense".to_vec(),
        };
        assert_eq!(certificate_directory(&[authority]), None);
    }
}
