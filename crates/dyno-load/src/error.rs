//! Errors that end a run without a report.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dyno_client::tls;
use thiserror::Error as ThisError;

/// Reason why there is no report.
#[derive(Debug, ThisError)]
pub enum Error {
    /// An output file cannot be created; nothing was sent.
    #[error("{option} {}", path.display())]
    Create {
        /// Option that names the file.
        option: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// Writing to a file failed.
    #[error("{}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The trusted authorities cannot be read.
    #[error("{}", path.display())]
    Authorities {
        /// Path of their file.
        path: PathBuf,
        /// Error of TLS.
        source: tls::Error,
    },
    /// The connections were open only after the moment of the start; nothing was sent.
    #[error("its connections were open {0:.1?} after the start")]
    Late(Duration),
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
