//! Writes a line about every request to a file, in a separate thread, during the run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{self, JoinHandle};

use crate::plan::Plan;

/// Samples that are passed to the writer at once.
const BATCH: usize = 4096;
/// Batches that may wait for the writer. If the queue is full, the sending thread waits: no sample is lost, and the
/// send lag shows the wait.
const WAITING: usize = 64;

const HEADER: &str =
    "intended_ns,sent_ns,first_byte_ns,end_ns,status_or_error,content_bytes,connection,url";

/// One request.
#[derive(Debug, Clone)]
pub(crate) struct Sample {
    pub(crate) intended_ns: u64,
    pub(crate) sent_ns: Option<u64>,
    pub(crate) first_byte_ns: Option<u64>,
    pub(crate) end_ns: u64,
    pub(crate) ending: Result<u16, &'static str>,
    pub(crate) content_bytes: u64,
    pub(crate) connection: usize,
    pub(crate) place: usize,
}

/// Collects the samples of one thread, and passes them to the writer.
#[derive(Debug)]
pub(crate) struct Samples {
    batch: Vec<Sample>,
    writer: SyncSender<Vec<Sample>>,
}

impl Samples {
    pub(crate) fn new(writer: SyncSender<Vec<Sample>>) -> Self {
        Self {
            batch: Vec::with_capacity(BATCH),
            writer,
        }
    }

    pub(crate) fn push(&mut self, sample: Sample) {
        self.batch.push(sample);
        if self.batch.len() == BATCH {
            let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
            // A writer that failed has ended; its error is returned at the end.
            drop(self.writer.send(batch));
        }
    }

    pub(crate) fn finish(self) {
        drop(self.writer.send(self.batch));
    }
}

/// The thread that writes the file.
#[derive(Debug)]
pub(crate) struct Writer {
    thread: JoinHandle<io::Result<()>>,
    sender: SyncSender<Vec<Sample>>,
}

impl Writer {
    /// Creates the file.
    pub(crate) fn start(path: &Path, plan: Arc<Plan>) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        let (sender, batches) = sync_channel::<Vec<Sample>>(WAITING);
        let write = move || {
            writeln!(file, "{HEADER}")?;
            for batch in batches {
                for sample in batch {
                    line(&mut file, &sample, &plan.requests.at(sample.place).url)?;
                }
            }
            file.flush()
        };
        let thread = thread::Builder::new().name("samples".to_owned());
        Ok(Self {
            thread: thread.spawn(write)?,
            sender,
        })
    }

    pub(crate) fn sender(&self) -> SyncSender<Vec<Sample>> {
        self.sender.clone()
    }

    /// Waits until everything is written.
    pub(crate) fn finish(self) -> io::Result<()> {
        drop(self.sender);
        match self.thread.join() {
            Ok(written) => written,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

fn line(file: &mut impl Write, sample: &Sample, url: &str) -> io::Result<()> {
    write!(file, "{},", sample.intended_ns)?;
    for time in [sample.sent_ns, sample.first_byte_ns] {
        if let Some(time) = time {
            write!(file, "{time}")?;
        }
        write!(file, ",")?;
    }
    write!(file, "{},", sample.end_ns)?;
    match sample.ending {
        Ok(status) => write!(file, "{status}")?,
        Err(name) => write!(file, "{name}")?,
    }
    write!(file, ",{},{},", sample.content_bytes, sample.connection)?;
    if url.contains([',', '"', '\n', '\r']) {
        writeln!(file, "\"{}\"", url.replace('"', "\"\""))
    } else {
        writeln!(file, "{url}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_csv() {
        let mut sample = Sample {
            intended_ns: 1,
            sent_ns: Some(2),
            first_byte_ns: Some(3),
            end_ns: 4,
            ending: Ok(200),
            content_bytes: 5,
            connection: 6,
            place: 0,
        };
        let mut text = Vec::new();
        line(&mut text, &sample, "http://a.test/?a=\"1,2\"").unwrap();
        (sample.sent_ns, sample.first_byte_ns) = (None, None);
        sample.ending = Err("ConnectionRefused");
        line(&mut text, &sample, "http://a.test/").unwrap();
        let expected = "1,2,3,4,200,5,6,\"http://a.test/?a=\"\"1,2\"\"\"\n\
                        1,,,4,ConnectionRefused,5,6,http://a.test/\n";
        assert_eq!(String::from_utf8(text).unwrap(), expected);
    }
}
