//! Opens a TCP connection to the first of several addresses that answers.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use tokio::task::JoinSet;
use tokio::time::sleep_until;

use crate::failure::Failure;
use crate::link::{Traffic, Wire};
use crate::resolve::{Family, Lookup, Race, Step};
use crate::sockets::Sockets;

/// Connects to the addresses of a name as they become known (RFC 8305); returns the first connection that succeeds.
/// `before` is called before each attempt, and may refuse the address.
///
/// # Errors
///
/// The reason why no address could be reached.
pub async fn race(
    sockets: &Arc<Sockets>,
    lookup: &Lookup,
    port: u16,
    traffic: &Arc<Traffic>,
    mut before: impl FnMut(IpAddr) -> Result<(), Failure>,
) -> Result<Wire, Failure> {
    let (mut race, mut attempts) = (Race::new(port), JoinSet::new());
    loop {
        let now = Instant::now();
        for family in Family::BOTH {
            if let Some(known) = lookup.known(family) {
                race.learn(family, known, now);
            }
        }
        let until = match race.step(now) {
            Step::Connect(address) => {
                match before(address.ip()) {
                    Ok(()) => {
                        let attempt = sockets.clone().open(address, traffic.clone());
                        attempts.spawn_local(attempt);
                    }
                    Err(refused) => race.failed(refused),
                }
                continue;
            }
            Step::Wait(until) => until,
            Step::Lost(failure) => return Err(failure),
        };
        let timer = async {
            match until {
                Some(moment) => sleep_until(moment.into()).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            Some(ended) = attempts.join_next() => match ended {
                // Dropping the set cancels the remaining attempts.
                Ok(Ok(wire)) => return Ok(wire),
                Ok(Err(failure)) => race.failed(failure),
                Err(_) => race.failed(Failure::Io(std::io::ErrorKind::Other)),
            },
            () = lookup.wait_for_more_than(race.families_known()), if race.families_known() < 2 => {}
            () = timer => {}
        }
    }
}

/// Waits for a connection and reports whether it succeeded; if the caller cancels the wait, it reports a failure.
///
/// # Errors
///
/// Errors of `opening`.
pub async fn counted<T>(
    opening: impl Future<Output = Result<T, Failure>>,
    ended: impl FnMut(bool),
) -> Result<T, Failure> {
    let mut attempt = Attempt {
        succeeded: false,
        ended,
    };
    let opened = opening.await;
    attempt.succeeded = opened.is_ok();
    opened
}

struct Attempt<F: FnMut(bool)> {
    succeeded: bool,
    ended: F,
}

impl<F: FnMut(bool)> Drop for Attempt<F> {
    fn drop(&mut self) {
        (self.ended)(self.succeeded);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::future::{pending, ready};

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn each_attempt_is_counted_once_also_when_it_is_given_up() {
        let counted_as = RefCell::new(Vec::new());
        let count = |succeeded| counted_as.borrow_mut().push(succeeded);
        assert_eq!(counted(ready(Ok(1)), count).await, Ok(1));
        let refused = Failure::ConnectionRefused;
        let failed = counted(ready(Err::<(), _>(refused)), count).await;
        assert_eq!(failed, Err(refused));
        tokio::select! {
            biased;
            _ = counted(pending::<Result<(), Failure>>(), count) => unreachable!("it never ends"),
            () = ready(()) => {}
        }
        assert_eq!(counted_as.into_inner(), [true, false, false]);
    }
}
