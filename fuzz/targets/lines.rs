//! Output of a client: any split gives the same lines, and every sample has possible values only.
#![no_main]

use std::io::BufReader;

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/httpdyno-engine/src/lines/printed.rs"]
mod printed;

use printed::{Lines, Sample};

fuzz_target!(|input: (u8, bool, &[u8])| {
    let (stride, cut_short, output) = input;
    let lines = cut(output, output.len().max(1), cut_short);
    assert_eq!(lines, cut(output, usize::from(stride).max(1), cut_short));
    for (_, line) in lines {
        let Some(sample) = Sample::read(&line) else {
            continue;
        };
        assert!(line.contains(sample.url) && line.contains(sample.code));
        assert_eq!(
            sample
                .status
                .is_some_and(|status| status.to_string() != sample.code),
            false
        );
        assert!(sample.duration_ns >= 0 && sample.body_length.is_none_or(|length| length >= 0));
        assert!(sample.start_ns.checked_add(sample.duration_ns).is_some());
    }
});

fn cut(output: &[u8], stride: usize, cut_short: bool) -> Vec<(u64, String)> {
    let mut lines = Lines::new(BufReader::with_capacity(stride, output), cut_short);
    let next = || {
        let (number, line) = lines.next().expect("memory can be read")?;
        Some((number, line.into_owned()))
    };
    std::iter::from_fn(next).collect()
}
