//! The cache of an origin's contents, and the message of a late origin.

use std::env;
use std::path::PathBuf;

use dyno_origin::{Cache, Lateness};

use crate::messages::print_message;

/// Lateness of the latest 1 % of the answers above which a message is printed.
const TOLERATED_NS: u64 = 20_000_000;

/// The cache of contents that take seconds to create, in the folder of `httpdyno`'s builds.
pub fn cache() -> Cache {
    let absolute = |name: &str, below: &str| {
        let path = PathBuf::from(env::var_os(name)?);
        path.is_absolute().then(|| path.join(below))
    };
    absolute("XDG_CACHE_HOME", "")
        .or_else(|| absolute("HOME", ".cache"))
        .map_or_else(Cache::none, |folder| Cache::at(folder.join("httpdyno/web")))
}

/// Prints that compressing takes a while.
pub fn announce_compression(cache: &Cache) {
    let kept = match cache.folder() {
        Some(folder) => format!("stored in {} for the next time", folder.display()),
        None => {
            "again each time, because neither XDG_CACHE_HOME nor HOME names a folder to store them"
                .to_owned()
        }
    };
    print_message(format_args!(
        "compressing the pages of the web with gzip, brotli and zstd, which takes about a second; {kept}"
    ));
}

/// Prints a message if the origin itself was late: the times that a client measured then include delays of this
/// machine.
pub fn warn_if_late(lateness: &Lateness) {
    if let Some(line) = lateness_message(lateness) {
        print_message(line);
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds")]
fn lateness_message(lateness: &Lateness) -> Option<String> {
    (lateness.p99 > TOLERATED_NS).then(|| {
        format!(
            "the web server was late: 1 % of {} answers by {:.0} ms or more; measure again on an idle machine, or lower the \
             concurrency",
            lateness.count,
            lateness.p99 as f64 / 1e6,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lateness_above_20_ms_is_reported() {
        let late = |p99| Lateness {
            count: 300,
            p99,
            ..Lateness::default()
        };
        assert_eq!(lateness_message(&late(TOLERATED_NS)), None);
        let line = lateness_message(&late(1_400_000_000)).unwrap();
        assert!(
            line.starts_with("the web server was late: 1 % of 300 answers by 1400 ms or more;"),
            "{line}"
        );
    }
}
