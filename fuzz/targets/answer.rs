//! An HTTP/1.1 server's answer to a client: the exchange ends, and any split into reads gives the same answer.
#![no_main]

use std::io;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

use dyno_client::{AnswerHead, Failure, Receive, http1};
use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

fuzz_target!(|input: (bool, u8, &[u8])| {
    let (is_head, stride, wire) = input;
    let whole = exchanged(is_head, wire, wire.len().max(1));
    for stride in [1, usize::from(stride).max(1)] {
        let cut = exchanged(is_head, wire, stride);
        // The kind of error may depend on how much had arrived when it was detected; success may not.
        assert_eq!(whole.as_ref().ok(), cut.as_ref().ok(), "{whole:?} {cut:?}");
    }
    if let Ok((status, content)) = whole {
        assert!((100..=999).contains(&status));
        assert!(content.len() <= wire.len());
        assert!(!is_head || content.is_empty());
    }
});

/// Return status and content of the answer.
fn exchanged(is_head: bool, wire: &[u8], stride: usize) -> Result<(u16, Vec<u8>), Failure> {
    let request = http1::Request::new(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n".to_vec(), is_head);
    let mut connection = http1::Connection::new(Server { wire, stride }, http1::Profile::Tolerant);
    let mut answer = Answer::default();
    let ended = {
        let mut exchange = pin!(connection.exchange(&request, &mut answer));
        let mut context = Context::from_waker(Waker::noop());
        // The server is never pending, so the exchange may not be either.
        let Poll::Ready(ended) = exchange.as_mut().poll(&mut context) else {
            panic!("it waits for {}", wire.escape_ascii());
        };
        ended
    };
    ended?;
    assert_eq!(answer.heads, 1);
    Ok((answer.status, answer.content))
}

#[derive(Default)]
struct Answer {
    heads: u32,
    status: u16,
    content: Vec<u8>,
}

impl Receive for Answer {
    fn head(&mut self, head: &AnswerHead<'_>) -> Result<(), Failure> {
        self.heads += 1;
        self.status = head.status;
        Ok(())
    }

    fn content(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        assert_eq!(self.heads, 1);
        self.content.extend_from_slice(bytes);
        Ok(())
    }
}

/// Sends so many bytes at a time, ignores requests, and closes.
struct Server<'w> {
    wire: &'w [u8],
    stride: usize,
}

impl AsyncRead for Server<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (now, later) = self
            .wire
            .split_at(self.stride.min(self.wire.len()).min(buffer.remaining()));
        buffer.put_slice(now);
        self.wire = later;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Server<'_> {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}
