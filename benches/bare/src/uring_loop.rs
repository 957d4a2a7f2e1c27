//! A client over io_uring: deferred task work, fixed files, receives that stay armed, buffers that the kernel picks.

use std::alloc::{Layout, alloc_zeroed, handle_alloc_error};
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Instant;

use anyhow::{anyhow, ensure};
use io_uring::types::{BufRingEntry, Fixed, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode, squeue};
use rustix::io::Errno;

use crate::ClientOptions;
use crate::client::Exchange;

const BUFFER_BYTES: usize = 4 << 10;
const GROUP: u16 = 0;
/// Set in the user data of a send, which completes visibly only when it fails.
const SEND: u64 = 1 << 32;

/// Buffers for what is received, shared with the kernel; they live as long as the process.
struct Buffers {
    ring: *mut BufRingEntry,
    memory: *mut u8,
    count: u16,
    tail: u16,
}

/// Asks until `end`; returns how many answers came.
pub fn run(exchange: &Exchange, options: &ClientOptions, end: Instant) -> anyhow::Result<u64> {
    let Exchange {
        request,
        answer_bytes,
        connections,
    } = exchange;
    let entries = u32::try_from((2 * connections.len()).next_power_of_two())?;
    let mut ring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_cqsize(2 * entries)
        .build(entries)?;
    let files: Vec<i32> = connections.iter().map(AsRawFd::as_raw_fd).collect();
    ring.submitter().register_files(&files)?;
    let mut buffers = Buffers::register(&ring, u16::try_from(entries)?)?;
    let receive = |place: u32| {
        let receive = opcode::RecvMulti::new(Fixed(place), GROUP).build();
        receive.user_data(place.into())
    };
    let send = |place: u32| {
        let length = u32::try_from(request.len()).expect("a request is short");
        opcode::Send::new(Fixed(place), request.as_ptr(), length)
            .flags(rustix::net::SendFlags::NOSIGNAL.bits().cast_signed())
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(SEND | u64::from(place))
    };
    let mut due = Vec::new();
    for place in 0..u32::try_from(connections.len())? {
        due.extend([receive(place), send(place)]);
    }
    let mut received = vec![0; connections.len()];
    let mut answers = 0;
    while Instant::now() < end {
        for entry in due.drain(..) {
            // SAFETY: the request outlives the ring's use of it, and buffers are never freed.
            unsafe { ring.submission().push(&entry)? };
        }
        wait(&ring, options, end)?;
        for completion in ring.completion() {
            let (result, flags) = (completion.result(), completion.flags());
            let failed = || Errno::from_raw_os_error(-result);
            ensure!(
                completion.user_data() & SEND == 0,
                "a send failed: {}",
                failed()
            );
            let place = u32::try_from(completion.user_data())?;
            if let Some(buffer) = cqueue::buffer_select(flags) {
                buffers.give_back(buffer);
            }
            if !cqueue::more(flags) {
                due.push(receive(place));
            }
            match result {
                0 => return Err(anyhow!("the server closed a connection")),
                bytes @ 1.. => {
                    let received = &mut received[place as usize];
                    *received += usize::try_from(bytes)?;
                    if *received >= *answer_bytes {
                        ensure!(
                            *received == *answer_bytes,
                            "an answer is longer than the first"
                        );
                        *received = 0;
                        answers += 1;
                        due.push(send(place));
                    }
                }
                // All buffers were in use: the receive is armed again.
                _ if failed() == Errno::NOBUFS => {}
                _ => return Err(failed().into()),
            }
        }
        buffers.publish();
    }
    Ok(answers)
}

/// Submits what is due, and waits for completions.
fn wait(ring: &IoUring, options: &ClientOptions, end: Instant) -> anyhow::Result<()> {
    let left = end.saturating_duration_since(Instant::now());
    let limit = match options.wait_us {
        0 => Timespec::from(left),
        most => Timespec::new().nsec(most * 1_000),
    };
    let arguments = SubmitArgs::new().timespec(&limit);
    let waited = ring
        .submitter()
        .submit_with_args(options.wait_for, &arguments);
    match waited {
        Ok(_) => Ok(()),
        Err(error) if error.raw_os_error() == Some(Errno::TIME.raw_os_error()) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Buffers {
    fn register(ring: &IoUring, count: u16) -> anyhow::Result<Self> {
        let allocate = |bytes: usize| {
            let layout = Layout::from_size_align(bytes, 4_096).expect("a power of two");
            // SAFETY: the layout is not empty.
            let memory = unsafe { alloc_zeroed(layout) };
            if memory.is_null() {
                handle_alloc_error(layout);
            }
            memory
        };
        let entries = allocate(usize::from(count) * size_of::<BufRingEntry>());
        let mut buffers = Self {
            ring: entries.cast(),
            memory: allocate(usize::from(count) * BUFFER_BYTES),
            count,
            tail: 0,
        };
        // SAFETY: the entries are never freed.
        unsafe {
            ring.submitter()
                .register_buf_ring_with_flags(buffers.ring as u64, count, GROUP, 0)?;
        }
        for buffer in 0..count {
            buffers.give_back(buffer);
        }
        buffers.publish();
        Ok(buffers)
    }

    /// Has the kernel use a buffer again, from the next [`Buffers::publish`] on.
    fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (self.count - 1));
        // SAFETY: both are within what was allocated; the kernel reads entries only up to the tail that is published.
        unsafe {
            let entry = &mut *self.ring.add(place);
            entry.set_addr(self.memory.add(usize::from(buffer) * BUFFER_BYTES) as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(buffer);
        }
        self.tail = self.tail.wrapping_add(1);
    }

    fn publish(&self) {
        // SAFETY: the tail lies in the first entry, is aligned, and only the kernel reads it.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(self.ring).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}
