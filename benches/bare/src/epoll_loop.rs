//! A client over epoll: one recv and one send a request.

use std::time::{Duration, Instant};

use anyhow::ensure;
use rustix::buffer::spare_capacity;
use rustix::event::epoll;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};

use crate::ClientOptions;
use crate::client::Exchange;

/// Answers that are taken at once, at most.
const EVENTS: usize = 64;
/// With fewer at once, `--rest-us` sleeps.
const FEW: usize = 16;

/// Asks until `end`; returns how many answers came.
pub fn run(exchange: &Exchange, options: &ClientOptions, end: Instant) -> anyhow::Result<u64> {
    let Exchange {
        request,
        answer_bytes,
        connections,
    } = exchange;
    let loop_fd = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    for (place, stream) in connections.iter().enumerate() {
        let data = epoll::EventData::new_u64(place as u64);
        epoll::add(&loop_fd, stream, data, epoll::EventFlags::IN)?;
        send(stream, request, SendFlags::NOSIGNAL)?;
    }
    let mut received = vec![0; connections.len()];
    let mut buffer = vec![0; 64 << 10];
    let mut events = Vec::with_capacity(EVENTS);
    let mut answered = Vec::with_capacity(EVENTS);
    let mut answers = 0;
    while Instant::now() < end {
        let timeout = (end - Instant::now()).try_into()?;
        epoll::wait(&loop_fd, spare_capacity(&mut events), Some(&timeout))?;
        for event in events.drain(..) {
            let place = usize::try_from(event.data.u64())?;
            match recv(&connections[place], &mut buffer, RecvFlags::DONTWAIT) {
                Ok((_, bytes)) => {
                    ensure!(bytes > 0, "the server closed a connection");
                    received[place] += bytes;
                }
                Err(Errno::AGAIN) => {}
                Err(error) => return Err(error.into()),
            }
            if received[place] >= *answer_bytes {
                ensure!(
                    received[place] == *answer_bytes,
                    "an answer is longer than the first"
                );
                received[place] = 0;
                answered.push(place);
            }
        }
        answers += answered.len() as u64;
        let is_few = answered.len() < FEW;
        // All answers are taken before the next requests go out, as the generator does.
        for place in answered.drain(..) {
            send(&connections[place], request, SendFlags::NOSIGNAL)?;
        }
        if is_few && options.rest_us > 0 {
            std::thread::sleep(Duration::from_micros(options.rest_us));
        }
    }
    Ok(answers)
}
