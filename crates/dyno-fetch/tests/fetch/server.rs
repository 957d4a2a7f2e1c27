//! An HTTP server whose behaviour on each path is set by the test.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Whether the connection accepts another request.
pub type KeepsOn = bool;
/// Answers a request with this head, the n-th of its connection.
pub type Answer = dyn Fn(&mut TcpStream, &str, usize) -> KeepsOn + Send + Sync;

/// A server that runs until the test ends.
#[derive(Clone)]
pub struct Server {
    pub address: SocketAddr,
    pub connections: Arc<AtomicUsize>,
    pub requests: Arc<AtomicUsize>,
}

impl Server {
    pub fn start(
        answer: impl Fn(&mut TcpStream, &str, usize) -> KeepsOn + Send + Sync + 'static,
    ) -> Self {
        Self::reading(move |stream, head, number| {
            answer(stream, head.split(' ').nth(1).unwrap(), number)
        })
    }

    /// Starts a server that answers by the whole head of a request.
    pub fn reading(
        answer: impl Fn(&mut TcpStream, &str, usize) -> KeepsOn + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
            requests: Arc::default(),
        };
        let (counted, answer): (Self, Arc<Answer>) = (server.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (counted, answer) = (counted.clone(), answer.clone());
                counted.connections.fetch_add(1, Ordering::SeqCst);
                thread::spawn(move || counted.serve(stream.unwrap(), &*answer));
            }
        });
        server
    }

    fn serve(&self, mut stream: TcpStream, answer: &Answer) {
        for number in 0.. {
            let Some(head) = request(&mut stream) else {
                return;
            };
            self.requests.fetch_add(1, Ordering::SeqCst);
            if !answer(&mut stream, &head, number) {
                return;
            }
        }
    }
}

/// Reads the head of a request.
fn request(stream: &mut TcpStream) -> Option<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}

/// Sends bytes, and ignores that a client may have closed.
pub fn send(stream: &mut TcpStream, bytes: &[u8]) {
    drop(stream.write_all(bytes));
}

/// Sends a complete answer.
pub fn whole(stream: &mut TcpStream, fields: &str, content: &[u8]) -> KeepsOn {
    let head = format!(
        "HTTP/1.1 200 OK\r\n{fields}Content-Length: {}\r\n\r\n",
        content.len()
    );
    send(stream, &[head.as_bytes(), content].concat());
    true
}
