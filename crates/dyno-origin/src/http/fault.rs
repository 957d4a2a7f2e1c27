//! Sending an answer, whole or as its fault has it.

use std::time::Instant;

use dyno_web::{Answer, Drip, Fault, Framing, Nanos};

use super::End;
use super::exchange::Exchange;
use crate::message::delivery::{CHUNK_BYTES, Delivery};
use crate::message::outgoing::Outgoing;
use crate::prepared::Source;
use crate::wire::Outlet;

/// What stands where a status line should: neither HTTP/1 nor the start of HTTP/2, nor text that could pass for HTTP/0.9.
pub(crate) const GARBAGE: &[u8] = b"\x00\xff\x13\x37 this is not a status line\r\n\r\n";

impl<S: Outlet> Exchange<'_, S> {
    /// Waits for the planned moment; then does what a fault of the head does instead of sending one.
    pub(super) async fn before_head(
        &mut self,
        answer: &Answer,
        planned: Instant,
    ) -> Result<(), End> {
        if answer.fault == Some(Fault::StallHeaders) {
            return Err(self.hold().await);
        }
        if answer.delay > Nanos::ZERO {
            self.wait(planned).await?;
        }
        match answer.fault {
            // What HTTP/2 says by a frame is a connection's end here.
            Some(Fault::EmptyReply | Fault::GoAway) => Err(End::Close),
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
        let whole = delivery.whole(&self.head, answer, source);
        let half = Outgoing {
            to: whole.to / 2,
            end: b"",
            ..whole
        };
        let broken = |_| End::Gone;
        match (answer.fault, answer.drip) {
            (Some(Fault::StallBody), _) => {
                half.send(self.stream).await.map_err(broken)?;
                Err(self.hold().await)
            }
            (Some(Fault::ResetMidBody | Fault::StreamReset), _) => {
                half.send(self.stream).await.map_err(broken)?;
                Err(End::Reset)
            }
            (Some(Fault::ShortBody | Fault::ShortChunked), _) => {
                half.send(self.stream).await.map_err(broken)?;
                Err(End::Close)
            }
            (_, Some(drip)) => {
                self.drip(answer, delivery, delivery.content(source), drip)
                    .await
            }
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
