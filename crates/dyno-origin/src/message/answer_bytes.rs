//! An encoded answer in one piece.

use std::fs::File;
use std::io::{self, Write};
use std::net::TcpStream;

use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::Errno;
use rustix::net::SendFlags;

use crate::date;

/// Length from which the kernel sends an answer from a file faster than from a copy: all connections share the pages of
/// the file, which stay in the caches of both sides.
const FILE_FROM_BYTES: usize = 8 << 10;

/// The bytes of an answer with a date. Never modified, because the kernel may not have sent all of the file yet.
#[derive(Debug)]
pub(crate) struct AnswerBytes {
    /// The second of its date, since 1970.
    pub(crate) second: u64,
    bytes: Vec<u8>,
    date_at: usize,
    /// The same bytes in a memory file, if there are many.
    pub(crate) file: Option<File>,
}

impl AnswerBytes {
    /// Creates an answer whose date is at `date_at`, without a date yet.
    pub(crate) fn undated(bytes: Vec<u8>, date_at: usize) -> Self {
        Self {
            second: 0,
            bytes,
            date_at,
            file: None,
        }
    }

    /// The same answer with another date.
    pub(crate) fn dated(&self, second: u64, date: &date::Text) -> Self {
        let mut bytes = self.bytes.clone();
        bytes[self.date_at..self.date_at + date.len()].copy_from_slice(date);
        // If no more files can be opened, the bytes are sent from memory.
        let file = (bytes.len() >= FILE_FROM_BYTES)
            .then(|| file(&bytes).ok())
            .flatten();
        Self {
            second,
            bytes,
            date_at: self.date_at,
            file,
        }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Sends as much as the kernel accepts at once.
    pub(crate) fn send_at_once(&self, stream: &TcpStream) -> io::Result<usize> {
        let sent = match &self.file {
            Some(file) => sendfile(stream, file, Some(&mut 0), self.bytes.len()),
            None => rustix::net::send(stream, &self.bytes, SendFlags::NOSIGNAL),
        };
        match sent {
            Err(Errno::AGAIN) => Ok(0),
            sent => Ok(sent?),
        }
    }
}

fn file(bytes: &[u8]) -> io::Result<File> {
    let mut file = File::from(memfd_create("answer", MemfdFlags::CLOEXEC)?);
    file.write_all(bytes)?;
    Ok(file)
}
