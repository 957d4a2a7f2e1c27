//! One loop serves all connections that repeatedly request cached answers, with one buffer.
//!
//! A task per connection costs more than its instructions: its state, its buffer and the runtime's bookkeeping are at
//! different addresses for each connection, and the kernel's work for a request evicts them from the caches. If a
//! connection sends anything else, or the kernel does not accept an answer at once, the connection continues in a task,
//! as if it had never been in the loop.

use std::io;
use std::rc::Rc;

use dyno_web::Scheme;
use rustix::buffer::spare_capacity;
use rustix::event::{Timespec, epoll};
use rustix::net::RecvFlags;
use tokio::task::yield_now;

use crate::cached_connections::{CachedConnection, CachedConnections};
use crate::connection;
use crate::connection_info::ConnectionInfo;
use crate::http::Rest;
use crate::message::Input;
use crate::worker::Worker;

/// Number of events to handle before other tasks get a turn: polling again is cheaper than returning to the runtime.
const TURN: usize = 64;
/// Longer than any request head in the cache.
const RECEIVED_BYTES: usize = 4 << 10;
/// Events of a connection whose peer sends nothing more. Each arrives once, so a task must read the remaining bytes.
const OVER: epoll::EventFlags = epoll::EventFlags::RDHUP
    .union(epoll::EventFlags::HUP)
    .union(epoll::EventFlags::ERR);
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// What a connection needs next.
enum Needs {
    Nothing,
    /// To be closed, because its peer has closed it.
    End,
    /// A task that processes the received bytes, after sending the rest of an answer, and then continues the
    /// connection.
    Task(Input, Option<Rest>),
}

impl CachedConnections {
    /// Serves the connections until the runtime ends.
    pub(crate) async fn run(&self, worker: &Rc<Worker>) -> io::Result<()> {
        let mut events = Vec::with_capacity(TURN);
        let mut buffer = vec![0; RECEIVED_BYTES];
        loop {
            let mut ready = self.events.readable().await?;
            let mut turn = 0;
            while turn < TURN {
                let room = spare_capacity(&mut events);
                if epoll::wait(self.events.get_ref(), room, Some(&NO_WAIT))? == 0 {
                    // Bytes that arrive from now on cause a new event.
                    ready.clear_ready();
                    break;
                }
                turn += events.len();
                for event in events.drain(..) {
                    let place = usize::try_from(event.data.u64()).expect("a place is an index");
                    let flags = event.flags;
                    self.look_after(place, flags.intersects(OVER), worker, &mut buffer);
                }
            }
            if turn >= TURN {
                yield_now().await;
            }
        }
    }

    fn look_after(&self, place: usize, is_over: bool, worker: &Rc<Worker>, buffer: &mut [u8]) {
        let mut places = self.places.borrow_mut();
        let Some(cached) = &places.taken[place] else {
            return;
        };
        let needs = if is_over {
            Needs::Task(Input::new(), None)
        } else {
            cached.answer(worker, buffer)
        };
        if matches!(needs, Needs::Nothing) {
            return;
        }
        let cached = places.taken[place].take();
        places.free.push(place);
        if let (Some(cached), Needs::Task(input, rest)) = (cached, needs) {
            // A descriptor that is about to be closed need not be watched.
            let _ = epoll::delete(self.events.get_ref(), &cached.stream);
            let info = ConnectionInfo {
                worker: worker.clone(),
                scheme: Scheme::Http,
                number: cached.number,
                connection: cached.connection.clone(),
                local: cached.local,
                server_name: None,
            };
            cached
                .connection
                .serve(connection::go_on(info, cached.stream, input, rest));
        }
    }
}

impl CachedConnection {
    /// Answers the received requests as far as their answers are cached.
    fn answer(&self, worker: &Worker, buffer: &mut [u8]) -> Needs {
        let count = match rustix::net::recv(&self.stream, &mut *buffer, RecvFlags::empty()) {
            Ok((0, _)) => return Needs::End,
            Ok((count, _)) => count,
            Err(error) if error == rustix::io::Errno::AGAIN => return Needs::Nothing,
            Err(_) => return Needs::End,
        };
        self.connection.note();
        worker.live().received_bytes.add(count as u64);
        let mut received = &buffer[..count];
        while !received.is_empty() {
            let answer = worker.answer_cache.borrow().find(Scheme::Http, received);
            let Some(answer) = answer else {
                return Needs::Task(Input::of(received), None);
            };
            received = &received[answer.head_bytes()..];
            match answer.answer_at_once(worker, self.number, &self.stream) {
                Ok(None) => {}
                Ok(rest) => return Needs::Task(Input::of(received), rest),
                Err(_) => return Needs::End,
            }
        }
        if count < buffer.len() {
            Needs::Nothing
        } else {
            // More bytes may have arrived without another event. A task reads them, and lets other tasks run.
            Needs::Task(Input::new(), None)
        }
    }
}
