//! File of rows that a later run continues: states its length for the journal, and cuts what a killed run wrote after
//! the last such record.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// Bytes before the end of the rows that identify the file.
const TAIL_BYTES: u64 = 4 << 10;

/// A file of rows, open to read and to append.
#[derive(Debug)]
pub struct RowsFile {
    /// Its path, for messages.
    pub path: PathBuf,
    file: File,
}

/// State of a file of rows when the journal was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Length of the rows, in bytes.
    pub length: u64,
    /// Checksum of the last bytes of the rows.
    pub tail: u64,
}

impl RowsFile {
    /// Returns `None` for what cannot be cut, such as a pipe.
    ///
    /// # Errors
    ///
    /// If the file cannot be examined.
    pub fn new(path: PathBuf, file: File) -> io::Result<Option<Self>> {
        Ok(file.metadata()?.is_file().then_some(Self { path, file }))
    }

    /// Returns the current state.
    ///
    /// # Errors
    ///
    /// If the file cannot be read.
    pub fn mark(&self) -> io::Result<Mark> {
        let length = self.file.metadata()?.len();
        let tail = self.tail(length)?;
        Ok(Mark { length, tail })
    }

    /// Cuts the file to the length of a mark. Returns `false`, and changes nothing, if the mark is of another file.
    ///
    /// # Errors
    ///
    /// If the file cannot be read or cut.
    pub fn cut(&self, mark: Mark) -> io::Result<bool> {
        let length = self.file.metadata()?.len();
        if length < mark.length || self.tail(mark.length)? != mark.tail {
            return Ok(false);
        }
        if length > mark.length {
            self.file.set_len(mark.length)?;
        }
        Ok(true)
    }

    fn tail(&self, length: u64) -> io::Result<u64> {
        let start = length.saturating_sub(TAIL_BYTES);
        let mut bytes = vec![0; usize::try_from(length - start).unwrap_or_default()];
        self.file.read_exact_at(&mut bytes, start)?;
        Ok(checksum(&bytes))
    }
}

/// FNV-1a, 64 bits.
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_is_cut_to_a_mark_of_its_own_only() {
        let path = std::env::temp_dir().join(format!("dyno-fetch-rows-{}", std::process::id()));
        let open = |text: &[u8]| {
            fs::write(&path, text).unwrap();
            let file = File::options().read(true).append(true).open(&path).unwrap();
            RowsFile::new(path.clone(), file).unwrap().unwrap()
        };
        let long = b"a row\n".repeat(2_000);
        for rows in [&b""[..], b"a row\n", &long] {
            let mark = open(rows).mark().unwrap();
            assert_eq!(mark.length, rows.len() as u64);
            let more = [rows, b"another row\ntorn"].concat();
            assert!(open(&more).cut(mark).unwrap());
            assert_eq!(fs::read(&path).unwrap(), rows);
            let Some((_, shorter)) = rows.split_last() else {
                continue;
            };
            let mut other = more;
            other[rows.len() - 2] = b'x';
            for text in [shorter, &other, b""] {
                assert!(!open(text).cut(mark).unwrap());
                assert_eq!(fs::read(&path).unwrap(), text, "nothing was changed");
            }
        }
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn a_device_is_not_cut() {
        let null = File::options().append(true).open("/dev/null").unwrap();
        assert!(RowsFile::new("/dev/null".into(), null).unwrap().is_none());
    }
}
