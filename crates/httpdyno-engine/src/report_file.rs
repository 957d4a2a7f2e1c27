//! The file of a report: opened before the run, written after it.

use std::fs::{self, File, Metadata};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// An open file, which shows before a long run that the report can be written.
#[derive(Debug)]
pub struct ReportFile {
    file: File,
    path: PathBuf,
}

impl ReportFile {
    /// Opens the file; it keeps its content until the run is over.
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

    /// Removes the file again, if it has no content: nothing ran.
    pub fn discard(&self) {
        let is_empty = |data: Metadata| data.is_file() && data.len() == 0;
        if self.file.metadata().is_ok_and(is_empty) {
            fs::remove_file(&self.path).ok();
        }
    }

    /// Replaces the content with the report and a line end.
    pub fn write(mut self, report: String) -> Result<()> {
        // A pipe cannot be truncated, and keeps no content.
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
    fn the_earlier_report_stays_until_the_new_one_is_written() {
        let mut kept = File::from(memfd_create("report", MemfdFlags::CLOEXEC).unwrap());
        kept.write_all(b"an earlier, longer report\n").unwrap();
        let path = format!("/proc/self/fd/{}", kept.as_raw_fd());
        let file = ReportFile::open(Path::new(&path)).unwrap();
        assert_eq!(text(&mut kept), "an earlier, longer report\n");
        file.write("new".to_owned()).unwrap();
        assert_eq!(text(&mut kept), "new\n");
    }

    #[test]
    fn a_missing_folder_is_refused_at_once() {
        let error = ReportFile::open(Path::new("/proc/self/fd/nowhere/report")).unwrap_err();
        assert_eq!(
            format!("{error:#}"),
            "--report /proc/self/fd/nowhere/report: No such file or directory (os error 2)"
        );
    }
}
