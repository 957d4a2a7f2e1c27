//! Queries over TCP: each preceded by its length, many on one connection, answered as each is due (RFC 7766).

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{Mutex, Semaphore};
use tokio::task::spawn_local;

use super::answer::{self, Reply, Transport};
use crate::open_connection::Connection;
use crate::worker::Worker;

/// Limit of queries on a connection whose answers are not sent yet: answers that a client does not read would
/// accumulate.
const MOST_UNANSWERED: usize = 512;

/// Answers the queries of a connection until the client closes it.
pub(crate) async fn serve(worker: Rc<Worker>, connection: Rc<Connection>, stream: TcpStream) {
    let (mut receiving, sending) = stream.into_split();
    let sending = Rc::new(Mutex::new(sending));
    let unanswered = Arc::new(Semaphore::new(MOST_UNANSWERED));
    let mut query = Vec::new();
    while let Ok(permit) = unanswered.clone().acquire_owned().await {
        if read(&mut receiving, &mut query).await.is_err() {
            return;
        }
        connection.note();
        let Some(reply) = answer::reply(&worker, &query, Transport::Tcp) else {
            return;
        };
        let Reply {
            message, moment, ..
        } = reply;
        let Ok(length) = u16::try_from(message.len()) else {
            return;
        };
        let (worker, connection, sending) = (worker.clone(), connection.clone(), sending.clone());
        spawn_local(async move {
            let waiting = connection.wait();
            worker.timer.until(moment).await;
            drop(waiting);
            let framed = [&length.to_be_bytes()[..], &message].concat();
            // A client that has closed needs no answer.
            drop(sending.lock().await.write_all(&framed).await);
            drop(permit);
        });
    }
}

async fn read(receiving: &mut (impl AsyncReadExt + Unpin), query: &mut Vec<u8>) -> io::Result<()> {
    let length = receiving.read_u16().await?;
    query.resize(length.into(), 0);
    receiving.read_exact(query).await?;
    Ok(())
}
