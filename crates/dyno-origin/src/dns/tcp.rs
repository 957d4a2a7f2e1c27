//! Queries over TCP: each with its length before it, many on a connection, answered as each is due (RFC 7766).

use std::io;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::spawn_local;

use super::answer::{self, Reply};
use crate::worker::Worker;

/// Answers the queries of a connection until the client closes it.
pub(crate) async fn serve(worker: Rc<Worker>, stream: TcpStream) {
    let (mut receiving, sending) = stream.into_split();
    let sending = Rc::new(Mutex::new(sending));
    let mut query = Vec::new();
    while read(&mut receiving, &mut query).await.is_ok() {
        let Some(Reply { message, moment }) = answer::reply(&worker, &query) else {
            return;
        };
        let Ok(length) = u16::try_from(message.len()) else {
            return;
        };
        let (worker, sending) = (worker.clone(), sending.clone());
        spawn_local(async move {
            worker.timer.until(moment).await;
            let framed = [&length.to_be_bytes()[..], &message].concat();
            // A client that has gone needs no answer.
            drop(sending.lock().await.write_all(&framed).await);
        });
    }
}

async fn read(receiving: &mut (impl AsyncReadExt + Unpin), query: &mut Vec<u8>) -> io::Result<()> {
    let length = receiving.read_u16().await?;
    query.resize(length.into(), 0);
    receiving.read_exact(query).await?;
    Ok(())
}
