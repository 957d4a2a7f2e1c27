//! One loop over epoll that sends the same prepared answer for each request, without reading what it asks for.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::{PollFd, PollFlags, epoll, poll};
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::ServerOptions;
use crate::process::{cpu_time, pin, report};

const EVENTS: usize = 64;
const LISTENER: u64 = u64::MAX;
const STANDARD_INPUT: u64 = u64::MAX - 1;

struct Server {
    events: OwnedFd,
    connections: Vec<Option<Connection>>,
    answer: Vec<u8>,
    file: Option<File>,
    works: bool,
    /// What `--work` compares with, and counts.
    request: Vec<u8>,
    same: u64,
    elapsed_ns: u64,
    answers: u64,
}

struct Connection {
    stream: TcpStream,
    /// Length of a request: of what came first.
    request_bytes: usize,
    received: usize,
}

pub fn run(options: &ServerOptions) -> anyhow::Result<()> {
    pin(options.cpu)?;
    let mut server = Server::new(options)?;
    let listener = TcpListener::bind(options.address)?;
    listener.set_nonblocking(true)?;
    server.watch(&listener, LISTENER)?;
    match server.watch(io::stdin(), STANDARD_INPUT) {
        // A file cannot be watched: then the server runs until it is killed.
        Err(Errno::PERM) => {}
        watched => watched?,
    }
    println!("{}", listener.local_addr()?);
    io::stdout().flush()?;
    let mut events = Vec::with_capacity(EVENTS);
    let mut buffer = [0; 4_096];
    loop {
        epoll::wait(&server.events, spare_capacity(&mut events), None)?;
        for event in events.drain(..) {
            match event.data.u64() {
                LISTENER => server.accept(&listener)?,
                STANDARD_INPUT if io::stdin().read(&mut buffer)? == 0 => {
                    if options.work {
                        eprintln!("{} the same, {} ns", server.same, server.elapsed_ns);
                    }
                    report("answers", server.answers, cpu_time());
                    return Ok(());
                }
                STANDARD_INPUT => {}
                place => server.serve(place as usize, &mut buffer),
            }
        }
    }
}

impl Server {
    fn new(options: &ServerOptions) -> anyhow::Result<Self> {
        let bytes = options.content_bytes;
        let mut answer = format!(
            "HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
             Content-Type: text/plain\r\nContent-Length: {bytes}\r\n\r\n"
        )
        .into_bytes();
        answer.resize(answer.len() + bytes, b'x');
        let file = if options.sendfile {
            let mut file = File::from(memfd_create("answer", MemfdFlags::CLOEXEC)?);
            file.write_all(&answer)?;
            Some(file)
        } else {
            None
        };
        Ok(Self {
            events: epoll::create(epoll::CreateFlags::CLOEXEC)?,
            connections: Vec::new(),
            answer,
            file,
            works: options.work,
            request: Vec::new(),
            same: 0,
            elapsed_ns: 0,
            answers: 0,
        })
    }

    fn watch(&self, source: impl AsFd, data: u64) -> rustix::io::Result<()> {
        let data = epoll::EventData::new_u64(data);
        epoll::add(&self.events, source, data, epoll::EventFlags::IN)
    }

    fn accept(&mut self, listener: &TcpListener) -> anyhow::Result<()> {
        loop {
            let stream = match listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(error.into()),
            };
            stream.set_nonblocking(true)?;
            stream.set_nodelay(true)?;
            let free = self.connections.iter().position(Option::is_none);
            let place = free.unwrap_or(self.connections.len());
            if place == self.connections.len() {
                self.connections.push(None);
            }
            self.watch(&stream, place as u64)?;
            self.connections[place] = Some(Connection {
                stream,
                request_bytes: 0,
                received: 0,
            });
        }
    }

    /// Answers what has come on a connection; closes it when its peer has.
    fn serve(&mut self, place: usize, buffer: &mut [u8]) {
        if self.answer_all(place, buffer).is_none() {
            self.connections[place] = None;
        }
    }

    fn answer_all(&mut self, place: usize, buffer: &mut [u8]) -> Option<()> {
        let connection = self.connections[place].as_mut()?;
        let began = self.works.then(Instant::now);
        let received = match recv(&connection.stream, &mut *buffer, RecvFlags::DONTWAIT) {
            Ok((0, _)) => return None,
            Ok((_, received)) => received,
            Err(Errno::AGAIN) => return Some(()),
            Err(_) => return None,
        };
        if connection.request_bytes == 0 {
            connection.request_bytes = received;
        }
        connection.received += received;
        while connection.received >= connection.request_bytes {
            connection.received -= connection.request_bytes;
            if let Some(began) = began {
                let head = &buffer[..received];
                if self.request == head {
                    self.same += 1;
                } else {
                    self.request = head.to_vec();
                }
                self.elapsed_ns += began.elapsed().as_nanos() as u64;
            }
            send_whole(&connection.stream, &self.answer, self.file.as_ref()).ok()?;
            self.answers += 1;
            if let Some(began) = began {
                self.elapsed_ns += began.elapsed().as_nanos() as u64;
            }
        }
        Some(())
    }
}

/// Sends the answer, in one piece if the kernel takes it.
fn send_whole(stream: &TcpStream, answer: &[u8], file: Option<&File>) -> rustix::io::Result<()> {
    let mut sent = 0;
    while sent < answer.len() {
        let more = match file {
            Some(file) => sendfile(stream, file, Some(&mut (sent as u64)), answer.len() - sent),
            None => send(stream, &answer[sent..], SendFlags::NOSIGNAL),
        };
        match more {
            Ok(more) => sent += more,
            Err(Errno::AGAIN) => {
                poll(&mut [PollFd::new(stream, PollFlags::OUT)], None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
