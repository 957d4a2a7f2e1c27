//! What this machine can do, for `doctor`: each fact with its consequence and its cure.

mod machine;
mod measurement;
mod rooms;

use serde::Serialize;

/// One thing that a room or a measurement may need.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// Its name, as users and scripts know it: `user_namespaces`.
    pub name: &'static str,
    /// What was found.
    pub value: Value,
    /// Whether it serves.
    pub ok: Fitness,
    /// What follows where it does not serve, or not fully.
    pub consequence: Option<String>,
    /// What to do about it.
    pub cure: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Value {
    /// It is there, or not.
    Flag(bool),
    /// A count or a limit.
    Number(i64),
    /// A name or an explanation.
    Text(String),
    /// Several names.
    List(Vec<String>),
    /// The machine does not tell.
    Unknown,
}

/// How well something serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fitness {
    /// Fully.
    Yes,
    /// With a loss.
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

/// Looks at the machine. Call it while the process has one thread: some facts are tried out in a child.
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
    fn a_fact_that_does_not_serve_says_what_to_do() {
        for fact in machine::facts().into_iter().chain(measurement::facts()) {
            assert!(
                fact.ok == Fitness::Yes || fact.cure.is_some() && fact.consequence.is_some(),
                "{fact:?}"
            );
        }
    }
}
