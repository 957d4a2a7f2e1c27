//! A piece of the memory that packets lie in on their way.

/// Large beside the longest packet, so that little is left at a chunk's end; small beside what is in flight on a long link.
pub(super) const CHUNK_BYTES: usize = 1024 * 1024;
const PAGE_BYTES: usize = 4096;

/// Memory that is filled from its beginning, and used again when no packet lies in it any more.
#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) bytes: Box<[u8]>,
    pub(super) used: usize,
    /// Packets that lie in it.
    pub(super) held: usize,
}

impl Chunk {
    /// A chunk whose memory the kernel has given already.
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
