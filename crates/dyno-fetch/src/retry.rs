//! Rules for sending a request again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use dyno_client::Failure;

/// Pause before the first retry, in the mean.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// Longest pause, in the mean.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// Most times that a request is sent again because a server stated that it had not processed it.
pub(crate) const MOST_RESENT: u32 = 3;

/// Facts about a failed exchange that decide whether the request is sent again.
#[derive(Debug, Clone, Copy)]
pub struct Failed {
    /// The failure.
    pub failure: Failure,
    /// Whether its connection carried an exchange before.
    pub reused: bool,
    /// Whether its connection ended so soon, and without a byte of an answer, that the server may not have seen the request.
    pub crossed: bool,
    /// Whether the request may be sent again at once if the server has not processed it.
    pub may_resend: bool,
}

/// Decision about sending the request again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Immediately on a new connection: the server closed the old one while the request was on its way, as it is free
    /// to do, or stated that it had not processed the request.
    Again,
    /// If retries are left, because the failure may be temporary.
    WithRetries,
    /// Not at all: it would fail the same way.
    Never,
}

/// Decides whether to send a request again. All requests are GET or HEAD, which may be repeated (RFC 9110, 9.2.2); so the
/// decision depends only on whether it would help.
#[must_use]
pub const fn verdict(failed: Failed) -> Verdict {
    let Failed {
        failure,
        reused,
        crossed,
        may_resend,
    } = failed;
    match failure {
        Failure::ClosedBeforeAnswer | Failure::ConnectionReset if reused && crossed => {
            Verdict::Again
        }
        // The server has not processed the request (RFC 9113, 8.7).
        Failure::GoAway | Failure::StreamRefused if may_resend => Verdict::Again,
        Failure::ResolverFailed
        | Failure::ResolveTimeout
        | Failure::ConnectionRefused
        | Failure::NetworkUnreachable
        | Failure::ConnectionReset
        | Failure::ClosedBeforeAnswer
        | Failure::BodyCutShort
        | Failure::StreamReset
        | Failure::StreamRefused
        | Failure::GoAway
        | Failure::TooManyOpenFiles
        | Failure::NoLocalPort
        | Failure::ProxyUnreachable(_)
        | Failure::ProxyProtocol
        | Failure::Io(_) => Verdict::WithRetries,
        _ => Verdict::Never,
    }
}

/// The pause after so many earlier retries of a URL: twice as long after each, up to a limit, times a factor from 0.5
/// to 1.5. The factor is a hash of the URL: URLs that failed together are not repeated together, and a crawl of the same
/// list has the same pauses.
#[must_use]
pub fn pause(url: &str, retries: u32) -> Duration {
    let mut hash = DefaultHasher::new();
    (url, retries).hash(&mut hash);
    let doubled = FIRST_PAUSE.saturating_mul(1_u32.checked_shl(retries).unwrap_or(u32::MAX));
    let mean = doubled.min(LONGEST_PAUSE);
    let thousandths = u32::try_from(hash.finish() % 1_000).unwrap_or(0);
    mean * (500 + thousandths) / 1_000
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_a_limit_and_differ_by_url() {
        for retries in [0, 1, 5, 8, 9, 31, 32, u32::MAX] {
            let mean = (0.1 * 2_f64.powi(retries.min(9).cast_signed())).min(30.0);
            let pauses = (0..200).map(|number| pause(&format!("http://a.test/{number}"), retries));
            let pauses: Vec<f64> = pauses.map(|pause| pause.as_secs_f64() / mean).collect();
            assert!(
                pauses.iter().all(|share| (0.499..1.5).contains(share)),
                "{retries}"
            );
            let (below, above) = (|share: &&f64| **share < 0.75, |share: &&f64| **share > 1.25);
            assert!(pauses.iter().filter(below).count() > 20, "{retries}");
            assert!(pauses.iter().filter(above).count() > 20, "{retries}");
        }
        assert_eq!(pause("http://a.test/", 1), pause("http://a.test/", 1));
    }

    #[test]
    fn without_retries_only_requests_on_closed_connections_are_repeated() {
        let cases = [
            (Failure::ClosedBeforeAnswer, true, true, Verdict::Again),
            (Failure::ConnectionReset, true, true, Verdict::Again),
            (Failure::GoAway, true, false, Verdict::WithRetries),
            (Failure::StreamRefused, false, false, Verdict::WithRetries),
            (Failure::StreamReset, true, false, Verdict::WithRetries),
            // The server processed the request before it failed, or a byte of an answer arrived.
            (
                Failure::ClosedBeforeAnswer,
                true,
                false,
                Verdict::WithRetries,
            ),
            (Failure::ConnectionReset, true, false, Verdict::WithRetries),
            (
                Failure::ClosedBeforeAnswer,
                false,
                true,
                Verdict::WithRetries,
            ),
            (Failure::BodyCutShort, true, false, Verdict::WithRetries),
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
                    crossed,
                    may_resend: false,
                }),
                expected,
                "{failure:?} {reused} {crossed}"
            );
        }
    }

    #[test]
    fn a_request_that_was_not_processed_is_repeated_even_on_a_new_connection() {
        for (failure, expected) in [
            (Failure::GoAway, Verdict::Again),
            (Failure::StreamRefused, Verdict::Again),
            (Failure::StreamReset, Verdict::WithRetries),
            (Failure::ClosedBeforeAnswer, Verdict::WithRetries),
            (Failure::HeadTimeout, Verdict::Never),
        ] {
            let failed = Failed {
                failure,
                reused: false,
                crossed: false,
                may_resend: true,
            };
            assert_eq!(verdict(failed), expected, "{failure:?}");
        }
    }
}
