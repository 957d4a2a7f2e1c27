//! What goes wrong, said in one line on standard error, under the name by which this program was called.

use std::error::Error;
use std::ffi::OsStr;
use std::fmt::{self, Display};
use std::io;
use std::path::Path;

/// Exit status of a mistake in what was typed, as that of the parser of options.
pub const USAGE: u8 = 2;
/// Exit status when not one answer came, or results cannot be kept.
pub const NOTHING_MEASURED: u8 = 3;
/// Exit status when a disk is full.
pub const FULL: u8 = 4;
/// Exit status when the engine itself failed, so that it is never taken for the subject's.
pub const ENGINE_FAILED: u8 = 125;
/// The name under which `httpdyno room`, `origin`, `load`, `fetch` and `link` start this program.
const OF_THE_COMMAND: &str = "httpdyno";
const OWN: &str = "httpdyno-engine";

/// Says it.
pub fn complain(line: impl Display) {
    eprintln!("{}: {line}", called());
}

/// An error and its causes, each said once: some repeat their cause in the middle, before what to do about it.
pub fn one_line(error: &(dyn Error + 'static)) -> String {
    let mut line = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let said = cause.to_string();
        if !line.contains(&said) {
            line.push_str(": ");
            line.push_str(&said);
        }
        next = cause.source();
    }
    line
}

/// Whether this program was called as the command that people type.
pub fn is_typed() -> bool {
    called() == OF_THE_COMMAND
}

/// What the system says of an error, without its number.
pub fn system_words(error: &io::Error) -> String {
    let text = error.to_string();
    let words = text.split(" (os error ").next();
    words.unwrap_or_default().to_owned()
}

/// The name under which this program was called.
pub fn called() -> &'static str {
    name(std::env::args_os().next().as_deref())
}

/// Whoever typed `httpdyno` is answered by that.
fn name(called: Option<&OsStr>) -> &'static str {
    let called = called.map(Path::new).and_then(|path| path.file_name());
    if called == Some(OsStr::new(OF_THE_COMMAND)) {
        OF_THE_COMMAND
    } else {
        OWN
    }
}

/// A mistake in what was typed that the parser of options does not see.
#[derive(Debug)]
pub struct Mistyped(String);

impl Mistyped {
    /// One line: what, where, what to do.
    pub fn new(line: impl Display) -> Self {
        Self(line.to_string())
    }
}

impl Display for Mistyped {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl Error for Mistyped {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_that_of_what_was_typed() {
        let cases = [
            (Some("httpdyno"), "httpdyno"),
            (Some("/usr/bin/httpdyno"), "httpdyno"),
            (Some("/opt/libexec/httpdyno-engine"), "httpdyno-engine"),
            (Some("httpdyno-engine"), "httpdyno-engine"),
            (Some("renamed"), "httpdyno-engine"),
            (Some(""), "httpdyno-engine"),
            (None, "httpdyno-engine"),
        ];
        for (called, expected) in cases {
            assert_eq!(name(called.map(OsStr::new)), expected, "{called:?}");
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
    fn each_cause_is_said_once() {
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
                .fold(None, |cause, said| Some(Box::new(Failed(said, cause))));
            assert_eq!(one_line(&*failed.unwrap()), expected);
        }
    }
}
