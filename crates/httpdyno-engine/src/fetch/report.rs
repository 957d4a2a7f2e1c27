//! The file that `fetch` writes its report to: opened before the crawl, written after it.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use dyno_load::fetch::Report;

/// A file that can be written, as was seen before a crawl that may take hours.
#[derive(Debug)]
pub struct ReportFile {
    file: File,
    path: PathBuf,
}

impl ReportFile {
    /// Opens it; what an earlier crawl left in it stays until this one is over.
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

    /// Writes the report in place of whatever was there.
    pub fn write(mut self, report: &Report) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(report)?;
        text.push(b'\n');
        // A pipe has no length to set, and nothing in it that would be left over.
        self.file.set_len(0).ok();
        let written = self.file.write_all(&text);
        written.with_context(|| named(&self.path))
    }
}

fn named(path: &Path) -> String {
    format!("--report {}", path.display())
}
