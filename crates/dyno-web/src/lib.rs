//! What each URL of a web answers, what a correct client gets: pure functions of a seed, a model, a request.
//!
//! A [`Web`] is a [`Model`] (TOML, see `webs/`) with a seed. Ask it
//!
//! - [`Web::resolve`]: what the name servers say of a host name, how late;
//! - [`Web::connection`]: what happens to a connection to an address;
//! - [`Web::handshake`]: the certificate, versions, faults of a TLS handshake for a host name;
//! - [`Web::answer`]: what the origin server answers to one request;
//! - [`Web::urls`]: the URLs of the web;
//! - [`Web::expect`]: what a correct client reports for a URL.
//!
//! Nothing here reads a clock, a file or a socket; nothing depends on floating-point functions of the platform.
#![forbid(unsafe_code)]

mod address;
mod answer;
mod coding;
mod content;
mod draw;
mod expect;
mod fault;
mod fixed_path;
mod framing;
mod key_kind;
mod listed_url;
mod listing;
mod log_normal;
mod model;
mod name;
mod normal_quantiles;
mod respond;
mod scheme;
mod site;
mod units;

pub use address::{Block, CLOSED_V4, CLOSED_V6, SILENT_V4, SILENT_V6, WEB_V4, WEB_V6};
pub use answer::{Answer, Content, Drip, Request};
pub use coding::{Accepted, Coding};
pub use content::{CLASSES, Class, JSON_DOCUMENT, LONGEST_PAGE, PLAIN_DOCUMENT, STREAM_LINE, text};
pub use expect::{Expectation, Outcome};
pub use fault::{Fault, Layer};
pub use framing::Framing;
pub use key_kind::KeyKind;
pub use model::{Model, ModelError};
pub use scheme::Scheme;
pub use site::{Handshake, Resolution, Resolved};
pub use units::{Bytes, Nanos};

use std::collections::HashMap;

use draw::SeedKey;

/// A web: a model with its seed, ready to be asked.
#[derive(Debug, Clone)]
pub struct Web {
    model: Model,
    seed: u64,
    key: SeedKey,
    samplers: site::Samplers,
    /// Places of the `[[host]]` entries by name.
    entries: HashMap<String, usize>,
}

impl Web {
    /// Builds the web of `model`; `seed` replaces the model's own.
    #[must_use]
    pub fn new(model: Model, seed: Option<u64>) -> Self {
        let seed = seed.unwrap_or(model.seed);
        let samplers = site::Samplers::new(&model);
        let entries = model
            .hosts
            .iter()
            .enumerate()
            .map(|(place, entry)| (entry.name.clone(), place))
            .collect();
        Self {
            key: SeedKey::new(seed),
            model,
            seed,
            samplers,
            entries,
        }
    }

    /// The model that this web plays.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The seed that every answer follows from.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A digest (32 hex digits) of model with seed: two webs with one digest answer alike.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_le_bytes());
        hasher.update(self.model.canonical().as_bytes());
        hasher.finalize().to_hex()[..32].to_owned()
    }
}
