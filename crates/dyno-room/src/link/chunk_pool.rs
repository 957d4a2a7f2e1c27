//! Allocates chunks in a separate thread: the first use of memory may take milliseconds in a virtual machine, in which
//! no packet moves.

use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::Builder;

use super::chunk::Chunk;

/// Number of chunks that are kept ready: a link of 1 Gbit/s fills them in 64 ms.
const CHUNKS: usize = 8;

/// Chunks that are ready to use. A pool without a thread allocates each on demand.
#[derive(Debug, Default)]
pub(crate) struct ChunkPool {
    made: Option<Receiver<Chunk>>,
}

impl ChunkPool {
    /// Start a thread that allocates chunks in advance, on the CPUs of the calling thread. It ends when the pool is
    /// dropped.
    pub(crate) fn filled_ahead() -> Self {
        let (give, made) = sync_channel(CHUNKS);
        let maker = Builder::new()
            .name("link-memory".to_owned())
            .spawn(move || while give.send(Chunk::touched()).is_ok() {});
        Self {
            made: maker.is_ok().then_some(made),
        }
    }

    /// Return a chunk; allocate it now if none is ready.
    pub(super) fn take(&self) -> Chunk {
        self.made
            .as_ref()
            .and_then(|made| made.try_recv().ok())
            .unwrap_or_else(Chunk::touched)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_gives_what_was_made_ahead_and_makes_the_rest() {
        let pool = ChunkPool::filled_ahead();
        let taken: Vec<Chunk> = (0..3 * CHUNKS).map(|_| pool.take()).collect();
        assert_eq!(taken.len(), 3 * CHUNKS);
        drop(ChunkPool::default().take());
    }

    #[test]
    fn the_thread_ends_with_its_pool() {
        let ChunkPool { made } = ChunkPool::filled_ahead();
        let made = made.expect("a thread");
        let first = made.recv().expect("a chunk");
        drop(first);
        drop(made);
        let threads = || {
            std::fs::read_dir("/proc/self/task")
                .expect("the threads")
                .filter_map(Result::ok)
                .filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok())
                .filter(|name| name.trim() == "link-memory")
                .count()
        };
        let patience = std::time::Instant::now();
        while threads() > 0 && patience.elapsed().as_secs() < 300 {
            std::thread::yield_now();
        }
        assert_eq!(threads(), 0);
    }
}
