//! One loop answers all connections that keep asking for cached answers, from one buffer.
//!
//! A task for each costs more than its instructions say: its state, its buffer and the runtime's part of it are elsewhere in
//! memory for every connection, and the kernel's part of a request leaves little of that in the caches. What a connection
//! sends that is anything else, or what the kernel does not take at once, goes on in a task, as if it had never been here.

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

/// How many events are looked after before other tasks have their turn: asking for more is cheaper than going by the runtime.
const TURN: usize = 64;
/// Longer than any head in the cache.
const RECEIVED_BYTES: usize = 4 << 10;
/// Events of a connection whose peer sends nothing more. They come once, so a task takes what the peer sent before.
const OVER: epoll::EventFlags = epoll::EventFlags::RDHUP
    .union(epoll::EventFlags::HUP)
    .union(epoll::EventFlags::ERR);
const NO_WAIT: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 0,
};

/// The next need of a connection.
enum Needs {
    Nothing,
    /// To be closed: its peer has gone.
    End,
    /// A task that goes on with what was received, after what is left of an answer, and with what more there is.
    Task(Input, Option<Rest>),
}

impl CachedConnections {
    /// Answers until the runtime ends.
    pub(crate) async fn run(&self, worker: &Rc<Worker>) -> io::Result<()> {
        let mut events = Vec::with_capacity(TURN);
        let mut buffer = vec![0; RECEIVED_BYTES];
        loop {
            let mut ready = self.events.readable().await?;
            let mut turn = 0;
            while turn < TURN {
                let room = spare_capacity(&mut events);
                if epoll::wait(self.events.get_ref(), room, Some(&NO_WAIT))? == 0 {
                    // Bytes that come from now on are a new event.
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
            // A descriptor that is about to be closed needs not be watched.
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
    /// Answers what came, as far as the answers are cached.
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
            // There may be more, without another event. A task takes it, which also gives way to others.
            Needs::Task(Input::new(), None)
        }
    }
}
