//! Messages on standard error, one line each, prefixed with the name under which this program was called.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// Exit status of a usage error, the same as that of the option parser.
pub const USAGE: u8 = 2;
/// Exit status when no answer came, or results cannot be stored.
pub const NOTHING_MEASURED: u8 = 3;
/// Exit status when a disk is full.
pub const FULL: u8 = 4;
/// Exit status when the engine itself failed; subjects do not usually exit with it.
pub const ENGINE_FAILED: u8 = 125;
/// The name under which `httpdyno room`, `origin`, `load`, `fetch`, `split`, `merge` and `link` start this program.
const PUBLIC_NAME: &str = "httpdyno";
const OWN_NAME: &str = "httpdyno-engine";

/// Prints a message.
pub fn print_message(line: impl Display) {
    eprintln!("{}: {line}", program_name());
}

/// An error and its causes in one line; a cause that the line already contains is not repeated.
pub fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let text = cause.to_string();
        if !line.contains(&text) {
            line.push_str(": ");
            line.push_str(&text);
        }
        next = cause.source();
    }
    line
}

/// Whether this program was called as `httpdyno`, the command for people.
pub fn is_public_command() -> bool {
    program_name() == PUBLIC_NAME
}

/// The text of a system error without its number.
pub fn system_message(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error ").next();
    words.unwrap_or_default().to_owned()
}

/// The name under which this program was called.
pub fn program_name() -> &'static str {
    name_of(std::env::args_os().next().as_deref())
}

/// Returns `httpdyno` for a program called by that name, `httpdyno-engine` for any other.
fn name_of(path: Option<&OsStr>) -> &'static str {
    let file = path.map(Path::new).and_then(|path| path.file_name());
    if file == Some(OsStr::new(PUBLIC_NAME)) {
        PUBLIC_NAME
    } else {
        OWN_NAME
    }
}

/// A usage error that the option parser cannot detect.
#[derive(Debug)]
pub struct UsageError(String);

impl UsageError {
    /// One line: what is wrong, where, and what to do.
    pub fn new(line: impl Display) -> Self {
        Self(line.to_string())
    }
}

impl Display for UsageError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for UsageError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prefix_is_the_name_of_the_call() {
        let cases = [
            (Some("httpdyno"), "httpdyno"),
            (Some("/usr/bin/httpdyno"), "httpdyno"),
            (Some("/opt/libexec/httpdyno-engine"), "httpdyno-engine"),
            (Some("httpdyno-engine"), "httpdyno-engine"),
            (Some("renamed"), "httpdyno-engine"),
            (Some(""), "httpdyno-engine"),
            (None, "httpdyno-engine"),
        ];
        for (path, expected) in cases {
            assert_eq!(name_of(path.map(OsStr::new)), expected, "{path:?}");
        }
    }

    #[derive(Debug)]
    struct Failed(&'static str, Option<Box<Failed>>);

    impl Display for Failed {
        fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
            formatter.write_str(self.0)
        }
    }

    impl Error for Failed {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            self.1.as_deref().map(|cause| cause as _)
        }
    }

    #[test]
    fn each_cause_stands_once() {
        let cases: [(&[&str], &str); 4] = [
            (&["no room"], "no room"),
            (
                &["--report file", "no space left"],
                "--report file: no space left",
            ),
            (
                &[
                    "TCP: cannot listen: no such address; choose another",
                    "no such address",
                ],
                "TCP: cannot listen: no such address; choose another",
            ),
            (&["a", "b", "c"], "a: b: c"),
        ];
        for (causes, expected) in cases {
            let failed = causes
                .iter()
                .rev()
                .fold(None, |cause, text| Some(Box::new(Failed(text, cause))));
            assert_eq!(one_line(&*failed.unwrap()), expected);
        }
    }
}
