//! `--scripts` and `--transcripts` of `room` and `origin`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, Result};
use clap::Args;
use dyno_origin::Scripts;

use crate::messages::{UsageError, system_message};

#[derive(Debug, Args)]
pub struct ScriptArguments {
    /// Hosts that send scripted bytes instead of belonging to the web (JSON): names, handshakes, answers, frames
    #[arg(long, value_name = "FILE")]
    pub scripts: Option<PathBuf>,
    /// Write what the clients of the scripted hosts sent here (JSON lines), at the end
    #[arg(long, value_name = "FILE")]
    pub transcripts: Option<PathBuf>,
}

impl ScriptArguments {
    /// Reads the scripts. In a room each host has an address of its own; elsewhere all hosts have those of `shared`.
    pub fn load(&self, shared: Option<Vec<IpAddr>>) -> Result<Option<Arc<Scripts>>, UsageError> {
        let Some(path) = &self.scripts else {
            // Not an option of clap, which would name the missing command of `room` instead.
            return match &self.transcripts {
                Some(path) => Err(UsageError::new(format_args!(
                    "--transcripts {}: no host is scripted; add --scripts FILE",
                    path.display()
                ))),
                None => Ok(None),
            };
        };
        let wrong =
            |error: &str| UsageError::new(format_args!("--scripts {}: {error}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| {
            let error = system_message(&error);
            wrong(&format!("{error}; name a file with scripts (JSON)"))
        })?;
        let scripts = Scripts::parse(&text, shared).map_err(|error| wrong(&error.to_string()))?;
        Ok(Some(Arc::new(scripts)))
    }

    /// Writes the transcripts.
    pub fn write_transcripts(&self, scripts: Option<&Scripts>) -> Result<()> {
        let (Some(path), Some(scripts)) = (&self.transcripts, scripts) else {
            return Ok(());
        };
        let context = || format!("--transcripts {}", path.display());
        let mut file = BufWriter::new(File::create(path).with_context(context)?);
        scripts.write_transcripts(&mut file).with_context(context)?;
        file.flush().with_context(context)
    }
}
