//! An origin that another machine measures against: what is asked of it at a reserved path, off the threads that serve.

mod allowed;
mod desk;
pub mod message;

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use dyno_origin::ControlConnection;

pub use allowed::Allowed;
pub use desk::Desk;
use desk::{Visitor, refusal};
use message::Messages;

/// A visitor who asks for nothing in this time is gone, and a trial of its own with it: nobody holds an origin for ever.
const LEASE: Duration = Duration::from_secs(30);
/// More visitors at a time are not listened to.
const MOST_VISITORS: usize = 32;

/// Answers visitors, each on a thread of its own, until the origin has ended.
pub fn serve(visitors: Receiver<ControlConnection>, desk: Desk, allowed: Allowed) {
    let (desk, allowed) = (Arc::new(desk), Arc::new(allowed));
    let present = Arc::new(AtomicUsize::new(0));
    for (number, connection) in (0..).zip(visitors) {
        if present.fetch_add(1, Ordering::Relaxed) >= MOST_VISITORS {
            present.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (desk, allowed, counted) = (desk.clone(), allowed.clone(), present.clone());
        let visit = thread::Builder::new().name("control".to_owned());
        let started = visit.spawn(move || {
            let visitor = Visitor {
                number,
                from: connection.from,
            };
            // That a visitor goes, in whichever way, is no failure of the origin's.
            drop(receive(connection, visitor, &desk, &allowed));
            desk.leave(visitor);
            counted.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            present.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Answers a visitor until it goes.
fn receive(
    connection: ControlConnection,
    visitor: Visitor,
    desk: &Desk,
    allowed: &Allowed,
) -> std::io::Result<()> {
    let stream: TcpStream = connection.stream;
    stream.set_read_timeout(Some(LEASE))?;
    stream.set_write_timeout(Some(LEASE))?;
    let mut messages = Messages::new(stream, connection.received, LEASE);
    while let Some(asked) = messages.read_request()? {
        let answered = if allowed.has(visitor.from.ip()) {
            desk.answer(visitor, &asked)
        } else {
            let from = visitor.from.ip().to_canonical();
            refusal(
                403,
                &format!(
                    "does not let {from} control it; start it with --control any, or --control {from}"
                ),
            )
        };
        messages.answer(&answered, "application/json")?;
    }
    Ok(())
}
