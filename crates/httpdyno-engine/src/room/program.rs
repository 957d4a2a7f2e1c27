//! Arguments, variables and files of a program to start.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use rustix::fd::OwnedFd;

/// Parses `NAME=VALUE`.
pub fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("{text:?}: write NAME=VALUE")),
    }
}

/// The variables of a program that listens.
pub fn listening_at(host: &str, port: u16) -> Vec<(OsString, OsString)> {
    vec![
        ("HOST".into(), host.into()),
        ("PORT".into(), port.to_string().into()),
    ]
}

/// Splits a command in one string like a shell.
pub fn split_command(flag: &str, command: &str) -> Result<Vec<OsString>> {
    let words = shlex::split(command).filter(|words| !words.is_empty());
    let words =
        words.ok_or_else(|| anyhow!("{flag} {command:?}: no command, or an unclosed quote"))?;
    Ok(words.into_iter().map(OsString::from).collect())
}

/// A descriptor of this process's standard input.
pub fn standard_input() -> Result<OwnedFd> {
    rustix::io::dup(std::io::stdin()).context("standard input")
}

/// A descriptor of this process's standard output.
pub fn standard_output() -> Result<OwnedFd> {
    rustix::io::dup(std::io::stdout()).context("standard output")
}

/// A descriptor of this process's standard error.
pub fn standard_error() -> Result<OwnedFd> {
    rustix::io::dup(std::io::stderr()).context("standard error")
}

/// Creates the file of an option.
pub fn create(flag: &str, path: &Path) -> Result<OwnedFd> {
    Ok(File::create(path)
        .with_context(|| format!("{flag} {}", path.display()))?
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_like_in_a_shell() {
        let split = split_command("--peer", "serve 'a b' --port=1").unwrap();
        assert_eq!(split, ["serve", "a b", "--port=1"]);
        for command in ["", "  ", "serve 'a"] {
            let error = split_command("--peer", command).unwrap_err().to_string();
            assert!(error.starts_with("--peer "), "{error}");
        }
    }
}
