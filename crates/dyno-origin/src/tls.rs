//! The TLS configurations of a web's hosts; all hosts of a kind share one.

use std::sync::Arc;

use dyno_http::{HttpVersion, PerVersion};
use dyno_web::{Handshake, Web};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, kx_group};
use rustls::server::{ClientHello, NoServerSessionStorage, ProducesTickets, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};

use crate::authority::Authority;
use crate::error::Error;

/// Key-exchange groups that are offered, in this order: fixed, so that trials can be compared.
///
/// No post-quantum hybrid is included: its key shares are thirty times as large, and fewer than half of the clients
/// support one.
pub const KEY_EXCHANGE_GROUPS: [&str; 3] = ["X25519", "secp256r1", "secp384r1"];

/// Tickets sent after a full handshake of TLS 1.3: two, like OpenSSL, so that a client can resume on two further
/// connections.
const TICKETS: usize = 2;

/// State that all handshakes share.
pub(crate) struct Tls {
    authority: Arc<Authority>,
    web: Arc<Web>,
    /// Cryptography with [`KEY_EXCHANGE_GROUPS`].
    provider: Arc<CryptoProvider>,
    /// Configurations by the newest version of HTTP that a host offers.
    configs: PerVersion<Configs>,
}

/// The configurations of hosts that offer the same versions of HTTP.
struct Configs {
    newer: Arc<ServerConfig>,
    only_1_2: Arc<ServerConfig>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// Selects a certificate by the name that the client sends.
#[derive(Debug)]
struct ByName {
    authority: Arc<Authority>,
    web: Arc<Web>,
}

impl ResolvesServerCert for ByName {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let host = hello.server_name()?;
        self.authority.leaf(host, self.web.handshake(host)).ok()
    }
}

/// Presents one certificate, whatever name the client sends.
#[derive(Debug)]
pub(crate) struct Fixed(pub(crate) Arc<CertifiedKey>);

impl ResolvesServerCert for Fixed {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.clone())
    }
}

impl Tls {
    pub(crate) fn new(authority: Arc<Authority>, web: Arc<Web>) -> Result<Self, Error> {
        let provider = CryptoProvider {
            kx_groups: vec![kx_group::X25519, kx_group::SECP256R1, kx_group::SECP384R1],
            ..CryptoProvider::clone(authority.provider())
        };
        let provider = Arc::new(provider);
        let by_name = Arc::new(ByName {
            authority: authority.clone(),
            web: web.clone(),
        });
        // One ticket key for all hosts: each ticket contains the host that issued it, and only that host accepts it.
        let ticketer = Ticketer::new()?;
        let config = |versions| config(&provider, versions, by_name.clone(), ticketer.clone());
        let newer = config(rustls::ALL_VERSIONS)?;
        let only_1_2 = config(&[&version::TLS12])?;
        Ok(Self {
            configs: PerVersion::from_fn(|newest| Configs {
                newer: offering(&newer, newest),
                only_1_2: offering(&only_1_2, newest),
            }),
            provider,
            authority,
            web,
        })
    }

    pub(crate) fn web(&self) -> &Web {
        &self.web
    }

    pub(crate) fn authority(&self) -> &Authority {
        &self.authority
    }

    pub(crate) fn provider(&self) -> &Arc<CryptoProvider> {
        &self.provider
    }

    /// The configuration of the host that the client named.
    pub(crate) fn config(&self, handshake: Handshake) -> Arc<ServerConfig> {
        self.known(handshake).clone()
    }

    /// The configuration for a client that names no host: it gets the certificate of the address to which it connected.
    pub(crate) fn config_of_address(
        &self,
        address: &str,
        handshake: Handshake,
    ) -> Result<Arc<ServerConfig>, Error> {
        let leaf = self.authority.leaf(address, handshake)?;
        let mut config = ServerConfig::clone(self.known(handshake));
        config.cert_resolver = Arc::new(Fixed(leaf));
        Ok(Arc::new(config))
    }

    fn known(&self, handshake: Handshake) -> &Arc<ServerConfig> {
        let configs = &self.configs[handshake.newest];
        if handshake.only_1_2 {
            &configs.only_1_2
        } else {
            &configs.newer
        }
    }
}

/// The same configuration, offering all versions from HTTP/1.1 up to `newest`, which is preferred.
fn offering(config: &ServerConfig, newest: HttpVersion) -> Arc<ServerConfig> {
    let offered = HttpVersion::ALL
        .into_iter()
        .rev()
        .filter(|version| (HttpVersion::Http11..=newest).contains(version));
    let mut config = config.clone();
    config.alpn_protocols = offered.map(|version| version.alpn().to_vec()).collect();
    Arc::new(config)
}

fn config(
    provider: &Arc<CryptoProvider>,
    versions: &[&'static rustls::SupportedProtocolVersion],
    certificates: Arc<ByName>,
    ticketer: Arc<dyn ProducesTickets>,
) -> Result<ServerConfig, Error> {
    let builder =
        ServerConfig::builder_with_provider(provider.clone()).with_protocol_versions(versions)?;
    let mut config = builder
        .with_no_client_auth()
        .with_cert_resolver(certificates);
    config.ticketer = ticketer;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = TICKETS;
    Ok(config)
}
