//! Processes one URL of the list from its start to its row: redirects, retries, the deadline.

use std::cell::RefCell;
use std::time::{Instant, SystemTime};

use dyno_client::Failure;
use dyno_client::coding::TURN_BYTES;
use tokio::task::spawn_blocking;
use tokio::time::sleep;
use url::Url;

use crate::check::is_expected;
use crate::details::{Details, Trail};
use crate::error::Error;
use crate::identity::Identity;
use crate::input::Line;
use crate::output::Output;
use crate::permit::permit;
use crate::receiver::{BodySink, Receiver};
use crate::retry::{Failed, Verdict, pause, verdict};
use crate::row::{Code, Row, RowFormat, Timestamp};
use crate::save::{Entry, Hop, Saving, file_name};
use crate::shared::Shared;
use crate::visit::{is_public_answer, visit};

/// Fetches the URL of a line, if the line is a URL, and passes its row to the output.
pub(crate) async fn walk(shared: &Shared, output: &Output, line: &Line, url: Result<Url, Failure>) {
    let (start, begun) = (SystemTime::now(), Instant::now());
    let rows = shared.options.rows;
    let trail = Trail::new(&shared.options, begun);
    let kept = RefCell::default();
    let walked = async {
        let tries = tries(shared, &kept, url?, &trail);
        trail.limit(tries).await.flatten()
    };
    let (code, length) = walked
        .await
        .unwrap_or_else(|failure| (Code::Failure(failure), 0));
    let duration = trail.elapsed(Instant::now());
    if let Some(kept) = kept.into_inner()
        && let Err(error) = keep(shared, line, start, *kept).await
    {
        shared.give_up(error);
    }
    if let Some(warc) = &shared.warc
        && let Err(error) = warc.written().await
    {
        shared.give_up(error);
    }
    if shared.is_broken() {
        // The line is not noted as finished: the next run fetches it.
        return;
    }
    shared.tally.borrow_mut().ended(code, duration, length);
    let row = Row {
        url: &line.bytes,
        code,
        start,
        duration,
        length,
    };
    output.push(line.number, &line.bytes, |out| match rows {
        RowFormat::Contract => row.write(out),
        RowFormat::Csv => row.write_csv(out),
        RowFormat::Jsonl => trail.write(&row, out),
    });
}

/// Repeats a request while that may help, at most as often as the options allow.
async fn tries(
    shared: &Shared,
    kept: &RefCell<Option<Box<Kept>>>,
    url: Url,
    trail: &Trail,
) -> Result<(Code, u64), Failure> {
    for retries in 0..shared.options.retries {
        match redirects(shared, kept, url.clone(), trail).await {
            Err(failure)
                if verdict(Failed {
                    failure,
                    reused: false,
                    crossed: false,
                    may_resend: false,
                }) == Verdict::WithRetries
                    && !trail.is_final.get() =>
            {
                shared.tally.borrow_mut().retried += 1;
                trail.note(|details| details.retries += 1);
                let pause = pause(url.as_str(), retries);
                trail.pause(pause, Instant::now());
                sleep(pause).await;
            }
            other => return other,
        }
    }
    redirects(shared, kept, url, trail).await
}

async fn redirects(
    shared: &Shared,
    kept: &RefCell<Option<Box<Kept>>>,
    mut url: Url,
    trail: &Trail,
) -> Result<(Code, u64), Failure> {
    // The list may name any host, but a page on the internet must not redirect into the network of this machine.
    let (mut public_only, mut left_https) = (false, false);
    let (mut identity, mut hops) = (Identity::default(), Vec::new());
    for _ in 0..=shared.options.max_redirects {
        identity.enter(&shared.headers, &mut url)?;
        if let Some(permissions) = &shared.permissions {
            // On the heap, so that the tasks of other crawls stay small.
            Box::pin(permit(
                shared,
                permissions,
                &url,
                trail,
                public_only,
                &identity,
            ))
            .await?;
        }
        let mut receiver = visit(shared, &url, trail, public_only, &identity).await?;
        let Some(next) = receiver.next.take() else {
            if receiver.is_partial() {
                trail.note(Details::partial);
            }
            return finish(shared, kept, receiver, &url, hops, left_https).await;
        };
        public_only = !shared.options.allow_private && is_public_answer(shared, &url, &receiver)?;
        identity.store(&url, &receiver.set_cookies);
        let status = receiver.status;
        drop(receiver);
        left_https |= url.scheme() == "https" && next.scheme() == "http";
        let hop = Hop {
            url: std::mem::replace(&mut url, next),
            status,
        };
        if shared.options.save.is_some() {
            hops.push(hop);
        }
    }
    Err(Failure::TooManyRedirects)
}

/// Checks a content; a long one on another thread, so that other tasks can run.
async fn passes(content: Vec<u8>) -> bool {
    if content.len() <= TURN_BYTES {
        return is_expected(&content);
    }
    let checked = spawn_blocking(move || is_expected(&content));
    checked.await.unwrap_or(false)
}

/// A content that is complete, or kept incomplete, and what the index says about it.
struct Kept {
    saving: Saving,
    /// The URL of the answer, without a user's name.
    final_url: Url,
    /// The redirects before.
    hops: Vec<Hop>,
    left_https: bool,
    status: u16,
    content_type: Option<String>,
    content_encoding: Option<String>,
    no_close_notify: bool,
    partial: bool,
    failure: Option<Failure>,
    bytes: u64,
}

/// Checks a complete content or leaves it to be kept, and returns the code of its row.
async fn finish(
    shared: &Shared,
    kept: &RefCell<Option<Box<Kept>>>,
    receiver: Receiver<'_>,
    url: &Url,
    hops: Vec<Hop>,
    left_https: bool,
) -> Result<(Code, u64), Failure> {
    let partial = receiver.is_partial();
    let Receiver {
        status,
        content_type,
        content_encoding,
        taken,
        no_close_notify,
        failure,
        ..
    } = receiver;
    {
        let mut tally = shared.tally.borrow_mut();
        tally.left_https += u64::from(left_https);
        tally.not_decoded += u64::from(content_encoding.is_some());
        tally.no_close_notify += u64::from(no_close_notify);
        tally.partial += u64::from(partial);
    }
    match taken.sink {
        BodySink::Nothing => {}
        BodySink::Memory(content) => {
            if !passes(content).await {
                return Ok((Code::CheckFailed, taken.length));
            }
        }
        BodySink::File(saving) => {
            *kept.borrow_mut() = Some(Box::new(Kept {
                saving,
                final_url: url.clone(),
                hops,
                left_https,
                status,
                content_type,
                content_encoding,
                no_close_notify,
                partial,
                failure,
                bytes: taken.length,
            }));
        }
    }
    match failure {
        Some(failure) => Err(failure),
        None => Ok((Code::Status(status), taken.length)),
    }
}

/// Moves a content to its folder, or uploads it to its bucket, and adds it to the index.
async fn keep(shared: &Shared, line: &Line, start: SystemTime, kept: Kept) -> Result<(), Error> {
    let entry = Entry {
        url: &String::from_utf8_lossy(&line.bytes),
        final_url: kept.final_url.as_str(),
        redirects: &kept.hops,
        status: kept.status,
        content_type: kept.content_type.as_deref(),
        content_encoding: kept.content_encoding.as_deref(),
        left_https: kept.left_https,
        no_close_notify: kept.no_close_notify,
        partial: kept.partial,
        error: kept.failure.map(Failure::name),
        bytes: kept.bytes,
        start_time: &Timestamp(start).to_string(),
    };
    let uploaded = match &shared.uploads {
        None => None,
        Some(uploads) => {
            let content = kept.saving.content();
            let content = content.map_err(|error| shared.not_saved(error))?;
            let name = file_name(entry.url.as_bytes());
            let put = uploads.put(&shared.resolver, &name, entry.content_type, content);
            Some(put.await?)
        }
    };
    let mut folder = shared.folder.borrow_mut();
    let folder = folder.as_mut().expect("contents go to a folder");
    match uploaded {
        Some(place) => folder.note(&entry, &place)?,
        None => folder.finish(kept.saving, &entry)?,
    }
    Ok(())
}
