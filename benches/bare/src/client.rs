//! The client's connections, and what its loops have in common.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};

use crate::process::{cpu_time, pin, report};
use crate::{ClientOptions, Loop, epoll_loop, uring_loop};

/// Connections that are open, with what goes over them.
pub struct Exchange {
    pub request: Vec<u8>,
    /// Length of an answer: all of them have the same.
    pub answer_bytes: usize,
    pub connections: Vec<TcpStream>,
}

pub fn run(options: &ClientOptions) -> anyhow::Result<()> {
    pin(options.cpu)?;
    let exchange = Exchange::open(options)?;
    let before = cpu_time();
    let end = Instant::now() + Duration::from_secs_f64(options.seconds);
    let answers = match options.kind {
        Loop::Epoll => epoll_loop::run(&exchange, options, end)?,
        Loop::Uring => uring_loop::run(&exchange, options, end)?,
    };
    report("requests", answers, cpu_time() - before);
    Ok(())
}

impl Exchange {
    fn open(options: &ClientOptions) -> anyhow::Result<Self> {
        let address = options.address;
        let path = &options.path;
        let request = format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").into_bytes();
        let answer_bytes = measure_answer(address, &request)?;
        let connect = |_| {
            let stream = TcpStream::connect(address)?;
            stream.set_nodelay(true)?;
            stream.set_nonblocking(true)?;
            Ok(stream)
        };
        let connections: anyhow::Result<Vec<TcpStream>> =
            (0..options.connections).map(connect).collect();
        Ok(Self {
            request,
            answer_bytes,
            connections: connections?,
        })
    }
}

/// Length of the answer, its head included.
fn measure_answer(address: SocketAddr, request: &[u8]) -> anyhow::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(request)?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        ensure!(
            stream.read(&mut byte)? == 1,
            "the server closed the connection"
        );
        head.push(byte[0]);
    }
    let text = String::from_utf8_lossy(&head).to_ascii_lowercase();
    ensure!(
        text.starts_with("http/1.1 200"),
        "not an answer with 200: {text}"
    );
    let length = text
        .lines()
        .find_map(|line| line.strip_prefix("content-length:"))
        .context("the answer has no Content-Length")?;
    Ok(head.len() + length.trim().parse::<usize>()?)
}
