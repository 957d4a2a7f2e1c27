//! The server configurations of a web's hosts, shared by all hosts of a kind.

use std::sync::Arc;

use dyno_web::{Handshake, Web};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{Ticketer, kx_group};
use rustls::server::{ClientHello, NoServerSessionStorage, ProducesTickets, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, version};

use crate::authority::Authority;
use crate::error::Error;

/// The key-exchange groups that are offered, in this order: fixed, so that trials can be compared.
///
/// Without a post-quantum hybrid: its key shares are thirty times as large, and not half of the clients have one.
pub const KEY_EXCHANGE_GROUPS: [&str; 3] = ["X25519", "secp256r1", "secp384r1"];

/// What ALPN calls HTTP/2 over TLS (RFC 9113, section 3.1).
pub(crate) const HTTP2: &[u8] = b"h2";

/// Tickets sent after a full handshake of TLS 1.3: two, as OpenSSL sends, so that a client can open two connections more.
const TICKETS: usize = 2;

/// All that handshakes share.
pub(crate) struct Tls {
    authority: Arc<Authority>,
    web: Arc<Web>,
    /// In the order of [`place`].
    configs: [Arc<ServerConfig>; 4],
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Tls").finish_non_exhaustive()
    }
}

/// Finds a leaf by the name that the client asks for.
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

/// Shows one leaf, whatever the client asks for.
#[derive(Debug)]
struct Fixed(Arc<CertifiedKey>);

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
        // One key for the tickets of all hosts: that a ticket is taken by the host that gave it only, is in the ticket.
        let ticketer = Ticketer::new()?;
        let config = |versions| config(&provider, versions, by_name.clone(), ticketer.clone());
        let both = config(rustls::ALL_VERSIONS)?;
        let only_1_2 = config(&[&version::TLS12])?;
        let configs = [
            both.clone(),
            only_1_2.clone(),
            with_http2(both),
            with_http2(only_1_2),
        ];
        Ok(Self {
            configs: configs.map(Arc::new),
            authority,
            web,
        })
    }

    pub(crate) fn web(&self) -> &Web {
        &self.web
    }

    /// The configuration of a host that was asked for by name.
    pub(crate) fn config(&self, handshake: Handshake) -> Arc<ServerConfig> {
        self.configs[place(handshake)].clone()
    }

    /// The configuration for a client that names no host: it gets the leaf of the address that it connected to.
    pub(crate) fn config_of_address(
        &self,
        address: &str,
        handshake: Handshake,
    ) -> Result<Arc<ServerConfig>, Error> {
        let leaf = self.authority.leaf(address, handshake)?;
        let mut config = ServerConfig::clone(&self.configs[place(handshake)]);
        config.cert_resolver = Arc::new(Fixed(leaf));
        Ok(Arc::new(config))
    }
}

/// Which configuration a host has.
fn place(handshake: Handshake) -> usize {
    usize::from(handshake.only_1_2) | usize::from(handshake.http2) << 1
}

/// The same, with HTTP/2 before HTTP/1.1 in what is offered.
fn with_http2(mut config: ServerConfig) -> ServerConfig {
    config.alpn_protocols.insert(0, HTTP2.to_vec());
    config
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
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    config.ticketer = ticketer;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = TICKETS;
    Ok(config)
}
