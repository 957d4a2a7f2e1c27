//! Capabilities of this machine, for `doctor`: each fact with its consequence and remedy.

mod machine;
mod measurement;
mod rooms;

use serde::Serialize;

/// One capability that a room or a measurement may need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Name for users and scripts: `user_namespaces`.
    pub name: &'static str,
    /// Value found.
    pub value: Value,
    /// Whether it suffices.
    pub ok: Fitness,
    /// The feature that does not work, if the fact does not fully suffice.
    pub consequence: Option<String>,
    /// The cure.
    pub cure: Option<String>,
}

/// Value of a fact.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// Present or absent.
    Flag(bool),
    /// A count or a limit.
    Number(i64),
    /// A name or an explanation.
    Text(String),
    /// Several names.
    List(Vec<String>),
    /// The machine does not report it.
    Unknown,
}

/// How well a capability suffices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fitness {
    /// Fully.
    Yes,
    /// With restrictions.
    Limited,
    /// Not at all.
    No,
}

impl Fact {
    fn good(name: &'static str, value: Value) -> Self {
        Self {
            name,
            value,
            ok: Fitness::Yes,
            consequence: None,
            cure: None,
        }
    }

    fn poor(name: &'static str, value: Value, ok: Fitness, consequence: &str, cure: &str) -> Self {
        Self {
            name,
            value,
            ok,
            consequence: Some(consequence.to_owned()),
            cure: Some(cure.to_owned()),
        }
    }
}

/// Inspect the machine. Call this while the process has a single thread: some facts are tested in a forked child.
#[must_use]
pub fn facts() -> Vec<Fact> {
    let mut facts = rooms::facts();
    facts.extend(measurement::facts());
    facts.extend(machine::facts());
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fact_is_plain_json() {
        let fact = Fact::poor(
            "cpus",
            Value::Number(1),
            Fitness::Limited,
            "they share it",
            "add one",
        );
        assert_eq!(
            serde_json::to_string(&[fact, Fact::good("x", Value::Unknown)]).unwrap(),
            r#"[{"name":"cpus","value":1,"ok":"limited","consequence":"they share it","cure":"add one"},{"name":"x","value":null,"ok":"yes","consequence":null,"cure":null}]"#
        );
    }

    #[test]
    fn an_insufficient_fact_has_a_remedy() {
        for fact in machine::facts().into_iter().chain(measurement::facts()) {
            assert!(
                fact.ok == Fitness::Yes || fact.cure.is_some() && fact.consequence.is_some(),
                "{fact:?}"
            );
        }
    }
}
