//! The SHA-256 of this program's file; cached, because computing it takes longer than a short load.

use std::env;
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::whole_file;

const OWN: &str = "/proc/self/exe";
const CACHED: &str = "engine-digest";
const PIECE: usize = 64 << 10;

/// The SHA-256 of this program's file; empty if the file cannot be read.
pub fn own_digest() -> String {
    digest(Path::new(OWN), cache_folder().as_deref()).unwrap_or_default()
}

fn digest(program: &Path, cache: Option<&Path>) -> io::Result<String> {
    let file = File::open(program)?;
    let found = file.metadata()?;
    // The time of change differs for every changed file, even if length and modification time were restored.
    let key = format!(
        "{}:{}:{}:{}.{:09}:{}.{:09}",
        found.dev(),
        found.ino(),
        found.size(),
        found.mtime(),
        found.mtime_nsec(),
        found.ctime(),
        found.ctime_nsec()
    );
    if let Some(known) = cache.and_then(|folder| cached(folder, &key)) {
        return Ok(known);
    }
    let digest = hash(file)?;
    if let Some(folder) = cache {
        // A cache that cannot be written only costs time.
        let _ = fs::create_dir_all(folder).and_then(|()| {
            whole_file::write(folder, CACHED, |file| writeln!(file, "{key} {digest}"))
        });
    }
    Ok(digest)
}

fn cached(folder: &Path, key: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(CACHED)).ok()?;
    let (known, digest) = text.trim().split_once(' ')?;
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    (known == key && is_digest).then(|| digest.to_owned())
}

fn hash(mut file: File) -> io::Result<String> {
    let mut hasher = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        let length = file.read(&mut piece)?;
        if length == 0 {
            break;
        }
        hasher.update(&piece[..length]);
    }
    let mut text = String::new();
    for byte in hasher.finalize() {
        let _ = write!(text, "{byte:02x}");
    }
    Ok(text)
}

/// `$XDG_CACHE_HOME/httpdyno`, or `~/.cache/httpdyno` if the variable is not set or not absolute.
fn cache_folder() -> Option<PathBuf> {
    let given = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = given.filter(|path| path.is_absolute()).or_else(|| {
        let home = env::var_os("HOME").map(PathBuf::from)?;
        home.is_absolute().then(|| home.join(".cache"))
    });
    cache.map(|folder| folder.join("httpdyno"))
}

#[cfg(test)]
mod tests {
    use super::super::folder::random_hex;
    use super::*;

    #[test]
    fn a_changed_program_has_another_digest() {
        let folder = env::temp_dir().join(format!("digest-{}", random_hex().unwrap()));
        fs::create_dir(&folder).unwrap();
        let program = folder.join("program");
        fs::write(&program, "abc").unwrap();
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        for _ in 0..2 {
            assert_eq!(digest(&program, Some(&folder)).unwrap(), abc);
        }
        let kept = fs::read_to_string(folder.join(CACHED)).unwrap();
        assert!(kept.ends_with(&format!(" {abc}\n")));
        fs::write(&program, "abd").unwrap();
        assert_ne!(digest(&program, Some(&folder)).unwrap(), abc);
        assert_eq!(digest(&program, None).unwrap().len(), 64);
        fs::remove_dir_all(&folder).unwrap();
    }
}
