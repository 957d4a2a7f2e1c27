//! A block of the memory for packets in flight.

/// Much longer than the longest packet, so that little space is wasted at the end of a chunk; much shorter than the
/// data in flight on a long link.
pub(super) const CHUNK_BYTES: usize = 1024 * 1024;
const PAGE_BYTES: usize = 4096;

/// Memory that is filled from its start, and reused when it no longer contains a packet.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) bytes: Box<[u8]>,
    pub(super) used: usize,
    /// Packets in this chunk.
    pub(super) held: usize,
}

impl Chunk {
    /// Allocate a chunk whose pages are already mapped.
    pub(super) fn touched() -> Self {
        let mut bytes = vec![0; CHUNK_BYTES].into_boxed_slice();
        for page in bytes.chunks_mut(PAGE_BYTES) {
            page[0] = 1;
        }
        Self {
            bytes,
            used: 0,
            held: 0,
        }
    }
}
