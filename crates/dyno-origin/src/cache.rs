//! Cache of results that take seconds to compute, in a folder for the next start.

use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Length of a checksum.
const CHECKSUM_BYTES: usize = blake3::OUT_LEN;
/// Permissions of cached files, which may contain a key: readable by their owner only.
const OWNER_ONLY: u32 = 0o600;

/// A folder in which an origin stores results, or none.
///
/// A file that is incomplete, corrupt or foreign counts as missing, and is computed again. If the folder cannot be
/// written, nothing is stored, and nothing else changes.
#[derive(Debug, Clone, Default)]
pub struct Cache(Option<PathBuf>);

impl Cache {
    /// Stores results in `folder`, which is created with the first result.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self(Some(folder))
    }

    /// Stores nothing: results are computed at every start.
    #[must_use]
    pub fn none() -> Self {
        Self(None)
    }

    /// The folder, if there is one.
    #[must_use]
    pub fn folder(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// Returns the bytes stored as `name`, if they are intact.
    pub(crate) fn get(&self, name: &str) -> Option<Vec<u8>> {
        let mut kept = fs::read(self.0.as_ref()?.join(name)).ok()?;
        let checksum = kept.split_off(kept.len().checked_sub(CHECKSUM_BYTES)?);
        (blake3::hash(&kept).as_bytes()[..] == checksum).then_some(kept)
    }

    /// Stores `bytes` as `name`, completely or not at all.
    pub(crate) fn keep(&self, name: &str, bytes: &[u8]) {
        if let Some(folder) = &self.0 {
            // A result that cannot be stored is computed again next time.
            drop(write(folder, name, bytes));
        }
    }
}

/// Writes to a temporary name and renames, so that no reader sees an incomplete file.
///
/// If two processes write at once, the file of one may be removed: the other's is equivalent.
fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    sweep(folder, name)?;
    // Not the process id, which may equal that of a process in another namespace.
    let unique = RandomState::new().hash_one(name);
    let unfinished = folder.join(format!("{name}.{unique:x}"));
    let written = create(&unfinished)
        .and_then(|mut file| {
            file.write_all(bytes)?;
            file.write_all(blake3::hash(bytes).as_bytes())
        })
        .and_then(|()| fs::rename(&unfinished, folder.join(name)));
    if written.is_err() {
        drop(fs::remove_file(&unfinished));
    }
    written
}

/// Removes what a killed process has left of `name`.
fn sweep(folder: &Path, name: &str) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let file = entry.file_name();
        let left = file.to_str().and_then(|file| file.strip_prefix(name));
        if left.is_some_and(|left| left.starts_with('.')) {
            drop(fs::remove_file(entry.path()));
        }
    }
    Ok(())
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(OWNER_ONLY);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("dyno-cache-{}-{name}", std::process::id()));
        drop(fs::remove_dir_all(&folder));
        folder
    }

    #[test]
    fn what_is_kept_is_found_by_its_name_alone() {
        let folder = scratch("kept");
        let cache = Cache::at(folder.join("made/when/needed"));
        assert_eq!(cache.get("a"), None);
        cache.keep("a", b"first");
        cache.keep("a", b"second");
        cache.keep("empty", b"");
        assert_eq!(cache.get("a").unwrap(), b"second");
        assert_eq!(cache.get("empty").unwrap(), b"");
        assert_eq!(cache.get("b"), None);
        let kept = folder.join("made/when/needed/a");
        let mode = fs::metadata(kept).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, OWNER_ONLY);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_is_not_whole_is_not_found() {
        let folder = scratch("torn");
        let cache = Cache::at(folder.clone());
        cache.keep("a", b"some bytes");
        let whole = fs::read(folder.join("a")).unwrap();
        for length in 0..whole.len() {
            fs::write(folder.join("a"), &whole[..length]).unwrap();
            assert_eq!(cache.get("a"), None, "{length} bytes");
        }
        for place in 0..whole.len() {
            let mut rotten = whole.clone();
            rotten[place] ^= 1;
            fs::write(folder.join("a"), &rotten).unwrap();
            assert_eq!(cache.get("a"), None, "byte {place}");
        }
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn what_a_killed_start_has_left_goes_with_the_next_one() {
        let folder = scratch("left");
        let cache = Cache::at(folder.clone());
        fs::create_dir_all(&folder).unwrap();
        for left in ["a.1f", "b.1f"] {
            fs::write(folder.join(left), "half").unwrap();
        }
        cache.keep("a", b"whole");
        let mut names: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["a", "b.1f"]);
        fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_keeps_nothing() {
        let file = scratch("file");
        fs::write(&file, "in the way").unwrap();
        for cache in [
            Cache::none(),
            Cache::at(file.join("below")),
            Cache::at(file.clone()),
        ] {
            cache.keep("a", b"bytes");
            assert_eq!(cache.get("a"), None);
        }
        assert_eq!(fs::read(&file).unwrap(), b"in the way");
        fs::remove_file(file).unwrap();
    }
}
