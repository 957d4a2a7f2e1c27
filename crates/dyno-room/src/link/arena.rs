//! Memory for packets in flight: reusable chunks that packets are read into directly.

use super::chunk::{CHUNK_BYTES, Chunk};
use super::chunk_pool::ChunkPool;

/// Upper limit of one read: the longest super-packet with its header, rounded up.
const LONGEST_BYTES: usize = 68 * 1024;
/// Enough for the packets in flight at 10 Gbit/s and 0.4 s.
const MOST_CHUNKS: usize = 512;
/// Chunks that are allocated before the first packet: connections that start fill many chunks at once.
const READY_CHUNKS: usize = 16;
/// Packets start at cache lines.
const ALIGNMENT: usize = 64;

/// Location of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Parcel {
    chunk: u32,
    start: u32,
    length: u32,
}

/// Chunks of one direction: filled in order, reusable when all packets in them are gone.
#[derive(Debug)]
pub(crate) struct Arena {
    chunks: Vec<Chunk>,
    free: Vec<u32>,
    current: u32,
    pool: ChunkPool,
}

impl Arena {
    pub(crate) fn new() -> Self {
        Self {
            chunks: vec![Chunk::touched()],
            free: Vec::new(),
            current: 0,
            pool: ChunkPool::default(),
        }
    }

    /// Allocate some chunks now, and let the pool allocate further ones.
    pub(crate) fn make_ready(&mut self, pool: ChunkPool) {
        self.pool = pool;
        while self.chunks.len() < READY_CHUNKS {
            if let Ok(number) = u32::try_from(self.chunks.len()) {
                self.free.push(number);
            }
            self.chunks.push(Chunk::touched());
        }
    }

    /// Return space for one packet of any length; none if too much is in flight.
    pub(crate) fn room(&mut self) -> Option<&mut [u8]> {
        if CHUNK_BYTES - self.chunk(self.current).used < LONGEST_BYTES {
            self.current = self.next()?;
        }
        let chunk = self.chunk(self.current);
        Some(&mut chunk.bytes[chunk.used..][..LONGEST_BYTES])
    }

    /// Keep the first `length` bytes that were written to the last [`room`](Self::room) as a packet.
    pub(crate) fn keep(&mut self, length: usize) -> Parcel {
        let number = self.current;
        let chunk = self.chunk(number);
        let start = chunk.used;
        chunk.used += length.next_multiple_of(ALIGNMENT);
        chunk.held += 1;
        let small = |bytes| u32::try_from(bytes).expect("a chunk is far below 4 GiB");
        Parcel {
            chunk: number,
            start: small(start),
            length: small(length),
        }
    }

    /// Return the bytes of a packet.
    pub(crate) fn bytes(&self, parcel: Parcel) -> &[u8] {
        let chunk = &self.chunks[parcel.chunk as usize];
        &chunk.bytes[parcel.start as usize..][..parcel.length as usize]
    }

    /// Free the space of a packet.
    pub(crate) fn release(&mut self, parcel: Parcel) {
        let current = self.current;
        let chunk = self.chunk(parcel.chunk);
        chunk.held -= 1;
        if chunk.held == 0 {
            // Refill the chunk that is hot in the cache first.
            chunk.used = 0;
            if parcel.chunk != current {
                self.free.push(parcel.chunk);
            }
        }
    }

    fn chunk(&mut self, number: u32) -> &mut Chunk {
        &mut self.chunks[number as usize]
    }

    /// Return an empty chunk. The full one still holds packets and is reused when they are gone.
    fn next(&mut self) -> Option<u32> {
        self.free.pop().or_else(|| {
            let number = u32::try_from(self.chunks.len()).ok()?;
            (self.chunks.len() < MOST_CHUNKS).then(|| {
                self.chunks.push(self.pool.take());
                number
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::*;

    fn put(arena: &mut Arena, text: &[u8]) -> Parcel {
        arena.room().expect("room")[..text.len()].copy_from_slice(text);
        arena.keep(text.len())
    }

    #[test]
    fn packets_keep_their_bytes_while_others_come_and_go() {
        let mut arena = Arena::new();
        let mut held = VecDeque::new();
        for number in 0_u32..20_000 {
            let length = 1 + (number as usize * 7919) % 9000;
            let text = vec![number.to_le_bytes()[0]; length];
            held.push_back((number, length, put(&mut arena, &text)));
            if held.len() > 200 {
                let (number, length, parcel) = held.pop_front().unwrap();
                assert_eq!(arena.bytes(parcel), vec![number.to_le_bytes()[0]; length]);
                arena.release(parcel);
            }
        }
        // 200 packets of 4.5 KB on average: at most two full chunks, one being filled, one being emptied.
        assert!(arena.chunks.len() <= 4, "{}", arena.chunks.len());
    }

    #[test]
    fn a_packet_at_a_time_needs_one_chunk() {
        let mut arena = Arena::new();
        for _ in 0..1000 {
            let parcel = put(&mut arena, &vec![1; 60_000]);
            arena.release(parcel);
        }
        assert_eq!((arena.chunks.len(), arena.free.len()), (1, 0));
    }

    #[test]
    fn memory_is_bounded() {
        let mut arena = Arena::new();
        arena.make_ready(ChunkPool::default());
        assert_eq!(
            (arena.chunks.len(), arena.free.len()),
            (READY_CHUNKS, READY_CHUNKS - 1)
        );
        let mut kept = Vec::new();
        while arena.room().is_some() {
            kept.push(arena.keep(LONGEST_BYTES));
        }
        assert_eq!(arena.chunks.len(), MOST_CHUNKS);
        for parcel in kept.drain(..) {
            arena.release(parcel);
        }
        assert!(arena.room().is_some());
    }
}
