//! The standard streams of a room's command.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail};
use dyno_room::SubjectOptions;
use rustix::fd::OwnedFd;

use super::arguments::Arguments;
use super::program::{create, standard_error, standard_input, standard_output};
use super::supply::{AnswerCount, Batcher, Feeder, HostFeeder, HostLimit, Supply};

/// The command's standard streams, opened before the room hides anything.
pub struct Files {
    stdin: OwnedFd,
    stdout: OwnedFd,
    stderr: OwnedFd,
    supply: Option<Supply>,
}

impl Files {
    /// Opens the streams before the room is entered, so that a wrong file is refused early.
    pub fn open(arguments: &Arguments) -> Result<Self> {
        let stdout = match &arguments.stdout {
            Some(path) => create("--stdout", path)?,
            None => standard_output()?,
        };
        let stderr = match &arguments.stderr {
            Some(path) => create("--stderr", path)?,
            None => standard_error()?,
        };
        let (stdin, stdout, supply) = match &arguments.stdin {
            Some(path) => read_from(path, arguments, stdout)?,
            None => (standard_input()?, stdout, None),
        };
        Ok(Self {
            stdin,
            stdout,
            stderr,
            supply,
        })
    }

    /// The count of the subject's printed lines, if they are counted.
    pub fn answered(&self) -> AnswerCount {
        let supply = self.supply.as_ref();
        supply.map_or_else(AnswerCount::default, Supply::answered)
    }

    /// The options of the subject, and the supply of its standard input.
    pub fn subject(self, arguments: &Arguments) -> (SubjectOptions, Option<Supply>) {
        let subject = SubjectOptions {
            argv: arguments.argv.clone(),
            environment: arguments.environment(arguments.variables.clone()),
            directory: arguments.directory.clone(),
            stdin: self.stdin,
            stdout: self.stdout,
            stderr: self.stderr,
            deadline: arguments.deadline,
        };
        (subject, self.supply)
    }
}

/// The standard input and output of the command, and the supply of its lines.
fn read_from(
    path: &Path,
    arguments: &Arguments,
    stdout: OwnedFd,
) -> Result<(OwnedFd, OwnedFd, Option<Supply>)> {
    if let Some(batch) = arguments.batch {
        let (batcher, ends) = Batcher::new(path, batch, stdout)?;
        return Ok((ends.stdin, ends.stdout, Some(Supply::Batched(batcher))));
    }
    if let Some(per_host) = arguments.per_host {
        let limit = HostLimit {
            per_host,
            interval: arguments.per_host_interval,
            timeout: arguments.timeout.duration(),
        };
        let (feeder, ends) = HostFeeder::new(path, limit, stdout)?;
        let supply = Supply::Limited(Box::new(feeder));
        return Ok((ends.stdin, ends.stdout, Some(supply)));
    }
    if let Some(rate) = arguments.rate {
        if !(rate.is_finite() && rate > 0.0) {
            bail!("--rate {rate}: must be above 0");
        }
        let (feeder, stdin) = Feeder::new(path, rate, arguments.grace)?;
        return Ok((stdin, stdout, Some(Supply::Paced(feeder))));
    }
    let file = File::open(path).with_context(|| format!("--stdin {}", path.display()))?;
    Ok((file.into(), stdout, None))
}
