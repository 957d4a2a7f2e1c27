//! Links, addresses and routes of a network namespace, configured over a netlink socket without external programs.

mod message;
mod requests;

use std::io;

use rustix::fd::OwnedFd;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socket_with,
};

pub(crate) use message::Message;
pub(crate) use requests::{
    Device, LinkCounters, Sending, VethEnd, add_address, add_neighbour, add_route, add_veth,
    bring_up, set_sending,
};
pub(crate) use requests::{Hop, Table};

use crate::error::{Result, Step};

/// A netlink socket, bound to the network namespace in which it was opened.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Open a socket in the calling thread's network namespace.
    pub(crate) fn open() -> Result<Self> {
        let socket = socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::CLOEXEC,
            None, // NETLINK_ROUTE is number 0,
        )
        .step(|| "opening a netlink socket".to_owned())?;
        Ok(Self {
            socket,
            sequence: 0,
        })
    }

    /// Send one request and wait until the kernel has carried it out.
    pub(crate) fn execute(
        &mut self,
        step: impl Fn() -> String,
        message: &mut Message,
    ) -> Result<()> {
        self.exchange(message).map(drop).step(step)
    }

    /// Return the traffic counters of one device of this namespace.
    pub(crate) fn counters(&mut self, device: Device) -> Result<LinkCounters> {
        LinkCounters::parse(&self.link(device)?)
            .ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))
            .step(|| format!("reading the counters of link {}", device.0))
    }

    /// Return whether packets pass through one device of this namespace.
    pub(crate) fn is_operational(&mut self, device: Device) -> Result<bool> {
        Ok(requests::is_operational(&self.link(device)?))
    }

    /// Return the kernel's description of a device.
    fn link(&mut self, device: Device) -> Result<Vec<u8>> {
        self.exchange(&mut requests::get_link(device))
            .and_then(|reply| reply.ok_or_else(|| io::ErrorKind::UnexpectedEof.into()))
            .step(|| format!("asking for link {}", device.0))
    }

    fn exchange(&mut self, message: &mut Message) -> io::Result<Option<Vec<u8>>> {
        self.sequence += 1;
        send(
            &self.socket,
            message.seal(self.sequence),
            SendFlags::empty(),
        )?;
        let mut reply = None;
        let mut buffer = vec![0_u8; 16 * 1024];
        loop {
            let (length, _) = recv(&self.socket, &mut buffer[..], RecvFlags::empty())?;
            for part in message::split(&buffer[..length]) {
                if part.sequence != self.sequence {
                    continue;
                }
                match part.acknowledgement() {
                    Some(0) => return Ok(reply),
                    Some(error) => return Err(io::Error::from_raw_os_error(-error)),
                    None => reply = Some(part.body.to_vec()),
                }
            }
        }
    }
}
