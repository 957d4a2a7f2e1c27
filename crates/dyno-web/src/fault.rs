//! The named faults of a host, each with one meaning on the wire.

use serde::{Deserialize, Serialize};

macro_rules! faults {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal in $layer:ident;)+) => {
        /// A fault: one kind, one meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Fault {
            $($(#[doc = $doc])+ #[serde(rename = $name)] $variant,)+
        }

        impl Fault {
            /// Every fault, in the order of the layers.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The name in TOML, records and tables.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The layer in which the fault occurs.
            #[must_use]
            pub const fn layer(self) -> Layer {
                match self { $(Self::$variant => Layer::$layer,)+ }
            }
        }
    };
}

/// The layer in which a fault occurs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The name servers.
    Name,
    /// The TCP connection.
    Connection,
    /// The TLS handshake.
    Handshake,
    /// The head of the answer, or the lack of one.
    Head,
    /// The content of the answer.
    Body,
}

faults! {
    /// The name does not exist.
    NxDomain = "nxdomain" in Name;
    /// The name servers give up (SERVFAIL) after the model's `servfail_after_ms`.
    ServFail = "servfail" in Name;
    /// The port is closed: an immediate reset of the connection attempt.
    Refused = "refused" in Connection;
    /// No packet to the address is ever answered.
    Blackhole = "blackhole" in Connection;
    /// The connection is accepted; then it is neither read from nor written to.
    StallAfterAccept = "stall_after_accept" in Connection;
    /// The connection is accepted, then reset at once.
    ResetAfterAccept = "reset_after_accept" in Connection;
    /// The client's hello is read; no TLS record ever answers it.
    StallTls = "stall_tls" in Handshake;
    /// The certificate expired a year before the trial.
    ExpiredCertificate = "expired_certificate" in Handshake;
    /// The certificate is valid, for another name.
    WrongHost = "wrong_host" in Handshake;
    /// The certificate is signed by its own key.
    SelfSigned = "self_signed" in Handshake;
    /// The handshake ends in a fatal alert (`handshake_failure`).
    TlsAlert = "tls_alert" in Handshake;
    /// The request is read; no byte of an answer is ever sent.
    StallHeaders = "stall_headers" in Head;
    /// The connection closes cleanly instead of an answer.
    EmptyReply = "empty_reply" in Head;
    /// The connection is reset instead of an answer.
    ResetBeforeHeaders = "reset_before_headers" in Head;
    /// The answer is not HTTP.
    GarbageHead = "garbage_head" in Head;
    /// Every answer redirects to the same URL.
    RedirectLoop = "redirect_loop" in Head;
    /// A GOAWAY that excludes the request, then a clean close; over HTTP/1.1, which has no such frame, the same as
    /// `empty_reply`.
    GoAway = "goaway" in Head;
    /// Half of the content is sent; then nothing follows.
    StallBody = "stall_body" in Body;
    /// The content arrives a few bytes at a time, practically without end.
    DripBody = "drip_body" in Body;
    /// Half of the content is sent, then the connection is reset.
    ResetMidBody = "reset_mid_body" in Body;
    /// Half of the content is sent, then the stream is reset; over HTTP/1.1, which has no streams, the same as
    /// `reset_mid_body`.
    StreamReset = "stream_reset" in Body;
    /// `Content-Length` announces more than is sent before the connection closes cleanly; over HTTP/2 the stream also
    /// ends cleanly.
    ShortBody = "short_body" in Body;
    /// A chunked answer whose connection closes cleanly before the last chunk.
    ShortChunked = "short_chunked" in Body;
}

impl Fault {
    /// Whether only the client's own timeout ends the exchange.
    #[must_use]
    pub(crate) const fn never_ends(self) -> bool {
        matches!(
            self,
            Self::Blackhole
                | Self::StallAfterAccept
                | Self::StallTls
                | Self::StallHeaders
                | Self::StallBody
                | Self::DripBody
        )
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_used_by_serde() {
        let names: BTreeSet<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        assert_eq!(names.len(), Fault::ALL.len());
        for fault in Fault::ALL {
            assert_eq!(serde_json::to_value(fault).unwrap(), fault.name());
        }
    }
}
