//! Datagrams with the kernel's arrival timestamps, which do not depend on when they are read.

use std::io;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsRawFd, BorrowedFd};
use std::thread::scope;
use std::time::Duration;

use dyno_link::Nanos;
use rustix::net::sockopt;
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use rustix::time::{ClockId, clock_gettime};

use crate::addresses::{PEER_V4, Prefix, SUBJECT_V4};
use crate::error::{Result, Step};

/// How long a reader waits before it checks the clock again.
const LOOK: Duration = Duration::from_millis(5);
const RECEIVE_BUFFER_BYTES: usize = 8 << 20;
/// Space for one control message with a `timespec`, rounded up.
const CONTROL_BYTES: usize = 64;

/// One end of a measurement.
#[derive(Debug)]
pub(super) struct Datagrams(UdpSocket);

/// Read the clock of the kernel's timestamps.
pub(super) fn stamp_now() -> Nanos {
    let time = clock_gettime(ClockId::Realtime);
    stamp(time.tv_sec, time.tv_nsec)
}

fn stamp(seconds: i64, nanoseconds: i64) -> Nanos {
    let part = |part: i64| u64::try_from(part).unwrap_or(0);
    Nanos(part(seconds) * 1_000_000_000 + part(nanoseconds))
}

impl Datagrams {
    /// Open two connected sockets: the first in the subject's namespace, the second in this one.
    pub(super) fn pair(subject_namespace: BorrowedFd) -> Result<(Self, Self)> {
        let any_port = |prefix: Prefix| SocketAddr::new(prefix.address, 0);
        let step = || "opening a socket to measure the link".to_owned();
        let near = scope(|threads| {
            let opened = threads.spawn(|| {
                move_into_link_name_space(subject_namespace, Some(LinkNameSpaceType::Network))?;
                UdpSocket::bind(any_port(SUBJECT_V4))
            });
            opened
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))
        })
        .step(step)?;
        let far = UdpSocket::bind(any_port(PEER_V4)).step(step)?;
        let joined = near
            .local_addr()
            .and_then(|address| far.connect(address))
            .and_then(|()| near.connect(far.local_addr()?));
        joined.step(step)?;
        for socket in [&near, &far] {
            let stamped = set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 1);
            stamped
                .and_then(|()| socket.set_read_timeout(Some(LOOK)))
                .step(step)?;
            // Optional: without them the kernel delivers single packets and drops some if the reader pauses.
            let _ = set(socket, libc::SOL_UDP, libc::UDP_GRO, 1);
            let _ = sockopt::set_socket_recv_buffer_size_force(socket, RECEIVE_BUFFER_BYTES)
                .or_else(|_| sockopt::set_socket_recv_buffer_size(socket, RECEIVE_BUFFER_BYTES));
        }
        Ok((Self(near), Self(far)))
    }

    /// Have the kernel split outgoing data into datagrams of this size; return whether it does.
    pub(super) fn split_into(&self, bytes: usize) -> bool {
        let bytes = libc::c_int::try_from(bytes).unwrap_or(0);
        set(&self.0, libc::SOL_UDP, libc::UDP_SEGMENT, bytes).is_ok()
    }

    /// Send a datagram; a failure shows as loss at the other end.
    pub(super) fn send(&self, bytes: &[u8]) {
        let _ = self.0.send(bytes);
    }

    /// Return the next datagram and its arrival time; none if nothing came within a short time.
    pub(super) fn receive(&self, buffer: &mut [u8]) -> Option<(usize, Nanos)> {
        let mut control = MaybeUninit::<[u64; CONTROL_BYTES / 8]>::zeroed();
        let mut vector = libc::iovec {
            iov_base: buffer.as_mut_ptr().cast(),
            iov_len: buffer.len(),
        };
        // SAFETY: all of its fields are numbers and pointers, for which zero is a value; glibc and musl differ in hidden ones.
        let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
        message.msg_iov = &raw mut vector;
        message.msg_iovlen = 1;
        message.msg_control = control.as_mut_ptr().cast();
        message.msg_controllen = CONTROL_BYTES as _;
        // SAFETY: the message points to one live buffer and one live, aligned area for control messages, each with its own length.
        let length = unsafe { libc::recvmsg(self.0.as_raw_fd(), &raw mut message, 0) };
        let length = usize::try_from(length).ok()?;
        Some((length, arrival(&message).unwrap_or_else(stamp_now)))
    }
}

/// Return the kernel's timestamp from the control messages.
fn arrival(message: &libc::msghdr) -> Option<Nanos> {
    // SAFETY: the kernel has filled the control area that the message points to, and has set its length; the macros stay within it.
    // After a header of this kind comes a timespec, at any alignment.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(found) = header.as_ref() {
            if found.cmsg_level == libc::SOL_SOCKET && found.cmsg_type == libc::SCM_TIMESTAMPNS {
                let time = libc::CMSG_DATA(header)
                    .cast::<libc::timespec>()
                    .read_unaligned();
                return Some(stamp(time.tv_sec, time.tv_nsec));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// Set an option whose value is a number.
fn set(
    socket: &UdpSocket,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(0);
    let value = (&raw const value).cast();
    // SAFETY: the pointer is to a live int, and the length is its own.
    let status = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, length) };
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
