//! Sends one request and receives its answer, over an idle or a new connection.

use std::cell::Cell;
use std::fmt::Write;
use std::time::Instant;

use bytes::Bytes;
use dyno_client::coding::ACCEPTED;
use dyno_client::{Exchanged, Expectation, Failure, Reach, http1, http2};
use dyno_http::Deviations;
use url::Url;

use crate::connect::{Stage, open};
use crate::listed::{Origin, target};
use crate::pool::Pooled;
use crate::public::is_private_address;
use crate::receiver::Receiver;
use crate::retry::{Failed, Verdict, verdict};
use crate::shared::{Connection, InUse, Shared};

/// Requests a URL and receives the answer; repeats the request if the idle connection turns out to be closed. With
/// `public_only`, hosts in private networks are refused.
pub(crate) async fn visit<'s>(
    shared: &'s Shared,
    url: &'s Url,
    stage: &'s Cell<Stage>,
    public_only: bool,
) -> Result<Receiver<'s>, Failure> {
    let origin = Origin::of(url)?;
    if public_only && is_private_address(&origin) {
        return Err(Failure::PrivateRedirect);
    }
    let _in_use = InUse::new(&shared.in_use);
    loop {
        let idle = shared.idle(&origin).await;
        let reused = idle.is_some();
        let mut link = match idle {
            Some(link) => link,
            None => open(shared, &origin, stage, public_only).await?,
        };
        let reach = reach(&link);
        if public_only && !shared.is_public(&origin, reach) {
            // An idle connection that another URL of the list may use.
            if matches!(link, Pooled::Alone(_)) {
                shared.keep(&origin, link);
            }
            return Err(Failure::PrivateRedirect);
        }
        stage.set(Stage::Head);
        if !reused && let (Pooled::Shared(connection), true) = (&link, shared.options.keepalive) {
            // From now on, other URLs may use the connection, too.
            shared.keep(&origin, Pooled::Shared(connection.clone()));
        }
        let mut receiver = Receiver::new(shared, url, stage);
        receiver.reach = Some(reach);
        let begun = Instant::now();
        let exchanged = exchange(shared, &mut link, &origin, url, &mut receiver).await;
        let failure = match exchanged {
            Ok(exchanged) => {
                receiver.end()?;
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
        if matches!(link, Pooled::Shared(_))
            && failure != Failure::StreamReset
            && is_of_connection(failure)
        {
            shared.pool.borrow_mut().drop_all(&origin);
        }
        let failed = Failed {
            failure,
            reused,
            crossed: reach.may_have_crossed(begun.elapsed())
                && match &link {
                    Pooled::Alone(connection) => connection.is_unanswered(),
                    Pooled::Shared(_) => !receiver.answered,
                },
        };
        if verdict(failed) != Verdict::Again {
            return Err(failure);
        }
        shared.tally.borrow_mut().resent += 1;
    }
}

fn reach(link: &Connection) -> Reach {
    match link {
        Pooled::Alone(connection) => connection.reach(),
        Pooled::Shared(connection) => connection.reach(),
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
    origin: &Origin,
    url: &Url,
    receiver: &mut Receiver<'_>,
) -> Result<Exchanged, Failure> {
    let sent;
    let exchanged = match link {
        Pooled::Alone(connection) => {
            let request = plain_request(shared, origin, url);
            sent = Instant::now();
            connection.exchange_from(sent, &request, receiver).await
        }
        Pooled::Shared(connection) => {
            let request = http2_request(shared, origin, url)?;
            sent = Instant::now();
            connection.exchange_from(sent, &request, receiver).await
        }
    };
    match (exchanged, receiver.enough()) {
        (Err(_), Some(first_byte)) => Ok(Exchanged {
            sent,
            first_byte,
            end: Instant::now(),
            reusable: false,
            expectation: Expectation::None,
            deviations: deviations(link),
        }),
        (exchanged, _) => exchanged,
    }
}

fn plain_request(shared: &Shared, origin: &Origin, url: &Url) -> http1::Request {
    let options = &shared.options;
    let close = if options.keepalive {
        ""
    } else {
        "Connection: close\r\n"
    };
    let mut head = String::with_capacity(256);
    let authority = origin.authority();
    // A proxy that forwards the request needs the whole URL, and its own credentials.
    let (mut scheme, mut host, mut login) = ("", "", None);
    let route = shared.route(origin).filter(|route| route.tunnel.is_none());
    if let Some(route) = &route {
        (scheme, host) = ("http://", &authority);
        login = route.by.proxy.authorization();
    }
    let [login_name, login, login_end] = login
        .as_deref()
        .map_or([""; 3], |login| ["Proxy-Authorization: ", login, "\r\n"]);
    write!(
        head,
        "GET {scheme}{host}{} HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: {}\r\nAccept: */*\r\nAccept-Encoding: {ACCEPTED}\r\n{login_name}{login}{login_end}{close}\r\n",
        target(url),
        options.user_agent,
    )
    .expect("a string takes all text");
    http1::Request::new(head.into_bytes(), false)
}

fn http2_request(shared: &Shared, origin: &Origin, url: &Url) -> Result<http2::Request, Failure> {
    // Built from parts, because a user name and password in the URL must not be sent (RFC 9113, section 8.3.1).
    let uri = http::Uri::builder()
        .scheme(url.scheme())
        .authority(origin.authority())
        .path_and_query(target(url))
        .build();
    let head = http::Request::get(uri.map_err(|_| Failure::InvalidUrl)?)
        .header(http::header::USER_AGENT, &shared.options.user_agent)
        .header(http::header::ACCEPT, "*/*")
        .header(http::header::ACCEPT_ENCODING, ACCEPTED)
        .body(());
    // The parser of the codec is stricter, and may refuse the URL.
    let head = head.map_err(|_| Failure::InvalidUrl)?;
    Ok(http2::Request {
        head,
        content: Bytes::new(),
        upload: None,
    })
}
