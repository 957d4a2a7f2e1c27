//! Sending an answer, whole or as its fault has it.

use std::time::Instant;

use dyno_web::{Answer, Content, Drip, Fault, Framing, STREAM_LINE};
use tokio::io::{AsyncRead, AsyncWrite};

use super::End;
use super::exchange::Exchange;
use super::head::Delivery;
use super::outgoing::Outgoing;
use crate::prepared::Source;

/// The longest chunk, as servers with a buffer of that size send it.
const CHUNK_BYTES: u64 = 16 << 10;
/// What stands where a status line should: neither HTTP/1 nor the start of HTTP/2, nor text that could pass for HTTP/0.9.
const GARBAGE: &[u8] = b"\x00\xff\x13\x37 this is not a status line\r\n\r\n";

impl<S: AsyncRead + AsyncWrite + Unpin> Exchange<'_, S> {
    /// Waits for the planned moment; then does what a fault of the head does instead of sending one.
    pub(super) async fn before_head(
        &mut self,
        answer: &Answer,
        planned: Instant,
    ) -> Result<(), End> {
        if answer.fault == Some(Fault::StallHeaders) {
            return Err(self.hold().await);
        }
        self.wait(planned).await?;
        match answer.fault {
            Some(Fault::EmptyReply) => Err(End::Close),
            Some(Fault::ResetBeforeHeaders) => Err(End::Reset),
            Some(Fault::GarbageHead) => {
                self.head.clear();
                self.head.extend_from_slice(GARBAGE);
                self.write_head().await?;
                Err(End::Close)
            }
            _ => Ok(()),
        }
    }

    /// Sends the head that is written, with the content.
    pub(super) async fn send(
        &mut self,
        answer: &Answer,
        delivery: &Delivery,
        source: Source<'_>,
    ) -> Result<(), End> {
        let source = if delivery.has_content {
            source
        } else {
            Source::EMPTY
        };
        let whole = Outgoing {
            head: &self.head,
            source,
            from: 0,
            to: source.bytes(),
            chunk_bytes: (delivery.framing == Framing::Chunked)
                .then(|| chunk_bytes(answer.content)),
            end: delivery.end(answer),
        };
        let half = Outgoing {
            to: source.bytes() / 2,
            end: b"",
            ..whole
        };
        let broken = |_| End::Gone;
        match (answer.fault, answer.drip) {
            (Some(Fault::StallBody), _) => {
                half.send(self.stream).await.map_err(broken)?;
                Err(self.hold().await)
            }
            (Some(Fault::ResetMidBody), _) => {
                half.send(self.stream).await.map_err(broken)?;
                Err(End::Reset)
            }
            (Some(Fault::ShortBody | Fault::ShortChunked), _) => {
                half.send(self.stream).await.map_err(broken)?;
                Err(End::Close)
            }
            (_, Some(drip)) => self.drip(answer, delivery, source, drip).await,
            _ => whole.send(self.stream).await.map_err(broken),
        }
    }

    /// Sends the content a few bytes at a time, each piece at its moment: a late one does not delay the next.
    async fn drip(
        &mut self,
        answer: &Answer,
        delivery: &Delivery,
        source: Source<'_>,
        drip: Drip,
    ) -> Result<(), End> {
        let start = Instant::now();
        let mut sent = 0;
        for piece in 0_u32.. {
            if piece > 0 {
                let after = drip.every.duration().saturating_mul(piece);
                self.wait(start + after).await?;
            }
            let to = source.bytes().min(sent + drip.bytes.max(1));
            let is_last = to == source.bytes();
            let outgoing = Outgoing {
                head: if piece == 0 { &self.head } else { b"" },
                source,
                from: sent,
                to,
                chunk_bytes: (delivery.framing == Framing::Chunked).then_some(CHUNK_BYTES),
                end: if is_last { delivery.end(answer) } else { b"" },
            };
            outgoing.send(self.stream).await.map_err(|_| End::Gone)?;
            if is_last {
                break;
            }
            sent = to;
        }
        Ok(())
    }
}

/// How long the chunks of a content are.
fn chunk_bytes(content: Content) -> u64 {
    match content {
        Content::Lines { .. } => STREAM_LINE.len() as u64,
        _ => CHUNK_BYTES,
    }
}
