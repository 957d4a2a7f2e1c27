//! Names of failures and the like in a report that is read: kept for the life of the program, as its own names are.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Deserializer};

static KEPT: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns the name; equal names are kept once.
fn keep(name: &str) -> &'static str {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = kept.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.into());
    kept.insert(name);
    name
}

/// Reads a name.
pub(crate) fn name<'de, D: Deserializer<'de>>(from: D) -> Result<&'static str, D::Error> {
    String::deserialize(from).map(|name| keep(&name))
}

/// Reads a name, or null.
pub(crate) fn optional<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<&'static str>, D::Error> {
    Option::<String>::deserialize(from).map(|name| name.map(|name| keep(&name)))
}

/// Reads counts by name.
pub(crate) fn counts<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<BTreeMap<&'static str, u64>, D::Error> {
    let counts = BTreeMap::<String, u64>::deserialize(from)?;
    Ok(counts
        .iter()
        .map(|(name, count)| (keep(name), *count))
        .collect())
}
