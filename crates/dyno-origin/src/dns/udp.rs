//! Queries over UDP.

use std::net::SocketAddr;
use std::rc::Rc;
use std::time::Instant;

use tokio::net::UdpSocket;
use tokio::task::spawn_local;

use super::answer::{self, Reply, Transport};
use crate::worker::Worker;

/// Longer than any query.
const QUERY_BYTES: usize = 4 << 10;

/// Answers queries until the runtime ends.
pub(crate) async fn serve(worker: Rc<Worker>, socket: Rc<UdpSocket>) {
    let mut query = vec![0; QUERY_BYTES];
    loop {
        // Errors of an earlier answer, such as a closed port, are returned here; they do not concern other queries.
        let Ok((bytes, from)) = socket.recv_from(&mut query).await else {
            continue;
        };
        let Some(reply) = answer::reply(&worker, &query[..bytes], Transport::Udp) else {
            continue;
        };
        let (worker, socket) = (worker.clone(), socket.clone());
        if reply.moment <= Instant::now() {
            send(&socket, &reply, from).await;
        } else {
            let delayed = worker.delayed_queries.get();
            let bounds = worker.open.bounds();
            if bounds.is_some_and(|bounds| delayed >= bounds.queries) {
                worker.counters.borrow_mut().unanswered += 1;
                continue;
            }
            worker.delayed_queries.set(delayed + 1);
            spawn_local(async move {
                worker.timer.until(reply.moment).await;
                send(&socket, &reply, from).await;
                worker.delayed_queries.set(worker.delayed_queries.get() - 1);
            });
        }
    }
}

/// Sends what a query gets. A client that is gone needs no answer.
async fn send(socket: &UdpSocket, reply: &Reply, to: SocketAddr) {
    for message in reply.forged.iter().chain([&reply.message]) {
        drop(socket.send_to(message, to).await);
    }
}
