//! The options of a load that change what is measured, read from the command line by the parser itself: a new option is
//! recorded unless it is listed here.

use std::collections::BTreeMap;
use std::time::Duration;

use clap::{Args as _, Command};
use dyno_load::PerSecond;

use super::without_credentials;
use crate::load::arguments::Arguments;

/// Options that do not change the measurement, by the parser's names.
const NOT_MEASURED: [&str; 17] = [
    "clock",
    "clock_bound",
    "count_for",
    "dry_run",
    "fail_if",
    "find_steps",
    "format",
    "hdr_log",
    "no_store",
    "other_tool",
    "out",
    "progress",
    "prometheus",
    "quiet",
    "report",
    "samples",
    "start_at",
];

/// Options whose effect the manifest has as a setting of its own: the parser's name, and that of the setting.
const SETTINGS: [(&str, &str); 31] = [
    ("urls", "target"),
    ("urls_file", "target"),
    ("requests_file", "target"),
    ("replay", "target"),
    ("connections", "connections"),
    ("duration", "duration_s"),
    ("requests", "requests"),
    ("rate", "rate_per_s"),
    ("stages", "stages"),
    ("until", "until"),
    ("warm_up", "warm_up_s"),
    ("arrivals", "arrivals"),
    ("seed", "seed"),
    ("repeat", "repeat"),
    ("speed", "replay_speed_percent"),
    ("proxy", "proxy"),
    ("method", "method"),
    ("headers", "headers"),
    ("body", "body"),
    ("body_file", "body"),
    ("data", "data"),
    ("pick", "pick"),
    ("checks", "checks"),
    ("keepalive", "keepalive"),
    ("no_keepalive", "keepalive"),
    ("http_version", "http"),
    ("http2", "http"),
    ("streams", "streams"),
    ("timeout", "timeout_s"),
    ("insecure", "insecure"),
    ("cpus", "cpus"),
];

/// An option with another setting than its default, without credentials; values of a repeated option are lines. Absent is
/// the default.
pub type Options = BTreeMap<String, Option<String>>;

/// The other options of a command line, whose first word is the verb.
pub fn options(words: &[String]) -> Options {
    let mut command = Arguments::augment_args(Command::new("load"));
    // The words were parsed before, so that this cannot fail.
    let Ok(found) = command.try_get_matches_from_mut(words) else {
        return Options::new();
    };
    let others = command.get_arguments().filter(|argument| {
        let id = argument.get_id().as_str();
        !NOT_MEASURED.contains(&id) && SETTINGS.iter().all(|(known, _)| *known != id)
    });
    let values = others.filter_map(|argument| {
        let id = argument.get_id().as_str();
        let name = argument.get_long().filter(|name| *name != "help")?;
        let raw = found.try_get_raw(id).ok().flatten().unwrap_or_default();
        let defaults = argument.get_default_values().iter();
        let is_default = defaults.map(|value| &**value).eq(raw.clone());
        let texts = raw.map(|value| {
            match (
                found.try_get_one::<Duration>(id),
                found.try_get_one::<PerSecond>(id),
            ) {
                (Ok(Some(time)), _) => format!("{}s", time.as_secs_f64()),
                (_, Ok(Some(rate))) => format!("{rate}/s"),
                _ => without_credentials(&value.to_string_lossy()),
            }
        });
        let text = texts.collect::<Vec<_>>().join("\n");
        let text = (!is_default && text != "false").then_some(text);
        Some((name.replace('-', "_"), text))
    });
    values.collect()
}

/// The options as they are typed: `options: --no-delay off --reconnect-after 100`; `None` without any.
pub fn note(options: &Options) -> Option<String> {
    let mut text = String::from("options:");
    for (name, values) in options {
        for value in values.iter().flat_map(|values| values.split('\n')) {
            text.extend([" --", &name.replace('_', "-")]);
            if value.is_empty() || value.contains(char::is_whitespace) {
                text.extend([" '", value, "'"]);
            } else if value != "true" {
                text.extend([" ", value]);
            }
        }
    }
    text.contains(' ').then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Options {
        options(&shlex::split(line).unwrap())
    }

    #[test]
    fn every_option_is_recorded_or_does_not_change_the_measurement() {
        let command = Arguments::augment_args(Command::new("load"));
        let ids: Vec<&str> = command
            .get_arguments()
            .map(|argument| argument.get_id().as_str())
            .collect();
        let recorded = of("load http://a/");
        for argument in command.get_arguments() {
            let id = argument.get_id().as_str();
            let name = argument.get_long().unwrap_or(id).replace('-', "_");
            let places = [
                NOT_MEASURED.contains(&id),
                SETTINGS.iter().any(|(known, _)| *known == id),
                recorded.contains_key(&name) && argument.get_long().is_some(),
            ];
            let count = places.iter().filter(|is_there| **is_there).count();
            assert_eq!(count, 1, "--{name}: {places:?}");
        }
        let listed = NOT_MEASURED.into_iter().chain(SETTINGS.map(|(id, _)| id));
        for id in listed {
            assert!(ids.contains(&id), "{id} is no option");
        }
        for name in recorded.keys() {
            assert!(
                SETTINGS.iter().all(|(_, setting)| setting != name),
                "{name} is recorded twice"
            );
        }
    }

    #[test]
    fn options_that_differ_from_their_default_are_recorded() {
        for (given, expected) in [
            ("load http://a/ -q --tls-max 1.3 -n 5", None),
            ("load http://a/ --no-delay on", None),
            (
                "load http://a/ --no-delay off",
                Some("options: --no-delay off"),
            ),
            (
                "load http://a/ --expect-continue --path-as-is",
                Some("options: --expect-continue --path-as-is"),
            ),
            (
                "load http://a/ --dns-refresh 10 --connections-rate 500",
                Some("options: --connections-rate 500/s --dns-refresh 10s"),
            ),
            (
                "load http://a/ --local-address 127.0.0.1,127.0.0.2",
                Some("options: --local-address 127.0.0.1 --local-address 127.0.0.2"),
            ),
            (
                "load http://a/ --form b=1 --form 'password=planted'",
                Some("options: --form b=1 --form password=***"),
            ),
            (
                "load http://a/ --find 'p99 < 50ms' --find-for 60s",
                Some("options: --find 'p99 < 50ms' --find-for 60s"),
            ),
            (
                "load --replay a.log --loop --hosts 'a=http://me:planted@b' -n 5",
                Some("options: --hosts a=http://***@b --loop"),
            ),
            (
                "load https://a/ --cert a.pem --key b.pem --key-password-file c --tls-resumption 50%",
                Some(
                    "options: --cert a.pem --key b.pem --key-password-file c --tls-resumption 50%",
                ),
            ),
        ] {
            assert_eq!(note(&of(given)).as_deref(), expected, "{given}");
        }
    }
}
