//! One URL of the list, from its slot to its row: redirects, retries, the deadline.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime};

use tokio::time::{sleep, timeout_at};
use url::Url;

use super::check::is_expected;
use super::connect::Stage;
use super::input::Line;
use super::output::Output;
use super::receiver::{Kept, Receiver};
use super::retry::{Failed, Verdict, verdict};
use super::row::{Code, Row, Timestamp};
use super::save::Entry;
use super::shared::Shared;
use crate::transport::Failure;

/// How long the first retry waits; each further one twice as long.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

/// Fetches the URL that a line is, if it is one, and hands its row to the output.
pub(super) async fn walk(shared: &Shared, output: &Output, line: &Line, url: Result<Url, Failure>) {
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

/// As often as was asked for, while it may help.
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
                    answered: false,
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
    for _ in 0..=shared.options.max_redirects {
        let mut receiver = super::visit::visit(shared, &url, stage).await?;
        match receiver.next.take() {
            Some(next) => {
                drop(receiver);
                url = next;
            }
            None => return finish(shared, line, start, &url, receiver),
        }
    }
    Err(Failure::TooManyRedirects)
}

/// What becomes of a content that came whole.
fn finish(
    shared: &Shared,
    line: &Line,
    start: SystemTime,
    url: &Url,
    receiver: Receiver<'_>,
) -> Result<(Code, u64), Failure> {
    let Receiver {
        status,
        content_type,
        taken,
        ..
    } = receiver;
    match taken.kept {
        Kept::Memory(content) if !is_expected(&content) => {
            return Ok((Code::CheckFailed, taken.length));
        }
        Kept::Memory(_) | Kept::Nothing => {}
        Kept::File(saving) => {
            let entry = Entry {
                url: &String::from_utf8_lossy(&line.bytes),
                final_url: url.as_str(),
                status,
                content_type: content_type.as_deref(),
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
