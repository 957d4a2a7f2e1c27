//! The files that the room lays over the machine's: where they lie and what is in them.

use std::path::Path;

use crate::addresses::PEER_V4;
use crate::java_keystore::java_keystore;
use crate::options::Authority;
use crate::subject_hash::subject_hash;

/// The room's own folder, on a tmpfs that dies with it.
pub(crate) const FOLDER: &str = "/run/httpdyno";
/// The home of a subject with a clean environment.
pub(crate) const HOME: &str = "/run/httpdyno/home";
/// Its folder for temporary files.
pub(crate) const TEMPORARY: &str = "/run/httpdyno/tmp";
/// Where OpenSSL of Debian and its kin look for authorities.
pub(crate) const CERTIFICATES: &str = "/etc/ssl/certs";
/// The bundle there.
pub(crate) const BUNDLE: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Name lookup goes to the peer's end of the link.
pub(crate) fn resolver_configuration() -> String {
    format!("nameserver {}\n", PEER_V4.address)
}

/// Names come from the hosts file, then from DNS: no mDNS, no systemd-resolved, no LDAP.
pub(crate) fn name_service_switch() -> &'static str {
    "passwd: files\ngroup: files\nshadow: files\nhosts: files dns\nnetworks: files\nprotocols: files\nservices: files\n"
}

/// The hosts file: this host's own name must be in it (curb of Ruby looks it up), and a peer program can be called by name.
pub(crate) fn hosts(hostname: &str) -> String {
    format!(
        "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n127.0.1.1 {hostname}\n{} peer\n",
        PEER_V4.address
    )
}

/// One file of the directory of certificates: its path in there and its content.
pub(crate) type CertificateFile = (String, Vec<u8>);

/// The directory that takes the place of `/etc/ssl/certs`; `None` when a certificate is not DER.
pub(crate) fn certificate_directory(authorities: &[Authority]) -> Option<Vec<CertificateFile>> {
    let mut files = vec![
        ("ca-certificates.crt".to_owned(), bundle(authorities)),
        ("java/cacerts".to_owned(), keystore(authorities)),
    ];
    let mut hashes = Vec::new();
    for authority in authorities {
        let hash = subject_hash(&authority.der)?;
        // Authorities that share a name are told apart by the number behind the dot.
        let number = hashes.iter().filter(|known| **known == hash).count();
        files.push((
            format!("{hash}.{number}"),
            authority.pem.clone().into_bytes(),
        ));
        hashes.push(hash);
    }
    Some(files)
}

/// All authorities as PEM.
pub(crate) fn bundle(authorities: &[Authority]) -> Vec<u8> {
    let mut text = String::new();
    for authority in authorities {
        text.push_str(authority.pem.trim_end());
        text.push('\n');
    }
    text.into_bytes()
}

/// All authorities as a Java keystore.
pub(crate) fn keystore(authorities: &[Authority]) -> Vec<u8> {
    java_keystore(authorities.iter().map(|authority| authority.der.as_slice()))
}

/// Whether a trust file is a Java keystore rather than PEM, by its name.
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
    fn trust_files_are_told_apart_by_name() {
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
    fn a_certificate_that_is_none_is_noticed() {
        let authority = Authority {
            pem: String::new(),
            der: b"nonsense".to_vec(),
        };
        assert_eq!(certificate_directory(&[authority]), None);
    }
}
