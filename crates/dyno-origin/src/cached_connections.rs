//! Connections that repeatedly request cached answers, while they wait for their next request.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use rustix::event::epoll;
use tokio::io::unix::AsyncFd;

use crate::open_connection::Connection;

/// A waiting connection.
#[derive(Debug)]
pub(crate) struct CachedConnection {
    pub(crate) stream: TcpStream,
    pub(crate) number: u64,
    pub(crate) connection: Rc<Connection>,
    pub(crate) local: SocketAddr,
}

/// All connections of a thread that the cached loop serves.
#[derive(Debug)]
pub(crate) struct CachedConnections {
    pub(crate) events: AsyncFd<OwnedFd>,
    pub(crate) places: RefCell<Places>,
}

#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) taken: Vec<Option<CachedConnection>>,
    pub(crate) free: Vec<usize>,
}

impl CachedConnections {
    /// Creates an empty set for the current thread's runtime, which must [`CachedConnections::run`] the loop.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            events: dyno_io::watch(epoll::create(epoll::CreateFlags::CLOEXEC)?)?,
            places: RefCell::default(),
        })
    }

    /// Adds a connection that has nothing left to read or send.
    pub(crate) fn take(
        &self,
        stream: tokio::net::TcpStream,
        number: u64,
        connection: Rc<Connection>,
        local: SocketAddr,
    ) -> io::Result<()> {
        let stream = stream.into_std()?;
        let mut places = self.places.borrow_mut();
        let place = places.free.pop().unwrap_or(places.taken.len());
        let flags = epoll::EventFlags::IN | epoll::EventFlags::RDHUP | epoll::EventFlags::ET;
        epoll::add(
            self.events.get_ref(),
            &stream,
            epoll::EventData::new_u64(place as u64),
            flags,
        )?;
        if place == places.taken.len() {
            places.taken.push(None);
        }
        connection.enter_cached_loop(place);
        places.taken[place] = Some(CachedConnection {
            stream,
            number,
            connection,
            local,
        });
        Ok(())
    }

    /// Closes a connection.
    pub(crate) fn drop(&self, place: usize) {
        let mut places = self.places.borrow_mut();
        if places.taken[place].take().is_some() {
            places.free.push(place);
        }
    }
}
