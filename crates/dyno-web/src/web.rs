//! A web: its model, seed and digest.

use std::collections::{HashMap, HashSet};

use crate::draw::SeedKey;
use crate::model::{HostEntry, Model};
use crate::samplers::Samplers;

/// A web: a model with its seed.
#[derive(Debug, Clone)]
pub struct Web {
    pub(crate) model: Model,
    seed: u64,
    pub(crate) key: SeedKey,
    pub(crate) samplers: Samplers,
    /// Indices of the `[[host]]` entries by name.
    entries: HashMap<String, usize>,
    reliable: HashSet<String>,
    /// The entry of every host in a reliable domain.
    reliable_entry: HostEntry,
    pub(crate) has_odd_hosts: bool,
}

impl Web {
    /// Builds the web of `model`; `seed` replaces the model's own.
    #[must_use]
    pub fn new(model: Model, seed: Option<u64>) -> Self {
        let seed = seed.unwrap_or(model.seed);
        let samplers = Samplers::new(&model);
        let entries = model
            .hosts
            .iter()
            .enumerate()
            .map(|(place, entry)| (entry.name.clone(), place))
            .collect();
        Self {
            key: SeedKey::new(seed),
            seed,
            samplers,
            entries,
            has_odd_hosts: !model.oddities.is_empty()
                || model.hosts.iter().any(|host| host.oddity.is_some()),
            reliable: model.names.reliable.iter().cloned().collect(),
            reliable_entry: HostEntry {
                status: Some(200),
                ..HostEntry::default()
            },
            model,
        }
    }

    /// The `[[host]]` entry of a host, or the common entry of reliable hosts.
    pub(crate) fn entry(&self, host: &str) -> Option<&HostEntry> {
        if let Some(&place) = self.entries.get(host) {
            return Some(&self.model.hosts[place]);
        }
        self.is_reliable(host).then_some(&self.reliable_entry)
    }

    /// Whether a host is in a reliable domain: its name, or a suffix after one of its dots, is one.
    fn is_reliable(&self, host: &str) -> bool {
        let below = host.match_indices('.').map(|(dot, _)| &host[dot + 1..]);
        !self.reliable.is_empty()
            && std::iter::once(host)
                .chain(below)
                .any(|domain| self.reliable.contains(domain))
    }

    /// The model of this web.
    #[must_use]
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The seed of every answer.
    #[must_use]
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// A digest (32 hex digits) of model and seed: webs with the same digest give the same answers.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.seed.to_le_bytes());
        hasher.update(self.model.canonical().as_bytes());
        hasher.finalize().to_hex()[..32].to_owned()
    }
}
