//! A server whose behaviour on each connection is set by the test.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

pub const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

/// Serves until the test's process ends: its threads sleep in reads, and end with the process.
pub struct Server {
    pub address: SocketAddr,
    accepted: Arc<AtomicUsize>,
}

impl Server {
    /// Calls `behave` with each connection, in a separate thread.
    pub fn start(behave: impl Fn(TcpStream) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (behave, accepted) = (Arc::new(behave), Arc::<AtomicUsize>::default());
        let count = accepted.clone();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (stream, behave) = (stream.unwrap(), behave.clone());
                count.fetch_add(1, Ordering::Relaxed);
                stream.set_nodelay(true).unwrap();
                thread::spawn(move || behave(stream));
            }
        });
        Self { address, accepted }
    }

    /// Answers every request of a connection, after calling `before`.
    pub fn answering(answer: &'static [u8], before: impl Fn() + Send + Sync + 'static) -> Self {
        Self::start(move |mut stream| {
            while read_request(&mut stream) {
                before();
                if stream.write_all(answer).is_err() {
                    return;
                }
            }
        })
    }

    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    pub fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }
}

/// Reads one request without content; false at the end of the connection.
pub fn read_request(stream: &mut TcpStream) -> bool {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return false,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
        if bytes.ends_with(b"\r\n\r\n") {
            return true;
        }
    }
}

/// Discards input until the client closes.
pub fn wait_for_the_end(mut stream: TcpStream) {
    while matches!(stream.read(&mut [0; 4096]), Ok(count) if count > 0) {}
}

/// Closes by a reset.
pub fn reset(stream: TcpStream) {
    let socket = socket2::SockRef::from(&stream);
    socket.set_linger(Some(Duration::ZERO)).unwrap();
    drop(stream);
}
