//! What an origin of this engine has ready when it begins to serve, and what it says of itself when it ends.

use std::env;
use std::path::PathBuf;

use dyno_origin::{Cache, Lateness};

use crate::complaint::complain;

/// How late one answer in a hundred may begin before that is worth a line.
const TOLERATED_NS: u64 = 20_000_000;

/// Where origins keep what takes seconds to make: below the folder that `httpdyno` keeps its builds in.
pub fn cache() -> Cache {
    let absolute = |name: &str, below: &str| {
        let path = PathBuf::from(env::var_os(name)?);
        path.is_absolute().then(|| path.join(below))
    };
    absolute("XDG_CACHE_HOME", "")
        .or_else(|| absolute("HOME", ".cache"))
        .map_or_else(Cache::none, |folder| Cache::at(folder.join("httpdyno/web")))
}

/// Says that it takes a while, and why.
pub fn making(cache: &Cache) {
    let kept = match cache.folder() {
        Some(folder) => format!("kept in {} for the next time", folder.display()),
        None => "again each time, because neither XDG_CACHE_HOME nor HOME says where to keep them"
            .to_owned(),
    };
    complain(format_args!(
        "coding the pages of the web in gzip, brotli and zstd, which takes about a second; {kept}"
    ));
}

/// Says so if the origin itself was late: the times that a client saw are then the machine's, too.
pub fn own_up(lateness: &Lateness) {
    if let Some(line) = confession(lateness) {
        complain(line);
    }
}

#[expect(clippy::cast_precision_loss, reason = "milliseconds")]
fn confession(lateness: &Lateness) -> Option<String> {
    (lateness.p99 > TOLERATED_NS).then(|| {
        format!(
            "the web itself was late: one answer in a hundred by {:.0} ms or more, of {}; measure again while nothing else \
             runs here, or ask for less at once",
            lateness.p99 as f64 / 1e6,
            lateness.count,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_origin_owns_up_to_more_than_20_ms() {
        let late = |p99| Lateness {
            count: 300,
            p99,
            ..Lateness::default()
        };
        assert_eq!(confession(&late(TOLERATED_NS)), None);
        let said = confession(&late(1_400_000_000)).unwrap();
        assert!(
            said.starts_with(
                "the web itself was late: one answer in a hundred by 1400 ms or more, of 300;"
            ),
            "{said}"
        );
    }
}
