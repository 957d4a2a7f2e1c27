//! The channel between the engine and the room's first process: JSON messages with file descriptors attached.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::cmsg_space;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// More descriptors than any message has.
const MAXIMUM_DESCRIPTORS: usize = 8;

/// One end of a channel.
#[derive(Debug)]
pub(crate) struct Channel(OwnedFd);

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Channel {
    /// Return both ends of a new channel.
    pub(crate) fn pair() -> io::Result<(Self, Self)> {
        let (left, right) = socketpair(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )?;
        Ok((Self(left), Self(right)))
    }

    /// Send a message with copies of these descriptors.
    pub(crate) fn send(
        &self,
        message: &impl Serialize,
        descriptors: &[BorrowedFd],
    ) -> io::Result<()> {
        let body = serde_json::to_vec(message)?;
        let length = u32::try_from(body.len()).map_err(io::Error::other)?;
        let mut frame = length.to_ne_bytes().to_vec();
        frame.extend(body);
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAXIMUM_DESCRIPTORS))];
        let mut control = SendAncillaryBuffer::new(&mut space);
        if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
            return Err(io::Error::other("too many descriptors for one message"));
        }
        let mut sent = 0;
        while sent < frame.len() {
            let slice = [IoSlice::new(&frame[sent..])];
            match sendmsg(&self.0, &slice, &mut control, SendFlags::NOSIGNAL) {
                Ok(count) => sent += count,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            }
            control.clear();
        }
        Ok(())
    }

    /// Wait for the next message and its descriptors; `None` if the other end is closed.
    pub(crate) fn receive<M: DeserializeOwned>(&self) -> io::Result<Option<(M, Vec<OwnedFd>)>> {
        let mut descriptors = Vec::new();
        let mut header = [0; 4];
        if !self.fill(&mut header, &mut descriptors)? {
            return Ok(None);
        }
        let length = usize::try_from(u32::from_ne_bytes(header)).map_err(io::Error::other)?;
        let mut body = vec![0; length];
        if !self.fill(&mut body, &mut descriptors)? {
            return Ok(None);
        }
        Ok(Some((serde_json::from_slice(&body)?, descriptors)))
    }

    /// Fill the buffer; return false if the other end closes first.
    fn fill(&self, buffer: &mut [u8], descriptors: &mut Vec<OwnedFd>) -> io::Result<bool> {
        let mut filled = 0;
        while filled < buffer.len() {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(MAXIMUM_DESCRIPTORS))];
            let mut control = RecvAncillaryBuffer::new(&mut space);
            let mut slice = [IoSliceMut::new(&mut buffer[filled..])];
            match recvmsg(&self.0, &mut slice, &mut control, RecvFlags::CMSG_CLOEXEC) {
                Ok(received) if received.bytes == 0 => return Ok(false),
                Ok(received) => filled += received.bytes,
                Err(Errno::INTR) => continue,
                Err(Errno::CONNRESET) => return Ok(false),
                Err(error) => return Err(error.into()),
            }
            for message in control.drain() {
                if let RecvAncillaryMessage::ScmRights(received) = message {
                    descriptors.extend(received);
                }
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn messages_carry_their_descriptors() {
        let (left, right) = Channel::pair().unwrap();
        let (reader, mut writer) = std::io::pipe().unwrap();
        left.send(&"first", &[reader.as_fd()]).unwrap();
        left.send(&"second", &[]).unwrap();
        drop(reader);
        let (text, mut descriptors) = right.receive::<String>().unwrap().unwrap();
        assert_eq!((text.as_str(), descriptors.len()), ("first", 1));
        writer.write_all(b"x").unwrap();
        drop(writer);
        let mut content = String::new();
        std::fs::File::from(descriptors.remove(0))
            .read_to_string(&mut content)
            .unwrap();
        assert_eq!(content, "x");
        let (text, descriptors) = right.receive::<String>().unwrap().unwrap();
        assert_eq!((text.as_str(), descriptors.len()), ("second", 0));
    }

    #[test]
    fn long_messages_pass_and_a_closed_end_is_detected() {
        let (left, right) = Channel::pair().unwrap();
        let text = "x".repeat(1_000_000);
        let sender = std::thread::spawn({
            let text = text.clone();
            move || left.send(&text, &[]).unwrap()
        });
        assert_eq!(right.receive::<String>().unwrap().unwrap().0, text);
        sender.join().unwrap();
        assert!(right.receive::<String>().unwrap().is_none());
    }
}
