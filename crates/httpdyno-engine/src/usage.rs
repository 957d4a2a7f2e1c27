//! Errors of the option parser, each in one line.

use std::error::Error as _;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use dyno_client::proxy::without_user_info;

use crate::messages::{USAGE, is_public_command, print_message};
use crate::other_tools::{self, Translation};

/// Help template of the public verbs: description and example precede the options.
pub const HELP: &str = "\
{usage-heading} {usage}

{about-with-newline}
{before-help}{all-args}{after-help}";

/// Parses the command line; returns the exit status if it is wrong, or if help was printed.
pub fn parse<P: Parser>() -> Result<P, ExitCode> {
    let words = command_line().map_err(|line| {
        print_message(line);
        ExitCode::from(USAGE)
    })?;
    P::try_parse_from(words).map_err(|error| {
        let verb = std::env::args_os().nth(1);
        let Some(line) = error_line(&error, &verb.unwrap_or_default()) else {
            // Help and version are not errors.
            error.exit()
        };
        print_message(line);
        ExitCode::from(USAGE)
    })
}

/// The command line; that of another tool, after `load --as`, is translated and the translation printed.
fn command_line() -> Result<Vec<OsString>, String> {
    let Some(translation) = translation()? else {
        return Ok(std::env::args_os().collect());
    };
    let mut words = translation.words[1..].to_vec();
    for place in 1..words.len() {
        if words[place - 1] == "--proxy" {
            words[place] = without_user_info(&words[place]);
        }
    }
    let is_quiet = |word: &String| matches!(&**word, "-q" | "--quiet");
    if !translation.words.iter().any(is_quiet)
        && let Ok(words) = shlex::try_join(words.iter().map(String::as_str))
    {
        print_message(format_args!("the same as: httpdyno {words}"));
    }
    translation.notes.iter().for_each(print_message);
    Ok(translation.words.into_iter().map(Into::into).collect())
}

/// Refuses `--cluster`: the Python package reads it, and starts an engine without it on each node.
pub fn needs_python(value: &str) -> Result<String, String> {
    Err(format!(
        "{value:?} needs the command of the Python package, not the engine alone: pip install 'httpdyno[ray]'"
    ))
}

/// The options of `load` that the command line of another tool means; `None` for a command line of our own.
pub fn translation() -> Result<Option<Translation>, String> {
    let typed = std::env::args_os().map(OsString::into_string);
    let typed: Option<Vec<String>> = typed.map(Result::ok).collect();
    typed.map_or(Ok(None), |words| other_tools::translation(&words))
}

/// The error in one line, with a pointer to the help; `None` for help or the version.
fn error_line(error: &Error, verb: &OsString) -> Option<String> {
    let verb = verb.to_string_lossy();
    let message = match error.kind() {
        ErrorKind::DisplayHelp
        | ErrorKind::DisplayVersion
        | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => return None,
        ErrorKind::ValueValidation => refused_value(error),
        ErrorKind::InvalidValue => unknown_value(error),
        ErrorKind::UnknownArgument => unknown_argument(error, &verb),
        ErrorKind::MissingRequiredArgument => missing(error, &verb),
        ErrorKind::ArgumentConflict => format!(
            "{}: conflicts with {}",
            option_name(error, ContextKind::InvalidArg),
            option_name(error, ContextKind::PriorArg)
        ),
        _ => first_line(error),
    };
    // The help describes only verbs that people type.
    let more = if !is_public_command() {
        String::new()
    } else if message.ends_with('?') {
        format!(" See: httpdyno {verb} -h")
    } else {
        format!("; see: httpdyno {verb} -h")
    };
    Some(message + &more)
}

fn refused_value(error: &Error) -> String {
    let name = option_name(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    let reason = error.source().map(ToString::to_string).unwrap_or_default();
    if reason.contains(&value) {
        format!("{name}: {reason}")
    } else if reason.starts_with("invalid digit") {
        format!("{name}: {value:?} is not a whole number")
    } else {
        format!("{name}: {value:?}: {reason}")
    }
}

fn unknown_value(error: &Error) -> String {
    let name = option_name(error, ContextKind::InvalidArg);
    let value = text(error, ContextKind::InvalidValue);
    if value.is_empty() {
        return format!("{name}: its value is missing");
    }
    let known = text(error, ContextKind::ValidValue);
    format!("{name}: {value:?} is unknown; choose from: {known}")
}

fn unknown_argument(error: &Error, verb: &str) -> String {
    let typed = text(error, ContextKind::InvalidArg);
    if !typed.starts_with('-') && verb == "fetch" {
        // An existing file is a list to read, not a URL.
        let command = if Path::new(&typed).is_file() {
            format!("httpdyno fetch < {typed}")
        } else {
            format!("echo {typed} | httpdyno fetch")
        };
        return format!("fetch reads URLs from standard input: {command}");
    }
    if !typed.starts_with('-') && verb == "room" {
        return format!(
            "room: write -- before the command: httpdyno room -- {typed} ..., options of the room before it"
        );
    }
    if !typed.starts_with('-') {
        return format!("{typed}: unexpected argument");
    }
    let meant = text(error, ContextKind::SuggestedArg);
    if meant.is_empty() {
        format!("{typed}: unknown option")
    } else {
        format!("{typed}: unknown option; did you mean {meant}?")
    }
}

fn missing(error: &Error, verb: &str) -> String {
    let missing = option_name(error, ContextKind::InvalidArg);
    match verb {
        "room" if missing != "--stdin" => {
            "room: name the command: httpdyno room -- curl https://example.org/".to_owned()
        }
        "split" => "split: name the list: httpdyno split urls.txt --shards 16 -o lists".to_owned(),
        "merge" => "merge: name the folder of the shards: httpdyno merge crawl -o rows.csv".to_owned(),
        "link" => "link: name a link, such as 4g,loss=1%, or use --presets".to_owned(),
        "calibrator" if missing == "--constant" => {
            "calibrator: the times of the answers are missing; write --constant 5ms, --exponential 5ms, --log-normal 5ms:0.5 or --bimodal 1ms:50ms:0.01".to_owned()
        }
        _ => format!("{missing} is missing"),
    }
}

fn first_line(error: &Error) -> String {
    let whole = error.to_string();
    let first = whole.lines().next().unwrap_or_default();
    first.strip_prefix("error: ").unwrap_or(first).to_owned()
}

/// The name of an option without its value: `--rate <RATE>` becomes `--rate`.
fn option_name(error: &Error, kind: ContextKind) -> String {
    let whole = text(error, kind);
    let options = whole.split(", ").map(|one| {
        let name = one.split(' ').next().unwrap_or(one);
        name.trim_matches(|letter| "<>[].".contains(letter))
    });
    options.collect::<Vec<_>>().join(", ")
}

fn text(error: &Error, kind: ContextKind) -> String {
    match error.get(kind) {
        Some(ContextValue::String(one)) => one.clone(),
        Some(ContextValue::Strings(several)) => several.join(", "),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::Arguments;

    fn refusal_of(words: &[&str]) -> String {
        let typed = ["httpdyno-engine"].iter().chain(words);
        let error = Arguments::try_parse_from(typed).unwrap_err();
        error_line(&error, &OsString::from(words[0])).unwrap()
    }

    #[test]
    fn every_mistake_is_one_line_that_names_the_option() {
        let room = "room: name the command: httpdyno room -- curl https://example.org/";
        let cases: [(&[&str], &str); 24] = [
            (&["room"], room),
            (&["room", "--web", "plain"], room),
            (
                &["room", "--web", "plain", "curl", "-s", "http://a/"],
                "room: write -- before the command: httpdyno room -- curl ..., options of the room before it",
            ),
            (
                &["room", "--sed", "1", "--", "true"],
                "--sed: unknown option; did you mean --seed?",
            ),
            (
                &["room", "--seed", "x", "--", "true"],
                "--seed: \"x\" is not a whole number",
            ),
            (&["room", "--seed"], "--seed: its value is missing"),
            (
                &["room", "--link-check", "x", "--", "true"],
                "--link-check: \"x\" is unknown; choose from: on, off",
            ),
            (
                &["room", "--per-host", "2", "--", "true"],
                "--stdin is missing",
            ),
            (
                &["room", "--network", "x", "--", "true"],
                "--network: \"x\" is unknown; choose from: host",
            ),
            (
                &["fetch", "http://example.org/"],
                "fetch reads URLs from standard input: echo http://example.org/ | httpdyno fetch",
            ),
            // A file of this crate, which is the working directory of its tests.
            (
                &["fetch", "Cargo.toml"],
                "fetch reads URLs from standard input: httpdyno fetch < Cargo.toml",
            ),
            (&["fetch", "--nothing"], "--nothing: unknown option"),
            (&["origin", "plain"], "plain: unexpected argument"),
            (
                &["link"],
                "link: name a link, such as 4g,loss=1%, or use --presets",
            ),
            (
                &["split"],
                "split: name the list: httpdyno split urls.txt --shards 16 -o lists",
            ),
            (
                &["merge"],
                "merge: name the folder of the shards: httpdyno merge crawl -o rows.csv",
            ),
            (
                &["fetch", "--shard", "5/4"],
                "--shard: \"5/4\": the shards are 1/4 to 4/4",
            ),
            (
                &["fetch", "--cluster", "auto"],
                "--cluster: \"auto\" needs the command of the Python package, not the engine alone: pip install 'httpdyno[ray]'",
            ),
            (
                &["calibrator", "queue", "--seed", "1"],
                "calibrator: the times of the answers are missing; write --constant 5ms, --exponential 5ms, --log-normal 5ms:0.5 or --bimodal 1ms:50ms:0.01",
            ),
            (
                &["link", "--presets", "4g"],
                "--presets: conflicts with SPEC",
            ),
            (
                &["load", "--body", "a", "--body-file", "b", "http://a/"],
                "--body: conflicts with --body-file",
            ),
            (
                &[
                    "load",
                    "--unix-socket",
                    "a",
                    "--resolve",
                    "a:80:::1",
                    "http://a/",
                ],
                "--unix-socket: conflicts with --resolve",
            ),
            (
                &["load", "--unix-socket", "a", "--proxy", "a:1", "http://a/"],
                "--unix-socket: conflicts with --proxy",
            ),
            (
                &["fetch", "--unix-socket", "a", "--local-address", "::1"],
                "--unix-socket: conflicts with --local-address",
            ),
        ];
        for (words, expected) in cases {
            assert_eq!(refusal_of(words), expected, "{words:?}");
        }
        // The parser of a value describes the mistake.
        let rate = refusal_of(&["load", "--rate", "x", "http://a/"]);
        assert!(rate.starts_with("--rate: \"x\" is not a rate"), "{rate}");
    }

    #[test]
    fn options_of_a_room_of_its_own_conflict_with_the_machines_network() {
        // On the machine's network there is no web and no peer of the room, and no origin that records arrivals.
        for other in [
            "--web=plain",
            "--seed=1",
            "--peer=true",
            "--driver=true",
            "--against=http://a:1",
            "--link=4g",
            "--receive-steering=on",
            "--arrivals=file",
            "--trust-file=file",
        ] {
            let refused = refusal_of(&["room", "--network", "host", other, "--", "true"]);
            let (name, _) = other.split_once('=').unwrap();
            assert_eq!(refused, format!("--network: conflicts with {name}"));
        }
    }

    #[test]
    fn help_is_no_error() {
        let error = Arguments::try_parse_from(["httpdyno-engine", "room", "--help"]).unwrap_err();
        assert_eq!(error_line(&error, &OsString::from("room")), None);
    }

    /// The words of the httpdyno command in an example, without pipes, redirections and comments.
    fn typed(example: &str) -> Vec<String> {
        let without = example.trim().split("   ").next().unwrap();
        let words = shlex::split(without).unwrap();
        let parts = words.split(|word| word == "|");
        let mut commands = parts.filter(|part| part[0] == "httpdyno");
        let command = commands.next().unwrap().iter();
        command
            .take_while(|word| !word.starts_with(['<', '>']))
            .cloned()
            .collect()
    }

    #[test]
    fn the_examples_of_the_help_parse() {
        let engine = Arguments::command();
        for verb in ["room", "origin", "load", "fetch", "link", "split", "merge"] {
            let verb_itself = engine.find_subcommand(verb).unwrap();
            let first = verb_itself.get_before_help().unwrap().to_string();
            let help = verb_itself.get_after_help().unwrap().to_string();
            let (_, more) = help.split_once("More examples\n").unwrap();
            let lines = std::iter::once(first.strip_prefix("Example: ").unwrap())
                .chain(more.lines().map(str::trim));
            for example in lines {
                assert!(example.starts_with("httpdyno"), "{example}");
                let words = typed(example);
                assert_eq!(words[1], verb, "{example}");
                if let Err(refused) = Arguments::try_parse_from(&words) {
                    panic!("{example}: {refused}");
                }
            }
        }
    }
}
