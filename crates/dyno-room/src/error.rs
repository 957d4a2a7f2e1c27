//! What can go wrong with a room: each error is one line that says what, where and what to do.

use std::io;

/// Why a room could not be made, furnished or run.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// The kernel refused a step that the room cannot do without.
    #[error("{step}: {source}{}", cure_suffix(cure.as_ref()))]
    Refused {
        /// The step, in words a user understands.
        step: String,
        /// What the kernel said.
        source: io::Error,
        /// What to do about it, where that is known.
        cure: Option<String>,
    },
    /// The caller asked for something that cannot be.
    #[error("{what}; {cure}")]
    Invalid {
        /// What was wrong, and where.
        what: String,
        /// What to do about it.
        cure: String,
    },
    /// The room's first process ended before its subject did.
    #[error(
        "the room's first process ended unexpectedly ({how}); whatever ran in the room was killed with it; start it again"
    )]
    InitEnded {
        /// How it ended: a signal or an exit code.
        how: String,
    },
    /// The room's first process reported a failure of its own.
    #[error("{0}")]
    Init(String),
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, RoomError>;

fn cure_suffix(cure: Option<&String>) -> String {
    cure.map_or_else(String::new, |cure| format!("; {cure}"))
}

/// Turns the error of a system call into a [`RoomError`] that names the step.
pub(crate) trait Step<T> {
    /// Names the step that failed.
    fn step(self, step: impl FnOnce() -> String) -> Result<T>;
}

impl<T, E: Into<io::Error>> Step<T> for std::result::Result<T, E> {
    fn step(self, step: impl FnOnce() -> String) -> Result<T> {
        self.map_err(|source| RoomError::Refused {
            step: step(),
            source: source.into(),
            cure: None,
        })
    }
}

impl RoomError {
    /// Adds what to do about it to a refusal; other errors stay as they are.
    #[must_use]
    pub(crate) fn with_cure(self, advice: &str) -> Self {
        match self {
            Self::Refused { step, source, .. } => Self::Refused {
                step,
                source,
                cure: Some(advice.to_owned()),
            },
            other => other,
        }
    }
}
