//! Rules for sending a request again.

use dyno_client::Failure;

/// Facts about a failed exchange that decide whether the request is sent again.
#[derive(Debug, Clone, Copy)]
pub struct Failed {
    /// The failure.
    pub failure: Failure,
    /// Whether its connection carried an exchange before.
    pub reused: bool,
    /// Whether its connection ended so soon, and without a byte of an answer, that the server may not have seen the request.
    pub crossed: bool,
}

/// Decision about sending the request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Immediately on a new connection: the server closed the old one while the request was on its way, as it is free
    /// to do.
    Again,
    /// If retries are left, because the failure may be temporary.
    IfAsked,
    /// Not at all: it would fail the same way.
    Never,
}

/// Decides whether to send a request again. All requests are GET, which may be repeated (RFC 9110, 9.2.2); so the
/// decision depends only on whether it would help.
#[must_use]
pub const fn verdict(failed: Failed) -> Verdict {
    let Failed {
        failure,
        reused,
        crossed,
    } = failed;
    match failure {
        Failure::ClosedBeforeAnswer | Failure::ConnectionReset if reused && crossed => {
            Verdict::Again
        }
        // GOAWAY states that the server has not processed the request (RFC 9113, 6.8).
        Failure::GoAway if reused => Verdict::Again,
        Failure::ResolverFailed
        | Failure::ResolveTimeout
        | Failure::ConnectionRefused
        | Failure::NetworkUnreachable
        | Failure::ConnectionReset
        | Failure::ClosedBeforeAnswer
        | Failure::BodyCutShort
        | Failure::StreamReset
        | Failure::GoAway
        | Failure::TooManyOpenFiles
        | Failure::NoLocalPort
        | Failure::ProxyUnreachable(_)
        | Failure::ProxyProtocol
        | Failure::Io(_) => Verdict::IfAsked,
        _ => Verdict::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_server_may_do_at_any_time_is_repeated_unasked() {
        let cases = [
            (Failure::ClosedBeforeAnswer, true, true, Verdict::Again),
            (Failure::ConnectionReset, true, true, Verdict::Again),
            (Failure::GoAway, true, false, Verdict::Again),
            // The server processed the request before it failed, or a byte of an answer arrived.
            (Failure::ClosedBeforeAnswer, true, false, Verdict::IfAsked),
            (Failure::ConnectionReset, true, false, Verdict::IfAsked),
            (Failure::ClosedBeforeAnswer, false, true, Verdict::IfAsked),
            (Failure::BodyCutShort, true, false, Verdict::IfAsked),
            (Failure::HeadTimeout, true, true, Verdict::Never),
            (Failure::HostNotFound, false, false, Verdict::Never),
            (Failure::CertificateExpired, false, false, Verdict::Never),
            (Failure::ContentTooLong, true, false, Verdict::Never),
        ];
        for (failure, reused, crossed, expected) in cases {
            assert_eq!(
                verdict(Failed {
                    failure,
                    reused,
                    crossed
                }),
                expected,
                "{failure:?} {reused} {crossed}"
            );
        }
    }
}
