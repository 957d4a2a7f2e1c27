//! The folder of a run: created under a hidden name, published once it has its manifest and its lock.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use rustix::rand::{GetRandomFlags, getrandom};

use super::manifest;
use super::whole_file;

/// The lock of the process that writes a run; the file contains its process id.
const LOCK: &str = "lock";
/// Age from which a hidden folder counts as left by a killed process: normally it is published within milliseconds.
const FORGOTTEN: Duration = Duration::from_secs(60);
const NAMES_TRIED: u32 = 1000;

/// The folder of a run that this process is writing.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Holds the lock.
    _lock: File,
}

impl Folder {
    /// Creates `<runs>/<name>`; if that exists, appends the first free number to the name.
    ///
    /// The folder is published with its manifest, however this process ends.
    pub fn create(runs: &Path, name: &str, manifest: &str) -> io::Result<Self> {
        fs::create_dir_all(runs)?;
        sweep(runs);
        let staging = runs.join(format!(".{name}.{}", random_hex()?));
        fs::create_dir(&staging)?;
        let made = fill(&staging, manifest).and_then(|lock| {
            let path = publish(&staging, &runs.join(name))?;
            Ok(Self { path, _lock: lock })
        });
        made.inspect_err(|_| {
            // The earlier error is reported.
            let _ = fs::remove_dir_all(&staging);
        })
    }

    /// The path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Releases the lock; a complete run no longer needs the file.
    pub fn release(self, is_complete: bool) -> PathBuf {
        if is_complete {
            // A lock file that stays is harmless: no process holds it.
            let _ = fs::remove_file(self.path.join(LOCK));
        }
        self.path
    }
}

fn fill(staging: &Path, manifest: &str) -> io::Result<File> {
    let mut lock = File::create_new(staging.join(LOCK))?;
    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
    writeln!(lock, "{}", std::process::id())?;
    whole_file::write(staging, manifest::NAME, |file| {
        file.write_all(manifest.as_bytes())
    })?;
    Ok(lock)
}

/// Renames the folder to the wanted name, or to that name with the first free number.
fn publish(staging: &Path, wanted: &Path) -> io::Result<PathBuf> {
    let name = wanted.file_name().unwrap_or_default().to_string_lossy();
    for attempt in 1..NAMES_TRIED {
        let path = match attempt {
            1 => wanted.to_owned(),
            _ => wanted.with_file_name(format!("{name}-{attempt}")),
        };
        // An empty folder of that name is not a run, and is replaced.
        match fs::rename(staging, &path) {
            Err(error)
                if matches!(
                    error.kind(),
                    ErrorKind::DirectoryNotEmpty
                        | ErrorKind::AlreadyExists
                        | ErrorKind::NotADirectory
                ) => {}
            renamed => return renamed.map(|()| path),
        }
    }
    Err(io::Error::other(
        "too many runs within one second; move some of them away",
    ))
}

/// Removes hidden folders that killed processes have left.
fn sweep(runs: &Path) {
    // A folder that cannot be listed is not swept.
    let Ok(entries) = fs::read_dir(runs) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        if is_staging(&name.to_string_lossy()) && is_forgotten(&entry.path()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Whether a name has the form `.20260131T120000Z-load.0123abcd`.
fn is_staging(name: &str) -> bool {
    let Some((time, rest)) = name.strip_prefix('.').and_then(|rest| rest.split_once('-')) else {
        return false;
    };
    let shape: String = time
        .chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect();
    let ends_in_hex = rest
        .rsplit_once('.')
        .is_some_and(|(_, hex)| hex.len() == 8 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
    shape == "00000000T000000Z" && ends_in_hex
}

fn is_forgotten(folder: &Path) -> bool {
    let changed = fs::metadata(folder).and_then(|found| found.modified());
    let age = changed
        .ok()
        .and_then(|at| SystemTime::now().duration_since(at).ok());
    let is_held = File::open(folder.join(LOCK))
        .is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockShared).is_err());
    age.is_some_and(|age| age > FORGOTTEN) && !is_held
}

/// Eight random hexadecimal digits.
pub fn random_hex() -> io::Result<String> {
    let mut bytes = [0_u8; 4];
    getrandom(&mut bytes, GetRandomFlags::empty())?;
    let mut text = String::new();
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_folder_is_recognised_by_its_name() {
        assert!(is_staging(".20260131T120000Z-load.0123abcd"));
        for other in [
            "20260131T120000Z-load",
            ".20260131T120000Z-load.removed",
            ".git",
            ".20260131-load.0123abcd",
        ] {
            assert!(!is_staging(other), "{other}");
        }
    }

    #[test]
    fn two_runs_in_one_second_have_different_names() {
        let runs = std::env::temp_dir().join(format!("runs-{}", random_hex().unwrap()));
        let name = "20260131T120000Z-load";
        let first = Folder::create(&runs, name, "{}\n").unwrap();
        let second = Folder::create(&runs, name, "{}\n").unwrap();
        assert_eq!(first.path(), runs.join(name));
        assert_eq!(second.path(), runs.join(format!("{name}-2")));
        assert!(first.path().join(LOCK).exists());
        let first = first.release(true);
        assert!(!first.join(LOCK).exists());
        assert!(first.join(manifest::NAME).exists());
        let second = second.release(false);
        assert!(second.join(LOCK).exists());
        assert_eq!(fs::read_dir(&runs).unwrap().count(), 2);
        fs::remove_dir_all(&runs).unwrap();
    }
}
