//! Places for connections that ask for the same again and again, and wait to do so once more.

use std::cell::RefCell;
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::OwnedFd;
use std::rc::Rc;

use rustix::event::epoll;
use tokio::io::unix::AsyncFd;

use crate::open_connection::Connection;
use crate::timer::watched;

/// A connection that waits.
#[derive(Debug)]
pub(crate) struct Parked {
    pub(crate) stream: TcpStream,
    pub(crate) number: u64,
    pub(crate) connection: Rc<Connection>,
    pub(crate) local: SocketAddr,
}

/// All connections of a thread that wait here.
#[derive(Debug)]
pub(crate) struct Park {
    pub(crate) events: AsyncFd<OwnedFd>,
    pub(crate) places: RefCell<Places>,
}

#[derive(Debug, Default)]
pub(crate) struct Places {
    pub(crate) taken: Vec<Option<Parked>>,
    pub(crate) free: Vec<usize>,
}

impl Park {
    /// A place for the connections of the current thread's runtime; somebody must [`Park::run`] it.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self {
            events: watched(epoll::create(epoll::CreateFlags::CLOEXEC)?)?,
            places: RefCell::default(),
        })
    }

    /// Takes over a connection that has nothing left to read or to send.
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
        connection.park(place);
        places.taken[place] = Some(Parked {
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
