//! Repeated reads of a control group's CPU time, through files that stay open.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::{v1, v2};
use crate::account::Accounting;
use crate::cpu_time::CpuTime;

/// Larger than any of the files.
const MOST_BYTES: usize = 4096;

/// The open files of a group, and their parser.
#[derive(Debug)]
pub(crate) struct CpuReader {
    files: Vec<File>,
    understand: fn(&[String]) -> Option<CpuTime>,
}

impl CpuReader {
    /// Open the files of this folder; `None` if it does not account for CPU time.
    pub(super) fn open(accounting: Accounting, folder: &Path) -> Option<Self> {
        type Understand = fn(&[String]) -> Option<CpuTime>;
        let (names, understand): (&[&str], Understand) = match accounting {
            Accounting::CgroupV1 => (v1::CPU_FILES, v1::cpu_time),
            Accounting::CgroupV2 => (v2::CPU_FILES, v2::cpu_time),
            Accounting::Rusage => return None,
        };
        let files = names.iter().map(|name| File::open(folder.join(name)));
        Some(Self {
            files: files.collect::<Result<_, _>>().ok()?,
            understand,
        })
    }

    /// Return the CPU time of all past and present processes of the group.
    pub(crate) fn read(&self) -> Option<CpuTime> {
        let texts: Option<Vec<String>> = self.files.iter().map(content).collect();
        (self.understand)(&texts?)
    }
}

fn content(file: &File) -> Option<String> {
    let mut buffer = [0; MOST_BYTES];
    let length = file.read_at(&mut buffer, 0).ok()?;
    String::from_utf8(buffer[..length].to_vec()).ok()
}
