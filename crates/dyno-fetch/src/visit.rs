//! Sends one request and receives its answer, over an idle or a new connection.

use std::future::{Future, poll_fn};
use std::io::Write;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dyno_client::{Exchanged, Expectation, Failure, Reach, http1, http2};
use dyno_http::Deviations;
use tokio::time::sleep;
use url::Url;

use crate::connect::{likely_address, open};
use crate::details::Trail;
use crate::identity::{Extra, Identity};
use crate::listed::{Origin, target};
use crate::pool::Pooled;
use crate::public::is_private_address;
use crate::receiver::Receiver;
use crate::retry::{Failed, MOST_RESENT, Verdict, pause, verdict};
use crate::retry_after::may_pause;
use crate::shared::{Connection, InUse, Shared};
use crate::stage_clock::Stage;
use crate::turns::Turn;

/// Longest wait for the rest of a redirect, in order to reuse the connection: it usually comes with the head.
const SKIP_PATIENCE: Duration = Duration::from_millis(200);

/// Requests a URL and receives the answer. If the answer asks for a pause (`Retry-After`), its host is held up, and the
/// request is repeated afterwards, as often as the options allow. With `public_only`, hosts in private networks are
/// refused.
pub(crate) async fn visit<'s>(
    shared: &'s Shared,
    url: &'s Url,
    trail: &'s Trail,
    public_only: bool,
    identity: &Identity,
) -> Result<Receiver<'s>, Failure> {
    loop {
        let receiver = request(shared, url, trail, public_only, identity).await?;
        if !hold_up(shared, url, trail, &receiver) {
            return Ok(receiver);
        }
    }
}

/// Whether an answer came from a host on the public internet.
pub(crate) fn is_public_answer(
    shared: &Shared,
    url: &Url,
    receiver: &Receiver<'_>,
) -> Result<bool, Failure> {
    let origin = Origin::of(url)?;
    Ok(receiver
        .reach
        .is_none_or(|reach| shared.is_public(&origin, reach)))
}

/// Holds up a host whose answer has `Retry-After`; returns whether to repeat the request afterwards.
fn hold_up(shared: &Shared, url: &Url, trail: &Trail, receiver: &Receiver<'_>) -> bool {
    let mut pauses = shared.pauses.borrow_mut();
    let Some(host) = url.host_str().filter(|_| pauses.is_used()) else {
        return false;
    };
    let Some(requested) = receiver.retry_after else {
        if !may_pause(receiver.status) {
            pauses.answered(host);
        }
        return false;
    };
    let (now, count) = (Instant::now(), trail.pauses.get());
    // `Retry-After: 0` gives the pause that follows a failure.
    let requested = requested.max(pause(url.as_str(), count));
    let Some(pause) = pauses.allowed(host, requested, now) else {
        return false;
    };
    let is_new = !shared.turns.is_held(host);
    let longer = shared.turns.hold(host, now + pause, now);
    pauses.add(host, longer, now);
    shared.tally.borrow_mut().held_up(is_new, longer);
    trail.pauses.set(count + 1);
    count < shared.options.retries.max(1)
}

/// Waits until the pause of a host is over and it is the turn of a request at its domain and address.
async fn turns<'s>(
    shared: &'s Shared,
    origin: &Origin,
    trail: &Trail,
) -> (Option<Turn<'s>>, Option<Turn<'s>>) {
    loop {
        shared.turns.after_pause(&origin.host, trail).await;
        let domain = shared.turns.at_domain(&origin.host, trail).await;
        let mut at_address = None;
        // Behind a proxy the address is unknown.
        if shared.turns.limits_addresses()
            && shared.route(origin).is_none()
            && let Some(address) = likely_address(shared, origin, trail).await
        {
            at_address = shared.turns.at_address(address, None, trail).await;
        }
        if !shared.turns.is_held(&origin.host) {
            return (domain, at_address);
        }
    }
}

/// Sends a request when it is its turn, and receives the answer; repeats it if the idle connection turns out to be
/// closed, or the server has not processed it.
async fn request<'s>(
    shared: &'s Shared,
    url: &'s Url,
    trail: &'s Trail,
    public_only: bool,
    identity: &Identity,
) -> Result<Receiver<'s>, Failure> {
    let origin = Origin::of(url)?;
    let extra = identity.extra(&shared.headers, &shared.options, &origin, url);
    if public_only && is_private_address(&origin) {
        return Err(Failure::PrivateRedirect);
    }
    let (mut _at_domain, mut at_address) = (None, None);
    if shared.turns.is_used() {
        (_at_domain, at_address) = Box::pin(turns(shared, &origin, trail)).await;
    }
    let _in_use = InUse::new(&shared.in_use);
    let mut resent = 0;
    loop {
        trail.note(|details| details.request(url));
        let idle = shared.idle(&origin).await;
        let reused = idle.is_some();
        let mut link = match idle {
            Some(link) => link,
            // On the heap, as waiting for turns is: few URLs are in these stages, and all need the memory.
            None => Box::pin(open(shared, &origin, trail, public_only)).await?,
        };
        let reach = reach(&link);
        if at_address.is_some() {
            // A connection may lead to another address of the host than expected.
            at_address = shared
                .turns
                .at_address(reach.address, at_address, trail)
                .await;
        }
        if public_only && !shared.is_public(&origin, reach) {
            // An idle connection that another URL of the list may use.
            if matches!(link, Pooled::Alone(_)) {
                shared.keep(&origin, link);
            }
            return Err(Failure::PrivateRedirect);
        }
        if !reused && let (Pooled::Shared(connection), true) = (&link, shared.options.keepalive) {
            // From now on, other URLs may use the connection, too.
            shared.keep(&origin, Pooled::Shared(connection.clone()));
        }
        trail.note(|details| details.link(reach.address, reused, tls_version(&link)));
        let mut receiver = Receiver::new(shared, url, trail);
        if identity.is_robots {
            receiver = receiver.for_robots();
        }
        receiver.reach = Some(reach);
        let begun = Instant::now();
        trail.begin(Stage::Head, begun);
        if let Some(warc) = &shared.warc {
            let request = plain_request(shared, &origin, url, &extra).to_bytes();
            let requested = format!("{}://{}{}", url.scheme(), origin.authority(), target(url));
            // Behind a proxy, the address is the proxy's.
            let address = shared.route(&origin).is_none().then_some(reach.address);
            receiver.capture = Some(warc.begin(&request, requested, address));
        }
        let exchanged = exchange(shared, &mut link, &origin, url, &extra, &mut receiver).await;
        if let Some(capture) = receiver.capture.take() {
            capture.end(&exchanged, receiver.unread);
        }
        trail.note(|details| details.content(receiver.wire_bytes, receiver.taken.length));
        let failure = match exchanged {
            Ok(exchanged) => {
                if let Pooled::Alone(connection) = &link {
                    receiver.no_close_notify = connection.lacks_close_notify();
                }
                trail.note(|details| details.exchanged(&exchanged, receiver.no_close_notify));
                if let Err(failure) = receiver.end() {
                    return receiver.kept(failure);
                }
                shared
                    .tally
                    .borrow_mut()
                    .exchanged(&exchanged, reused, receiver.wire_bytes);
                if exchanged.reusable && matches!(link, Pooled::Alone(_)) {
                    shared.keep(&origin, link);
                }
                return Ok(receiver);
            }
            Err(failure) => failure,
        };
        drop_broken(shared, &origin, &link, failure);
        let failed = Failed {
            failure,
            reused,
            crossed: reach.may_have_crossed(begun.elapsed())
                && match &link {
                    Pooled::Alone(connection) => connection.is_unanswered(),
                    Pooled::Shared(_) => !receiver.answered,
                },
            may_resend: resent < MOST_RESENT && !receiver.answered,
        };
        if verdict(failed) != Verdict::Again {
            return receiver.kept(failure);
        }
        resent += 1;
        shared.tally.borrow_mut().resent += 1;
        trail.note(|details| details.resent += 1);
    }
}

fn reach(link: &Connection) -> Reach {
    match link {
        Pooled::Alone(connection) => connection.reach(),
        Pooled::Shared(connection) => connection.reach(),
    }
}

/// Removes a shared connection that has failed from the pool.
fn drop_broken(shared: &Shared, origin: &Rc<Origin>, link: &Connection, failure: Failure) {
    if matches!(link, Pooled::Shared(_))
        && failure != Failure::StreamReset
        && is_of_connection(failure)
    {
        shared.pool.borrow_mut().drop_all(origin);
    }
}

/// The version of TLS; `None` without TLS.
fn tls_version(link: &Connection) -> Option<&'static str> {
    match link {
        Pooled::Alone(connection) => connection.tls_version(),
        Pooled::Shared(connection) => connection.tls_version(),
    }
}

fn deviations(link: &Connection) -> Deviations {
    match link {
        Pooled::Alone(connection) => connection.deviations(),
        Pooled::Shared(_) => Deviations::NONE,
    }
}

/// Whether the connection failed, and not the answer.
const fn is_of_connection(failure: Failure) -> bool {
    !matches!(
        failure,
        Failure::ContentTooLong
            | Failure::MalformedCoding
            | Failure::InvalidRedirect
            | Failure::UnsupportedScheme
    )
}

async fn exchange(
    shared: &Shared,
    link: &mut Connection,
    origin: &Rc<Origin>,
    url: &Url,
    extra: &Extra<'_>,
    receiver: &mut Receiver<'_>,
) -> Result<Exchanged, Failure> {
    let sent;
    let trail = receiver.trail;
    let exchanged = match link {
        Pooled::Alone(connection) => {
            let request = plain_request(shared, origin, url, extra);
            sent = Instant::now();
            let exchange = connection.exchange_from(sent, &request, receiver);
            unless_skipped(trail, exchange).await
        }
        Pooled::Shared(connection) => {
            let request = http2_request(shared, origin, url, extra)?;
            sent = Instant::now();
            let exchange = connection.exchange_from(sent, &request, receiver);
            unless_skipped(trail, exchange).await
        }
    };
    let Some(first_byte) = receiver.enough() else {
        return exchanged.unwrap_or(Err(Failure::BodyTimeout));
    };
    match exchanged {
        Some(Ok(exchanged)) => return Ok(exchanged),
        Some(Err(failure)) => {
            drop_broken(shared, origin, link, failure);
            receiver.unread = Some(failure);
        }
        None => receiver.unread = Some(Failure::BodyTimeout),
    }
    Ok(Exchanged {
        sent,
        first_byte,
        end: Instant::now(),
        reusable: false,
        expectation: Expectation::None,
        deviations: deviations(link),
    })
}

/// Waits for an exchange; `None` if it is a redirect whose content does not end.
async fn unless_skipped<F: Future>(trail: &Trail, exchange: F) -> Option<F::Output> {
    let (mut exchange, mut patience) = (pin!(exchange), None);
    poll_fn(|context| {
        if let Poll::Ready(ended) = exchange.as_mut().poll(context) {
            return Poll::Ready(Some(ended));
        }
        if trail.stage() != Stage::Skipping {
            return Poll::Pending;
        }
        let patience = patience.get_or_insert_with(|| Box::pin(sleep(SKIP_PATIENCE)));
        patience.as_mut().poll(context).map(|()| None)
    })
    .await
}

fn plain_request(shared: &Shared, origin: &Origin, url: &Url, extra: &Extra<'_>) -> http1::Request {
    let (is_head, keepalive) = (extra.is_head, shared.options.keepalive);
    let mut head = Vec::with_capacity(256);
    let authority = origin.authority();
    // A proxy that forwards the request needs the whole URL, and its own credentials.
    let (mut scheme, mut place, mut login) = ("", "", None);
    let route = shared.route(origin).filter(|route| route.tunnel.is_none());
    if let Some(route) = &route {
        (scheme, place) = ("http://", &authority);
        login = route.by.proxy.authorization();
    }
    write!(
        head,
        "{} {scheme}{place}{} HTTP/1.1\r\nHost: {}\r\n",
        if is_head { "HEAD" } else { "GET" },
        target(url),
        extra.host.unwrap_or(&authority),
    )
    .expect("a vector takes all bytes");
    head.extend_from_slice(&shared.headers.lines);
    let login = login.as_deref().unwrap_or_default();
    for (name, value) in [
        ("Proxy-Authorization", login.as_bytes()),
        (
            "Authorization",
            extra.authorization.unwrap_or_default().as_bytes(),
        ),
        ("Cookie", &extra.cookie),
        ("Connection", if keepalive { b"" } else { b"close" }),
    ] {
        if !value.is_empty() {
            for part in [name.as_bytes(), b": ", value, b"\r\n"] {
                head.extend_from_slice(part);
            }
        }
    }
    head.extend_from_slice(b"\r\n");
    http1::Request::new(head, is_head)
}

fn http2_request(
    shared: &Shared,
    origin: &Origin,
    url: &Url,
    extra: &Extra<'_>,
) -> Result<http2::Request, Failure> {
    let authority = origin.authority();
    // Built from parts, because a user name and password in the URL must not be sent (RFC 9113, section 8.3.1).
    let uri = http::Uri::builder()
        .scheme(url.scheme())
        .authority(extra.host.unwrap_or(&authority))
        .path_and_query(target(url))
        .build();
    let method = if extra.is_head {
        http::Method::HEAD
    } else {
        http::Method::GET
    };
    let head = http::Request::builder()
        .method(method)
        .uri(uri.map_err(|_| Failure::InvalidUrl)?)
        .body(());
    // The parser of the codec is stricter, and may refuse the URL.
    let mut head = head.map_err(|_| Failure::InvalidUrl)?;
    let fields = head.headers_mut();
    fields.clone_from(&shared.headers.map);
    for (name, value) in [
        (
            http::header::AUTHORIZATION,
            extra.authorization.unwrap_or_default().as_bytes(),
        ),
        (http::header::COOKIE, &extra.cookie),
    ] {
        if !value.is_empty() {
            let value = http::HeaderValue::from_bytes(value);
            fields.insert(name, value.map_err(|_| Failure::InvalidUrl)?);
        }
    }
    Ok(http2::Request {
        head,
        content: Bytes::new(),
        upload: None,
    })
}
