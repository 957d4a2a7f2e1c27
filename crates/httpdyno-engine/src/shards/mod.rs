//! A list in shards: its split, the folder of a fetched shard, and the merge of all. Data: [`manifest`]; [`choice`]
//! decides which shard a command fetches.

pub mod choice;
pub mod folder;
pub mod manifest;
mod merge;
mod rows;
mod split;
mod total;

pub use merge::{Arguments as MergeArguments, run as run_merge};
pub use split::{Arguments as SplitArguments, run as run_split};

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

/// Most shards of a list: ten billion URLs in shards of 100,000.
pub const MOST_SHARDS: u32 = 100_000;

/// First part of the names of folders of [`rest_name`].
const REST: &str = "rest-of-";

/// Parses a number of shards.
pub fn number_of_shards(text: &str) -> Result<u32, String> {
    let number = text.parse().ok();
    number
        .filter(|number| (1..=MOST_SHARDS).contains(number))
        .ok_or_else(|| format!("{text:?} is not a whole number from 1 to {MOST_SHARDS}"))
}

/// The common part of the names of a shard's file and folder.
fn shard_name(number: u32, of: u32) -> String {
    format!("shard-{number:05}-of-{of:05}")
}

/// The number of a shard and the number of shards in the name of its folder, done or not.
fn shard_in(name: &str) -> Option<(u32, u32)> {
    let name = name
        .strip_prefix('.')
        .map_or(Some(name), |name| name.strip_suffix(".part"))?;
    let (number, of) = name.strip_prefix("shard-")?.split_once("-of-")?;
    Some((number.parse().ok()?, of.parse().ok()?))
}

/// The folder, next to that of a divided shard, with the list of its other URLs and their shards.
fn rest_name(number: u32, of: u32) -> String {
    format!("{REST}{}", shard_name(number, of))
}

/// Locks a folder for this process. `None`: another process has it. A file system without locks grants it.
fn locked(folder: &Path) -> io::Result<Option<File>> {
    let file = File::open(folder)?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::WOULDBLOCK) => Ok(None),
        _ => Ok(Some(file)),
    }
}

/// Writes the names in a folder to its disk.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
