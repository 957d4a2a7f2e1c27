//! An answer as a script of steps, the same in every version of HTTP; each version's `emit.rs` sends them.

use std::time::Duration;

use dyno_web::{Answer, Drip, Fault};

/// Bytes sent in place of a head: neither HTTP/1 nor HTTP/2, nor text that could be taken for HTTP/0.9.
pub(crate) const GARBAGE: &[u8] = b"\x00\xff\x13\x37 this is not a status line\r\n\r\n";

/// A step of an answer. If a version of HTTP has no such step, its emitter uses the nearest one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Wait until the answer is due.
    WaitUntilDue,
    /// Send the head.
    Head,
    /// Send a part of the content.
    Body { from: u64, to: u64 },
    /// Send the content from here on, then the proper end of the answer.
    Rest { from: u64 },
    /// Wait until this long after the head.
    WaitAfterHead(Duration),
    /// End the stream cleanly, without the rest of the content.
    EndStream,
    /// Reset the stream.
    ResetStream,
    /// Send these bytes, then close the connection cleanly, even with other open streams.
    Close(LastBytes),
    /// Reset the connection.
    ResetConnection,
    /// Send nothing more until the peer closes.
    Hold,
}

/// Last bytes of a connection before it closes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LastBytes {
    Nothing,
    /// [`GARBAGE`].
    Garbage,
    /// A refusal of this request and later ones.
    GoAway,
}

/// The steps of a complete answer.
const WHOLE: [Step; 3] = [Step::WaitUntilDue, Step::Head, Step::Rest { from: 0 }];

/// The steps of one answer, in order.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    fault: Option<Fault>,
    drip: Option<Drip>,
    /// Total length of the content.
    bytes: u64,
    next: usize,
}

impl Script {
    /// Creates the script of an answer with `bytes` bytes of content.
    pub(crate) fn new(answer: &Answer, bytes: u64) -> Self {
        Self {
            fault: answer.fault,
            drip: answer.drip,
            bytes,
            next: 0,
        }
    }

    /// Whether the answer is a head followed by its complete content.
    pub(crate) fn is_whole(&self) -> bool {
        self.step(2) == Some(Step::Rest { from: 0 })
    }

    /// The step at an index. Fast for most answers, which have neither a fault nor slow content.
    #[inline]
    fn step(&self, place: usize) -> Option<Step> {
        if self.fault.is_none() && self.drip.is_none() {
            return WHOLE.get(place).copied();
        }
        self.unusual_step(place)
    }

    #[cold]
    fn unusual_step(&self, place: usize) -> Option<Step> {
        use Step::{
            Body, Close, EndStream, Head, Hold, ResetConnection, ResetStream, WaitUntilDue,
        };
        let half = Body {
            from: 0,
            to: self.bytes / 2,
        };
        let steps: &[Step] = match self.fault {
            // Faults of names, connections and handshakes occur before there is an answer.
            None
            | Some(
                Fault::RedirectLoop
                | Fault::NxDomain
                | Fault::ServFail
                | Fault::Refused
                | Fault::Blackhole
                | Fault::StallAfterAccept
                | Fault::ResetAfterAccept
                | Fault::StallTls
                | Fault::ExpiredCertificate
                | Fault::WrongHost
                | Fault::SelfSigned
                | Fault::TlsAlert
                | Fault::DripBody,
            ) => match (self.drip, place.checked_sub(2)) {
                (Some(drip), Some(place)) => return drip_step(drip, self.bytes, place),
                _ => &WHOLE,
            },
            Some(Fault::StallHeaders) => &[Hold],
            Some(Fault::EmptyReply) => &[WaitUntilDue, Close(LastBytes::Nothing)],
            Some(Fault::ResetBeforeHeaders) => &[WaitUntilDue, ResetConnection],
            Some(Fault::GarbageHead) => &[WaitUntilDue, Close(LastBytes::Garbage)],
            Some(Fault::GoAway) => &[WaitUntilDue, Close(LastBytes::GoAway)],
            Some(Fault::StallBody) => &[WaitUntilDue, Head, half, Hold],
            Some(Fault::ResetMidBody) => &[WaitUntilDue, Head, half, ResetConnection],
            Some(Fault::StreamReset) => &[WaitUntilDue, Head, half, ResetStream],
            Some(Fault::ShortBody) => &[WaitUntilDue, Head, half, EndStream],
            Some(Fault::ShortChunked) => &[WaitUntilDue, Head, half, Close(LastBytes::Nothing)],
        };
        steps.get(place).copied()
    }
}

impl Iterator for Script {
    type Item = Step;

    #[inline]
    fn next(&mut self) -> Option<Step> {
        let step = self.step(self.next)?;
        self.next += 1;
        Some(step)
    }
}

/// The step of slow content at an index, counted from its first piece: each further piece is preceded by a wait.
///
/// Each piece has a planned time, so a late piece does not delay the next.
fn drip_step(drip: Drip, bytes: u64, place: usize) -> Option<Step> {
    let piece = place.div_ceil(2);
    let from = drip.bytes.max(1).saturating_mul(piece as u64);
    if piece > 0 && from >= bytes {
        return None;
    }
    if place % 2 == 1 {
        let count = u32::try_from(piece).unwrap_or(u32::MAX);
        let after = drip.every.duration().saturating_mul(count);
        return Some(Step::WaitAfterHead(after));
    }
    let to = from.saturating_add(drip.bytes.max(1));
    Some(if to >= bytes {
        Step::Rest { from }
    } else {
        Step::Body { from, to }
    })
}

#[cfg(test)]
mod tests {
    use dyno_web::{Layer, Model, Nanos, Request, Scheme, Web};

    use super::*;
    use Step::{
        Body, Close, EndStream, Head, Hold, ResetConnection, ResetStream, Rest, WaitAfterHead,
        WaitUntilDue,
    };

    fn steps(fault: Option<Fault>, drip: Option<Drip>, bytes: u64) -> Vec<Step> {
        let script = Script {
            fault,
            drip,
            bytes,
            next: 0,
        };
        script.take(10).collect()
    }

    #[test]
    fn each_fault_has_its_steps() {
        let half = Body { from: 0, to: 500 };
        let cases: [(Fault, &[Step]); 11] = [
            (Fault::StallHeaders, &[Hold]),
            (
                Fault::EmptyReply,
                &[WaitUntilDue, Close(LastBytes::Nothing)],
            ),
            (Fault::ResetBeforeHeaders, &[WaitUntilDue, ResetConnection]),
            (
                Fault::GarbageHead,
                &[WaitUntilDue, Close(LastBytes::Garbage)],
            ),
            (Fault::RedirectLoop, &[WaitUntilDue, Head, Rest { from: 0 }]),
            (Fault::GoAway, &[WaitUntilDue, Close(LastBytes::GoAway)]),
            (Fault::StallBody, &[WaitUntilDue, Head, half, Hold]),
            (
                Fault::ResetMidBody,
                &[WaitUntilDue, Head, half, ResetConnection],
            ),
            (Fault::StreamReset, &[WaitUntilDue, Head, half, ResetStream]),
            (Fault::ShortBody, &[WaitUntilDue, Head, half, EndStream]),
            (
                Fault::ShortChunked,
                &[WaitUntilDue, Head, half, Close(LastBytes::Nothing)],
            ),
        ];
        for (fault, expected) in cases {
            assert_eq!(steps(Some(fault), None, 1_001), expected, "{fault:?}");
        }
        let of_answers = Fault::ALL
            .iter()
            .filter(|fault| matches!(fault.layer(), Layer::Head | Layer::Body));
        // The remaining fault drips, as tested below.
        assert_eq!(of_answers.count(), cases.len() + 1);
        assert_eq!(
            steps(None, None, 1_001),
            [WaitUntilDue, Head, Rest { from: 0 }]
        );
    }

    #[test]
    fn slow_content_comes_in_pieces_each_at_its_moment() {
        let drip = Drip {
            bytes: 4,
            every: Nanos::from_millis(100),
        };
        let after = |ms| WaitAfterHead(Duration::from_millis(ms));
        let cases: [(u64, &[Step]); 5] = [
            (0, &[Rest { from: 0 }]),
            (3, &[Rest { from: 0 }]),
            (4, &[Rest { from: 0 }]),
            (5, &[Body { from: 0, to: 4 }, after(100), Rest { from: 4 }]),
            (
                12,
                &[
                    Body { from: 0, to: 4 },
                    after(100),
                    Body { from: 4, to: 8 },
                    after(200),
                    Rest { from: 8 },
                ],
            ),
        ];
        for (bytes, expected) in cases {
            let all = steps(None, Some(drip), bytes);
            assert_eq!(all[..2], [WaitUntilDue, Head], "{bytes}");
            assert_eq!(&all[2..], expected, "{bytes}");
        }
    }

    #[test]
    fn a_dripping_host_sends_one_byte_after_the_other() {
        let model = "name = 'test'\nseed = 1\n[[host]]\nname = 'drip.test'\nfault = 'drip_body'\n";
        let web = Web::new(Model::from_toml(model).unwrap(), None);
        let answer = web.answer(&Request::first(Scheme::Http, "drip.test", "/"));
        let steps: Vec<Step> = Script::new(&answer, answer.content.bytes())
            .skip(2)
            .take(3)
            .collect();
        let expected = [
            Body { from: 0, to: 1 },
            WaitAfterHead(Duration::from_millis(500)),
            Body { from: 1, to: 2 },
        ];
        assert_eq!(steps, expected);
    }
}
