//! Writes files completely or not at all, even if the process is killed.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fd::AsRawFd;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, open};

use super::folder::random_hex;

/// Writes a file, and gives it its name when it is complete, replacing an earlier one.
///
/// Until then the file is unnamed, if the file system supports that, so that a killed process leaves nothing behind.
pub fn write(
    folder: &Path,
    name: &str,
    content: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let path = folder.join(name);
    let named = folder.join(format!(".{name}.{}", random_hex()?));
    let Some(mut file) = nameless(folder) else {
        let mut file = File::create_new(&named)?;
        let written = content(&mut file).and_then(|()| fs::rename(&named, &path));
        return written.inspect_err(|_| remove(&named));
    };
    content(&mut file)?;
    let target = if path.exists() { &named } else { &path };
    let own = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    linkat(CWD, &own, CWD, target, AtFlags::SYMLINK_FOLLOW)?;
    if *target == path {
        return Ok(());
    }
    fs::rename(&named, &path).inspect_err(|_| remove(&named))
}

/// Opens an unnamed file; network and some overlay file systems do not support that.
fn nameless(folder: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    open(folder, flags, Mode::from_raw_mode(0o644))
        .ok()
        .map(File::from)
}

fn remove(path: &Path) {
    // The earlier error is reported.
    let _ = fs::remove_file(path);
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_or_not_at_all() {
        let folder = std::env::temp_dir().join(format!("whole-{}", random_hex().unwrap()));
        fs::create_dir(&folder).unwrap();
        for text in ["first", "second"] {
            write(&folder, "file", |file| file.write_all(text.as_bytes())).unwrap();
            assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), text);
        }
        let failed = write(&folder, "file", |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("stopped"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "stopped");
        assert_eq!(fs::read_to_string(folder.join("file")).unwrap(), "second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        fs::remove_dir_all(&folder).unwrap();
    }
}
