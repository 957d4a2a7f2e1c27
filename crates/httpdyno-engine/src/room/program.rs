//! What a program is started with: its words, its variables, its files.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, anyhow};
use rustix::fd::OwnedFd;

/// Reads `NAME=VALUE`.
pub fn variable(text: &str) -> Result<(OsString, OsString), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => Err(format!("{text:?}: write NAME=VALUE")),
    }
}

/// The variables of a program that is to listen.
pub fn listening_at(host: &str, port: u16) -> Vec<(OsString, OsString)> {
    vec![
        ("HOST".into(), host.into()),
        ("PORT".into(), port.to_string().into()),
    ]
}

/// A command that an option names in one string.
pub fn words(flag: &str, command: &str) -> Result<Vec<OsString>> {
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

/// Makes the file that an option names.
pub fn create(flag: &str, path: &Path) -> Result<OwnedFd> {
    Ok(File::create(path)
        .with_context(|| format!("{flag} {}", path.display()))?
        .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_split_as_a_shell_does() {
        let split = words("--peer", "serve 'a b' --port=1").unwrap();
        assert_eq!(split, ["serve", "a b", "--port=1"]);
        for command in ["", "  ", "serve 'a"] {
            let error = words("--peer", command).unwrap_err().to_string();
            assert!(error.starts_with("--peer "), "{error}");
        }
    }
}
