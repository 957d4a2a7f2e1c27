//! Messages between two measuring machines: any split gives the same messages, error or end.
#![no_main]

use std::io::{self, Read, Write};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/httpdyno-engine/src/control/message.rs"]
#[expect(dead_code, reason = "only what reads is of interest here")]
mod message;

use message::{ControlRequest, ControlResponse, Messages};

fuzz_target!(|input: (u8, &[u8])| {
    let (stride, wire) = input;
    // Each read allocates space for a whole piece: byte by byte would be slow.
    let stride = usize::from(stride).max(8);
    let requests = asked(wire, wire.len().max(1));
    assert_eq!(requests, asked(wire, stride));
    let answers = answered(wire, wire.len().max(1));
    assert_eq!(answers, answered(wire, stride));
    let content: usize = answers.iter().map(|answer| answer.content.len()).sum();
    assert!(content <= wire.len());
});

fn asked(wire: &[u8], stride: usize) -> Vec<ControlRequest> {
    let mut messages = Messages::new(Line { wire, stride }, Vec::new(), Duration::MAX);
    std::iter::from_fn(|| messages.read_request().ok().flatten()).collect()
}

fn answered(wire: &[u8], stride: usize) -> Vec<ControlResponse> {
    let mut messages = Messages::new(Line { wire, stride }, Vec::new(), Duration::MAX);
    std::iter::from_fn(|| messages.read_answer().ok()).collect()
}

/// A connection that delivers these bytes, so many at a time.
struct Line<'w> {
    wire: &'w [u8],
    stride: usize,
}

impl Read for Line<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = self.stride.min(buffer.len());
        self.wire.read(&mut buffer[..most])
    }
}

impl Write for Line<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
