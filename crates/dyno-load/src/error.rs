//! Errors that end a run without a report.

use std::io;
use std::path::{Path, PathBuf};

use dyno_client::tls;
use thiserror::Error as ThisError;

/// Why there is no report.
#[derive(Debug, ThisError)]
pub enum Error {
    /// An output file cannot be created; nothing was sent.
    #[error("{option} {}", path.display())]
    Create {
        /// The option that names it.
        option: &'static str,
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file cannot be written any further.
    #[error("{}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The authorities to trust.
    #[error("{}", path.display())]
    Authorities {
        /// The file that they are in.
        path: PathBuf,
        /// Why.
        source: tls::Error,
    },
    /// The system refused a thread, its CPU or its timer.
    #[error("starting a thread: {0}; see the limits of this process: ulimit -a")]
    Thread(io::Error),
}

impl Error {
    pub(crate) fn create(option: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Create {
            option,
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn file(path: &Path, source: io::Error) -> Self {
        Self::File {
            path: path.to_owned(),
            source,
        }
    }
}
