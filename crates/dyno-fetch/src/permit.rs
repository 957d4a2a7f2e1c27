//! Asks each origin once for `/robots.txt` before its URLs are requested (`--robots`).

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use dyno_client::Failure;
use tokio::time::sleep;
use url::Url;

use crate::details::Trail;
use crate::identity::Identity;
use crate::listed::{Origin, target};
use crate::permissions::{Answer, Cause, Permissions};
use crate::receiver::BodySink;
use crate::retry::{Failed, Verdict, pause, verdict};
use crate::robots::{Rules, is_robots_txt};
use crate::shared::Shared;
use crate::visit::{is_public_answer, visit};

/// Redirects of a file that are followed (RFC 9309, 2.3.1.2).
const MAX_REDIRECTS: u32 = 5;

/// Asks whether a URL may be requested, and sets the interval between requests of its host. The time that this takes does
/// not count, and a URL that waits for another to ask has no slot.
///
/// # Errors
///
/// [`Failure::Disallowed`], or the failure to reach the origin.
pub(crate) async fn permit(
    shared: &Shared,
    permissions: &Permissions,
    url: &Url,
    trail: &Trail,
    public_only: bool,
    identity: &Identity,
) -> Result<(), Failure> {
    trail.crawl_delay.set(Duration::ZERO);
    if is_robots_txt(target(url)) {
        return Ok(());
    }
    let origin = Origin::of(url)?;
    let answer = loop {
        let known = permissions.known(&origin, Instant::now());
        if let Some(answer) = known {
            break answer;
        }
        if let Some(answered) = permissions.join(&origin) {
            shared.turns.aside_until(answered, trail).await;
            continue;
        }
        trail.stop(Instant::now());
        let answer = ask(shared, permissions, &origin, public_only, identity).await;
        let now = Instant::now();
        trail.resume(now);
        permissions.answered(&origin, &answer, now);
        break answer;
    };
    match answer {
        Answer::Rules(rules) if rules.allow(target(url)) => {
            trail.crawl_delay.set(rules.delay);
            Ok(())
        }
        Answer::Rules(_) => {
            trail.note(|details| details.refused(format!("robots.txt forbids {url}")));
            Err(Failure::Disallowed)
        }
        Answer::Unreachable(cause) => {
            trail.note(|details| {
                details.refused(format!(
                    "robots.txt cannot be read ({cause}), so {url} is forbidden"
                ));
            });
            Err(Failure::Disallowed)
        }
        Answer::Failed(failure) => {
            // This was retried as often as the options allow.
            trail.is_final.set(true);
            Err(failure)
        }
    }
}

/// Requests the file of an origin, with the timeouts and retries of a URL of the list.
async fn ask(
    shared: &Shared,
    permissions: &Permissions,
    origin: &Rc<Origin>,
    public_only: bool,
    identity: &Identity,
) -> Answer {
    let scheme = if origin.encrypted { "https" } else { "http" };
    let Ok(url) = Url::parse(&format!("{scheme}://{}/robots.txt", origin.authority())) else {
        return Answer::Failed(Failure::InvalidUrl);
    };
    shared.tally.borrow_mut().robots_requested += 1;
    let trail = Trail::without_details(&shared.options, Instant::now());
    let redirected = Cell::new(false);
    let attempts = async {
        for retries in 0..shared.options.retries {
            let answer = chain(
                shared,
                permissions,
                url.clone(),
                public_only,
                identity,
                &trail,
                &redirected,
            )
            .await;
            let (Answer::Failed(failure) | Answer::Unreachable(Cause::Failure(failure))) = answer
            else {
                return answer;
            };
            let failed = Failed {
                failure,
                reused: false,
                crossed: false,
                may_resend: false,
            };
            if verdict(failed) != Verdict::WithRetries {
                return answer;
            }
            shared.tally.borrow_mut().retried += 1;
            let pause = pause(url.as_str(), retries);
            trail.pause(pause, Instant::now());
            sleep(pause).await;
        }
        chain(
            shared,
            permissions,
            url.clone(),
            public_only,
            identity,
            &trail,
            &redirected,
        )
        .await
    };
    let answer = trail.limit(attempts).await;
    let answer = answer.unwrap_or_else(|failure| of_failure(failure, &trail, redirected.get()));
    if matches!(answer, Answer::Unreachable(_) | Answer::Failed(_)) {
        shared.tally.borrow_mut().robots_unreachable += 1;
    }
    answer
}

/// Requests a file once, and follows its redirects.
async fn chain(
    shared: &Shared,
    permissions: &Permissions,
    mut url: Url,
    mut public_only: bool,
    identity: &Identity,
    trail: &Trail,
    redirected: &Cell<bool>,
) -> Answer {
    let mut identity = identity.for_robots();
    for hop in 0..=MAX_REDIRECTS {
        redirected.set(hop > 0);
        let failed = |failure| of_failure(failure, trail, hop > 0);
        if let Err(failure) = identity.enter(&shared.headers, &mut url) {
            return failed(failure);
        }
        let mut receiver = match visit(shared, &url, trail, public_only, &identity).await {
            Ok(receiver) => receiver,
            Err(failure) => return failed(failure),
        };
        let Some(next) = receiver.next.take() else {
            return match receiver.status {
                status @ (429 | 500..) => Answer::Unreachable(Cause::Status(status)),
                200..300 if let BodySink::Memory(file) = &receiver.taken.sink => {
                    Answer::Rules(Rules::parse(file, &permissions.product).into())
                }
                _ => absent(shared),
            };
        };
        match is_public_answer(shared, &url, &receiver) {
            Ok(is_public) => public_only = is_public && !shared.options.allow_private,
            Err(failure) => return failed(failure),
        }
        drop(receiver);
        url = next;
    }
    absent(shared)
}

/// A file that does not exist.
fn absent(shared: &Shared) -> Answer {
    shared.tally.borrow_mut().robots_absent += 1;
    Answer::Rules(Rc::default())
}

/// The answer after a failure; `redirected`: of another URL than the file's own.
fn of_failure(failure: Failure, trail: &Trail, redirected: bool) -> Answer {
    if !redirected && (matches!(failure, Failure::PrivateRedirect) || !trail.stage().is_answer()) {
        Answer::Failed(failure)
    } else {
        Answer::Unreachable(Cause::Failure(failure))
    }
}
