//! Reasons why a crawl ends early.

use std::io;
use std::path::PathBuf;

use dyno_client::tls;
use thiserror::Error;

use crate::{bucket, resume, save, warc};

/// Reason why a crawl ends early.
#[derive(Debug, Error)]
pub enum Error {
    /// The trusted certificates cannot be used.
    #[error("--cacert {}", file.display())]
    Tls {
        /// File of the certificates; empty if the option was not given.
        file: PathBuf,
        /// Error of TLS.
        source: tls::Error,
    },
    /// The journal cannot be used.
    #[error(transparent)]
    Resume(#[from] resume::Error),
    /// The folder for contents cannot be used.
    #[error(transparent)]
    Save(#[from] save::Error),
    /// The bucket for contents cannot be used.
    #[error(transparent)]
    Bucket(#[from] bucket::Error),
    /// The archive cannot be written.
    #[error(transparent)]
    Warc(#[from] warc::Error),
    /// The list cannot be read.
    #[error("standard input: {0}")]
    Input(io::Error),
    /// Rows cannot be written.
    #[error("standard output")]
    Output(#[source] io::Error),
    /// Sockets or signals cannot be set up.
    #[error("starting: {0}")]
    Start(io::Error),
}

impl Error {
    /// Whether the command line named a wrong file, folder or list.
    #[must_use]
    pub const fn is_mistake(&self) -> bool {
        match self {
            Self::Resume(error) => error.is_mistake(),
            Self::Save(error) => error.is_mistake(),
            Self::Bucket(error) => error.is_mistake(),
            Self::Warc(error) => error.is_mistake(),
            _ => false,
        }
    }
}
