//! Writes the histograms of each second in `HdrHistogram`'s log format, version 2, which other programs plot.

use std::io::{self, Write};
use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};

use crate::tally::Tally;

/// Nanoseconds per millisecond: the format prints the maximum in milliseconds.
const MAX_DIVISOR: f64 = 1e6;

/// Writes the header.
pub(crate) fn begin(file: &mut impl Write, started: SystemTime) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    IntervalLogWriterBuilder::new()
        .add_comment("[Histogram log format version 1.3]")
        .add_comment(
            "[Values: nanoseconds of response time; with the tag service: of service time]",
        )
        .with_start_time(started)
        .with_base_time(started)
        .with_max_value_divisor(MAX_DIVISOR)
        .begin_log_with(file, &mut serializer)?;
    writeln!(
        file,
        "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
    )
}

/// Writes one second.
pub(crate) fn second(
    file: &mut impl Write,
    at: Duration,
    length: Duration,
    tally: &Tally,
) -> io::Result<()> {
    let mut serializer = V2DeflateSerializer::new();
    let mut lines = Vec::new();
    let mut header = Vec::new();
    let mut log = IntervalLogWriterBuilder::new();
    // Sets the divisor in the writer; the file's comment about it is already written.
    log.with_max_value_divisor(MAX_DIVISOR);
    let mut log = log.begin_log_with(&mut header, &mut serializer)?;
    let service = Tag::new("service").expect("a tag without blanks and commas");
    for (times, tag) in [(&tally.response, None), (&tally.service, Some(service))] {
        log.write_histogram(times.histogram(), at, length, tag)
            .map_err(|error| io::Error::other(error.to_string()))?;
    }
    lines.extend(
        header
            .split_inclusive(|byte| *byte == b'\n')
            .filter(|line| !line.starts_with(b"#"))
            .flatten(),
    );
    file.write_all(&lines)
}
