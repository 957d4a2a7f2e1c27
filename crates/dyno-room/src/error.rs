//! Errors of a room: each is one line with what failed, where, and what to do.

use std::io;

/// Why a room could not be made, set up or run.
#[derive(Debug, thiserror::Error)]
pub enum RoomError {
    /// The kernel refused a step that the room requires.
    #[error("{step}: {source}{}", cure_suffix(cure.as_ref()))]
    Refused {
        /// The step, in the user's words.
        step: String,
        /// The kernel's error.
        source: io::Error,
        /// The cure, if known.
        cure: Option<String>,
    },
    /// The arguments are impossible.
    #[error("{what}; {cure}")]
    Invalid {
        /// The fault and its place.
        what: String,
        /// The cure.
        cure: String,
    },
    /// The room's first process ended before its subject did.
    #[error(
        "the room's first process ended unexpectedly ({how}), and every process of the room was killed with it; run the trial again"
    )]
    InitEnded {
        /// Exit code or signal.
        how: String,
    },
    /// The room's first process reported a failure of its own.
    #[error("{0}")]
    Init(String),
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, RoomError>;

fn cure_suffix(cure: Option<&String>) -> String {
    cure.map_or_else(String::new, |cure| format!("; {cure}"))
}

/// Convert the error of a system call into a [`RoomError`] that names the step.
pub(crate) trait Step<T> {
    /// Name the step that failed.
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
    /// Add the remedy to a refusal; other errors stay unchanged.
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
