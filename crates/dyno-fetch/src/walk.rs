//! Processes one URL of the list from its start to its row: redirects, retries, the deadline.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use dyno_client::Failure;
use dyno_client::coding::TURN_BYTES;
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout_at};
use url::Url;

use crate::check::is_expected;
use crate::connect::Stage;
use crate::input::Line;
use crate::listed::Origin;
use crate::output::Output;
use crate::receiver::{BodySink, Receiver};
use crate::retry::{Failed, Verdict, verdict};
use crate::row::{Code, Row, Timestamp};
use crate::save::Entry;
use crate::shared::Shared;

/// Pause before the first retry; each further pause is twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Fetches the URL of a line, if the line is a URL, and passes its row to the output.
pub(crate) async fn walk(shared: &Shared, output: &Output, line: &Line, url: Result<Url, Failure>) {
    let (start, begun) = (SystemTime::now(), Instant::now());
    let stage = Cell::new(Stage::Resolving);
    let deadline = begun + shared.options.timeout;
    let walked = async {
        timeout_at(deadline.into(), tries(shared, line, start, url?, &stage))
            .await
            .unwrap_or_else(|_| Err(stage.get().timeout()))
    };
    let (code, length) = walked
        .await
        .unwrap_or_else(|failure| (Code::Failure(failure), 0));
    if shared.is_broken() {
        // The line is not noted as finished: the next run fetches it.
        return;
    }
    let duration = begun.elapsed();
    shared.tally.borrow_mut().ended(code, duration, length);
    let row = Row {
        url: &line.bytes,
        code,
        start,
        duration,
        length,
    };
    output.push(line.number, &line.bytes, |rows| row.write(rows));
}

/// Repeats a request while that may help, at most as often as the options allow.
async fn tries(
    shared: &Shared,
    line: &Line,
    start: SystemTime,
    url: Url,
    stage: &Cell<Stage>,
) -> Result<(Code, u64), Failure> {
    let mut pause = FIRST_PAUSE;
    for _ in 0..shared.options.retries {
        match redirects(shared, line, start, url.clone(), stage).await {
            Err(failure)
                if verdict(Failed {
                    failure,
                    reused: false,
                    crossed: false,
                }) == Verdict::IfAsked =>
            {
                shared.tally.borrow_mut().retried += 1;
                sleep(pause).await;
                pause *= 2;
            }
            other => return other,
        }
    }
    redirects(shared, line, start, url, stage).await
}

async fn redirects(
    shared: &Shared,
    line: &Line,
    start: SystemTime,
    mut url: Url,
    stage: &Cell<Stage>,
) -> Result<(Code, u64), Failure> {
    // The list may name any host, but a page on the internet must not redirect into the network of this machine.
    let (mut public_only, mut left_https) = (false, false);
    for _ in 0..=shared.options.max_redirects {
        let mut receiver = crate::visit::visit(shared, &url, stage, public_only).await?;
        let Some(next) = receiver.next.take() else {
            return finish(shared, line, start, &url, left_https, receiver).await;
        };
        public_only = !shared.options.allow_private && is_public_answer(shared, &url, &receiver)?;
        drop(receiver);
        left_https |= url.scheme() == "https" && next.scheme() == "http";
        url = next;
    }
    Err(Failure::TooManyRedirects)
}

/// Whether an answer came from a host on the public internet.
fn is_public_answer(shared: &Shared, url: &Url, receiver: &Receiver<'_>) -> Result<bool, Failure> {
    let origin = Origin::of(url)?;
    Ok(receiver
        .reach
        .is_none_or(|reach| shared.is_public(&origin, reach)))
}

/// Checks a content; a long one on another thread, so that other tasks can run.
async fn passes(content: Vec<u8>) -> bool {
    if content.len() <= TURN_BYTES {
        return is_expected(&content);
    }
    let checked = spawn_blocking(move || is_expected(&content));
    checked.await.unwrap_or(false)
}

/// Saves or checks a complete content, and returns the code of its row.
async fn finish(
    shared: &Shared,
    line: &Line,
    start: SystemTime,
    url: &Url,
    left_https: bool,
    receiver: Receiver<'_>,
) -> Result<(Code, u64), Failure> {
    let Receiver {
        status,
        content_type,
        content_encoding,
        taken,
        ..
    } = receiver;
    shared.tally.borrow_mut().left_https += u64::from(left_https);
    if content_encoding.is_some() {
        shared.tally.borrow_mut().not_decoded += 1;
    }
    match taken.sink {
        BodySink::Nothing => {}
        BodySink::Memory(content) => {
            if !passes(content).await {
                return Ok((Code::CheckFailed, taken.length));
            }
        }
        BodySink::File(saving) => {
            let entry = Entry {
                url: &String::from_utf8_lossy(&line.bytes),
                final_url: url.as_str(),
                status,
                content_type: content_type.as_deref(),
                content_encoding: content_encoding.as_deref(),
                left_https,
                bytes: taken.length,
                start_time: &Timestamp(start).to_string(),
            };
            if let Some(folder) = &mut *shared.folder.borrow_mut() {
                folder
                    .finish(saving, &entry)
                    .map_err(|error| shared.give_up(error))?;
            }
        }
    }
    Ok((Code::Status(status), taken.length))
}
