//! A web, and what is known of it as a whole: its model, seed, digest.

use std::collections::HashMap;

use crate::draw::SeedKey;
use crate::model::Model;
use crate::samplers::Samplers;

/// A web: a model with its seed, ready to be asked.
#[derive(Debug, Clone)]
pub struct Web {
    pub(crate) model: Model,
    seed: u64,
    pub(crate) key: SeedKey,
    pub(crate) samplers: Samplers,
    /// Places of the `[[host]]` entries by name.
    pub(crate) entries: HashMap<String, usize>,
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
