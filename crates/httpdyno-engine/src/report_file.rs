//! The file that a report is written to: opened before the run, written after it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// A file that can be written, as was seen before a run that may take hours.
#[derive(Debug)]
pub struct ReportFile {
    file: File,
    path: PathBuf,
}

impl ReportFile {
    /// Opens it; what an earlier run left in it stays until this one is over.
    pub fn open(path: &Path) -> Result<Self> {
        let opened = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(path);
        Ok(Self {
            file: opened.with_context(|| named(path))?,
            path: path.to_owned(),
        })
    }

    /// Writes the report, and a last line end, in place of whatever was there.
    pub fn write(mut self, report: String) -> Result<()> {
        // A pipe has no length to set, and nothing in it that would be left over.
        self.file.set_len(0).ok();
        let written = self.file.write_all((report + "\n").as_bytes());
        written.with_context(|| named(&self.path))
    }
}

fn named(path: &Path) -> String {
    format!("--report {}", path.display())
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use rustix::fd::AsRawFd;
    use rustix::fs::{MemfdFlags, memfd_create};

    use super::*;

    fn text(file: &mut File) -> String {
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_earlier_report_stays_until_there_is_a_new_one() {
        let mut kept = File::from(memfd_create("report", MemfdFlags::CLOEXEC).unwrap());
        kept.write_all(b"an earlier, longer report\n").unwrap();
        let path = format!("/proc/self/fd/{}", kept.as_raw_fd());
        let file = ReportFile::open(Path::new(&path)).unwrap();
        assert_eq!(text(&mut kept), "an earlier, longer report\n");
        file.write("new".to_owned()).unwrap();
        assert_eq!(text(&mut kept), "new\n");
    }

    #[test]
    fn a_folder_that_is_not_there_is_told_at_once() {
        let error = ReportFile::open(Path::new("/proc/self/fd/nowhere/report")).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "--report /proc/self/fd/nowhere/report: No such file or directory (os error 2)"
        );
    }
}
