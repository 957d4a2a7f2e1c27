//! Remote control of an origin by the machine that measures it: requests at a reserved path, off the serving threads.

mod allowed;
pub mod message;
mod service;

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::Duration;

use dyno_origin::ControlConnection;

pub use allowed::Allowed;
use message::Messages;
use service::Visitor;
pub use service::{ControlService, clock_answer, refusal};

/// Time without a request after which a visitor is disconnected. This ends its trial, so an abandoned origin becomes
/// free again.
const LEASE: Duration = Duration::from_secs(30);
/// Maximum number of visitors at once; further ones are disconnected.
const MOST_VISITORS: usize = 32;

/// Answers visitors, each on a separate thread, until the origin has ended.
pub fn serve(visitors: Receiver<ControlConnection>, service: ControlService, allowed: Allowed) {
    let (service, allowed) = (Arc::new(service), Arc::new(allowed));
    let count = Arc::new(AtomicUsize::new(0));
    for (number, connection) in (0..).zip(visitors) {
        if count.fetch_add(1, Ordering::Relaxed) >= MOST_VISITORS {
            count.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (service, allowed, counter) = (service.clone(), allowed.clone(), count.clone());
        let builder = thread::Builder::new().name("control".to_owned());
        let started = builder.spawn(move || {
            let visitor = Visitor {
                number,
                from: connection.from,
            };
            // A visitor may leave in any way; that is not a failure of the origin.
            drop(serve_visitor(connection, visitor, &service, &allowed));
            service.leave(visitor);
            counter.fetch_sub(1, Ordering::Relaxed);
        });
        if started.is_err() {
            count.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Answers a visitor until it leaves.
fn serve_visitor(
    connection: ControlConnection,
    visitor: Visitor,
    service: &ControlService,
    allowed: &Allowed,
) -> std::io::Result<()> {
    let stream: TcpStream = connection.stream;
    stream.set_read_timeout(Some(LEASE))?;
    stream.set_write_timeout(Some(LEASE))?;
    let mut messages = Messages::new(stream, connection.received, LEASE);
    while let Some(request) = messages.read_request()? {
        let response = if allowed.has(visitor.from.ip()) {
            service.answer(visitor, &request)
        } else {
            let from = visitor.from.ip().to_canonical();
            refusal(
                403,
                &format!(
                    "refuses control by {from}; start it with --control any, or --control {from}"
                ),
            )
        };
        messages.answer(&response, "application/json")?;
    }
    Ok(())
}
