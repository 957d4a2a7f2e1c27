//! The stored samples of a trial: compressed, without credentials.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::without_credentials;

/// Commas before the URL of a line.
const COMMAS: usize = 7;

/// Copies the samples that the generator has written.
pub fn copy(from: &Path, to: &mut File) -> io::Result<()> {
    let mut lines = BufReader::new(File::open(from)?);
    let mut compressed = GzEncoder::new(BufWriter::new(to), Compression::fast());
    let mut line = Vec::new();
    let mut known: HashMap<Vec<u8>, Vec<u8>> = HashMap::new();
    while lines.read_until(b'\n', &mut line)? > 0 {
        let (numbers, url) = line.split_at(url_of(&line));
        compressed.write_all(numbers)?;
        if let Some(safe) = known.get(url) {
            compressed.write_all(safe)?;
        } else {
            let safe = without_credentials(&String::from_utf8_lossy(url)).into_bytes();
            compressed.write_all(&safe)?;
            known.insert(url.to_owned(), safe);
        }
        line.clear();
    }
    compressed.finish()?.flush()
}

/// The index of a line's URL.
fn url_of(line: &[u8]) -> usize {
    let commas = line.iter().enumerate().filter(|(_, byte)| **byte == b',');
    commas
        .map(|(place, _)| place + 1)
        .nth(COMMAS - 1)
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;
    use rustix::fd::AsRawFd;
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    #[test]
    fn a_copy_has_no_credentials() {
        let [mut from, mut to] =
            ["from", "to"].map(|name| File::from(memfd_create(name, MemfdFlags::CLOEXEC).unwrap()));
        from.write_all(
            b"intended_ns,sent_ns,first_byte_ns,end_ns,status_or_error,content_bytes,connection,url\n\
              1,2,3,4,200,5,6,http://a.test/?token=planted\n\
              1,,,4,Timeout,5,6,\"http://me:planted@a.test/?a=1,2\"\n",
        )
        .unwrap();
        copy(
            Path::new(&format!("/proc/self/fd/{}", from.as_raw_fd())),
            &mut to,
        )
        .unwrap();
        let kept = File::open(format!("/proc/self/fd/{}", to.as_raw_fd())).unwrap();
        let mut text = String::new();
        GzDecoder::new(kept).read_to_string(&mut text).unwrap();
        assert_eq!(
            text,
            "intended_ns,sent_ns,first_byte_ns,end_ns,status_or_error,content_bytes,connection,url\n\
             1,2,3,4,200,5,6,http://a.test/?token=***\n\
             1,,,4,Timeout,5,6,\"http://***@a.test/?a=1,2\"\n"
        );
    }
}
