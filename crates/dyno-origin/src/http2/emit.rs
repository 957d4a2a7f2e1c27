//! Sends the steps of an answer as frames of HTTP/2.

use std::time::Instant;

use h2::Reason;
use tokio::sync::oneshot;

use super::exchange::{Exchange, Gone};
use super::outgoing::{Outgoing, Then};
use super::session::Order;
use crate::message::delivery::Delivery;
use crate::message::script::{LastBytes, Script, Step};

impl Exchange {
    /// Sends an answer, step by step.
    pub(super) async fn emit(mut self, delivery: &Delivery, planned: Instant) {
        let mut script = Script::new(&self.answer, delivery.content_bytes()).peekable();
        let mut head_at = planned;
        while let Some(step) = script.next() {
            let done = match step {
                Step::WaitUntilDue => self.wait(planned).await,
                Step::WaitAfterHead(after) => self.wait(head_at + after).await,
                Step::Head => {
                    let is_whole = matches!(script.peek(), Some(Step::Rest { .. }));
                    self.send_head(delivery, planned, is_whole)
                        .map(|at| head_at = at)
                }
                Step::Body { from, to } => self.send_part(delivery, from, to).await,
                Step::Rest { from } => return self.send_rest(delivery, from),
                Step::EndStream => {
                    let nothing = self.part(delivery, 0, 0, Then::Nothing);
                    // A stream that has ended needs no further end.
                    return drop(self.send_data(nothing, true));
                }
                Step::ResetStream => {
                    if let Some(stream) = &mut self.stream {
                        stream.send_reset(Reason::INTERNAL_ERROR);
                    }
                    return;
                }
                Step::Close(last) => {
                    let order = match last {
                        LastBytes::Nothing => Order::Close,
                        LastBytes::Garbage => Order::Garbage,
                        LastBytes::GoAway => self.session().go_away(),
                    };
                    self.session().order(order);
                    // Dropping the stream now would reset it first.
                    return self.hold().await;
                }
                Step::ResetConnection => {
                    self.session().order(Order::Reset);
                    return self.hold().await;
                }
                Step::Hold => return self.hold().await,
            };
            if done.is_err() {
                return;
            }
        }
    }

    /// Sends a part of the content, and waits until it has been passed to the kernel.
    async fn send_part(&mut self, delivery: &Delivery, from: u64, to: u64) -> Result<(), Gone> {
        if from == to {
            return Ok(());
        }
        let (sent, waiting) = oneshot::channel();
        let part = self.part(delivery, from, to, Then::Tell(sent));
        self.send_data(part, false)?;
        waiting.await.map_err(|_| Gone)
    }

    fn send_data(&mut self, data: Outgoing, is_end: bool) -> Result<(), Gone> {
        let stream = self.stream.as_mut().ok_or(Gone)?;
        stream.send_data(data, is_end).map_err(|_| Gone)
    }
}
