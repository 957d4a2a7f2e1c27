//! What this machine can do, for `doctor`.

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

/// Looks at the machine. Call it while the process has one thread: some facts are tried out in a child.
#[must_use]
pub fn facts() -> Vec<Fact> {
    unimplemented!()
}
