//! Runs the seeds of fuzzing, and inputs that once failed, through their target once, without libFuzzer.
//!
//! The targets are in `fuzz/targets`, which `scripts/fuzz` builds; here they are compiled as modules.

// The crate whose macro the targets call.
extern crate self as libfuzzer_sys;

use std::path::Path;

use libtest_mimic::{Arguments, Failed, Trial};

/// The input of a target, decoded from bytes as libFuzzer's crate does; `None` if there are too few bytes.
trait Input<'b>: Sized {
    fn take(bytes: &mut &'b [u8]) -> Option<Self>;
}

impl<'b> Input<'b> for &'b [u8] {
    fn take(bytes: &mut &'b [u8]) -> Option<Self> {
        Some(std::mem::take(bytes))
    }
}

impl<'b> Input<'b> for &'b str {
    fn take(bytes: &mut &'b [u8]) -> Option<Self> {
        let valid = std::mem::take(bytes).utf8_chunks().next();
        Some(valid.map_or("", |chunk| chunk.valid()))
    }
}

impl Input<'_> for u8 {
    fn take(bytes: &mut &[u8]) -> Option<Self> {
        bytes.split_off_first().copied()
    }
}

impl Input<'_> for bool {
    fn take(bytes: &mut &[u8]) -> Option<Self> {
        u8::take(bytes).map(|byte| byte & 1 == 1)
    }
}

impl Input<'_> for u64 {
    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let (number, rest) = bytes.split_first_chunk()?;
        *bytes = rest;
        Some(Self::from_le_bytes(*number))
    }
}

macro_rules! tuples {
    ($($part:ident)+) => {
        impl<'b, $($part: Input<'b>),+> Input<'b> for ($($part,)+) {
            fn take(bytes: &mut &'b [u8]) -> Option<Self> {
                Some(($($part::take(bytes)?,)+))
            }
        }
    };
}

tuples!(A B);
tuples!(A B C);
tuples!(A B C D);

macro_rules! fuzz_target {
    (|$input:ident: $kind:ty| $body:block) => {
        /// Runs one input; false if it is too short.
        pub(crate) fn takes(mut bytes: &[u8]) -> bool {
            let Some($input) = <$kind as crate::Input>::take(&mut bytes) else {
                return false;
            };
            // The body may return early.
            let run = || $body;
            run();
            true
        }
    };
}
pub(crate) use fuzz_target;

macro_rules! targets {
    ($($name:ident $path:literal)+) => {
        $(
            #[path = $path]
            #[allow(
                unused,
                clippy::all,
                clippy::pedantic,
                clippy::unwrap_used,
                reason = "a target has the attributes of a program, and its code is linted in fuzz/"
            )]
            mod $name;
        )+

        const TARGETS: &[(&str, fn(&[u8]) -> bool)] = &[$((stringify!($name), $name::takes)),+];
    };
}

targets! {
    answer "../../../../fuzz/targets/answer.rs"
    body "../../../../fuzz/targets/body.rs"
    codings "../../../../fuzz/targets/codings.rs"
    control "../../../../fuzz/targets/control.rs"
    cookies "../../../../fuzz/targets/cookies.rs"
    jsonl "../../../../fuzz/targets/jsonl.rs"
    lines "../../../../fuzz/targets/lines.rs"
    link "../../../../fuzz/targets/link.rs"
    names "../../../../fuzz/targets/names.rs"
    odd_chunks "../../../../fuzz/targets/odd_chunks.rs"
    odd_heads "../../../../fuzz/targets/odd_heads.rs"
    origin "../../../../fuzz/targets/origin.rs"
    packets "../../../../fuzz/targets/packets.rs"
    redirect "../../../../fuzz/targets/redirect.rs"
    replay "../../../../fuzz/targets/replay.rs"
    request "../../../../fuzz/targets/request.rs"
    response "../../../../fuzz/targets/response.rs"
    retry_after "../../../../fuzz/targets/retry_after.rs"
    robots "../../../../fuzz/targets/robots.rs"
    stages "../../../../fuzz/targets/stages.rs"
    template "../../../../fuzz/targets/template.rs"
    warc "../../../../fuzz/targets/warc.rs"
}

fn main() {
    let seeds = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz/seeds"));
    let trial = |(name, takes): &(&str, fn(&[u8]) -> bool)| {
        let (folder, takes) = (seeds.join(name), *takes);
        Trial::test(*name, move || all(&folder, takes))
    };
    let mut trials: Vec<Trial> = TARGETS.iter().map(trial).collect();
    let seeds = seeds.to_owned();
    trials.push(Trial::test("every_folder_has_its_target", move || {
        let known = |name: &str| TARGETS.iter().any(|(target, _)| *target == name);
        for entry in std::fs::read_dir(seeds)? {
            let name = entry?.file_name().into_string().unwrap_or_default();
            if !known(&name) {
                return Err(format!("fuzz/seeds/{name} belongs to no target").into());
            }
        }
        Ok(())
    }));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Runs every input in a folder; a panic names the input that caused it.
fn all(folder: &Path, takes: fn(&[u8]) -> bool) -> Result<(), Failed> {
    let mut count = 0;
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        let bytes = std::fs::read(&path)?;
        match std::panic::catch_unwind(|| takes(&bytes)) {
            Ok(true) => count += 1,
            Ok(false) => return Err(format!("{} is too short", path.display()).into()),
            Err(_) => return Err(format!("{}: see above", path.display()).into()),
        }
    }
    if count == 0 {
        return Err(format!("{} is empty", folder.display()).into());
    }
    Ok(())
}
