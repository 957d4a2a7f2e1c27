//! Feeds lines to the subject's standard input on a schedule: an open loop for any streaming client.
//!
//! The schedule begins when the subject has read its first line, so its start-up time does not count as lateness. The
//! subject can be ended some time after the last line was due, finished or not.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use dyno_room::{Ending, Outcome, Stopper};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use serde::Serialize;

/// Poll interval until the first line is read.
const GLANCE: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 200_000,
};

/// Latest due time of a line after the first one, at the lowest rates.
const LONGEST: Duration = Duration::from_secs(10 * 365 * 86_400);

/// The record of the feeding: line `i` was due `i / rate` seconds after the start.
#[derive(Debug, Clone, Serialize)]
pub struct FeedRecord {
    /// Planned lines per second.
    pub rate_per_s: f64,
    /// Unix time at which the first line was due, when the subject had read it.
    pub started_at_ns: u64,
    /// Lines fed.
    pub lines: u64,
    /// Maximum delay of a line, because the subject's pipe was full or the machine was busy.
    pub most_late_ns: u64,
}

/// A feeder to be started.
pub struct Feeder {
    lines: BufReader<File>,
    pipe: File,
    rate_per_s: f64,
    grace: Option<Grace>,
}

/// Time from the last line to the end of the subject.
struct Grace {
    time: Duration,
    lines: u64,
}

/// A running feeder.
pub struct RunningFeeder {
    thread: JoinHandle<FeedRecord>,
    /// Dropped when the subject ends.
    running: Sender<()>,
    overdue: Arc<AtomicBool>,
}

impl RunningFeeder {
    /// Waits for the feeder after the subject's end; marks the trial if the subject was ended at the end of its grace time.
    pub fn end(self, ending: &mut Ending) -> Option<FeedRecord> {
        drop(self.running);
        let fed = self.thread.join().ok();
        if self.overdue.load(Ordering::Acquire) && ending.outcome == Outcome::Interrupted {
            ending.outcome = Outcome::Deadline;
            ending.reason = Some(
                "the subject was still running at the end of the grace time after the last line"
                    .to_owned(),
            );
        }
        fed
    }
}

/// Ends the subject after a time, unless it has ended before.
struct Timer {
    running: Receiver<()>,
    subject: Stopper,
    overdue: Arc<AtomicBool>,
}

impl Timer {
    fn begin(self, left: Duration) {
        thread::spawn(move || {
            if self.running.recv_timeout(left) == Err(RecvTimeoutError::Timeout) {
                self.overdue.store(true, Ordering::Release);
                self.subject.stop();
            }
        });
    }
}

impl Feeder {
    /// Opens the file and a pipe; returns the subject's end of the pipe.
    ///
    /// With `grace`, the subject is ended that long after the last line was due.
    pub fn new(path: &Path, rate_per_s: f64, grace: Option<Duration>) -> Result<(Self, OwnedFd)> {
        let open = || File::open(path).with_context(|| format!("--stdin {}", path.display()));
        let file = open()?;
        let grace = match grace {
            Some(time) => Some(Grace {
                time,
                lines: count_lines(open()?).context("--stdin")?,
            }),
            None => None,
        };
        let (read, write) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC).context("making a pipe")?;
        Ok((
            Self {
                lines: BufReader::new(file),
                pipe: File::from(write),
                rate_per_s,
                grace,
            },
            read,
        ))
    }

    /// Starts feeding; ends with the file, or when the subject stops reading.
    pub fn start(self, subject: Stopper) -> RunningFeeder {
        let (running, ended) = mpsc::channel();
        let overdue = Arc::new(AtomicBool::new(false));
        let timer = Timer {
            running: ended,
            subject,
            overdue: Arc::clone(&overdue),
        };
        RunningFeeder {
            thread: thread::spawn(move || self.feed(Some(timer))),
            running,
            overdue,
        }
    }

    fn feed(mut self, timer: Option<Timer>) -> FeedRecord {
        let mut line = Vec::new();
        let begun = self.read_into(&mut line)
            && self.pipe.write_all(&line).is_ok()
            && self.first_line_is_read();
        let start = Instant::now();
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        let mut fed = FeedRecord {
            rate_per_s: self.rate_per_s,
            started_at_ns: u64::try_from(now.as_nanos()).unwrap_or(u64::MAX),
            lines: u64::from(begun),
            most_late_ns: 0,
        };
        if let (true, Some(timer), Some(grace)) = (begun, timer, &self.grace) {
            timer.begin(self.due(grace.lines) + grace.time);
        }
        while begun && self.read_into(&mut line) {
            let intended = start + self.due(fed.lines);
            if !self.is_read_until(intended) || self.pipe.write_all(&line).is_err() {
                break;
            }
            let late = u64::try_from(intended.elapsed().as_nanos()).unwrap_or(u64::MAX);
            fed.most_late_ns = fed.most_late_ns.max(late);
            fed.lines += 1;
        }
        fed
    }

    /// Time from the start to when a line is due.
    fn due(&self, line: u64) -> Duration {
        #[expect(
            clippy::cast_precision_loss,
            reason = "line numbers are far below 2^53"
        )]
        Duration::try_from_secs_f64(line as f64 / self.rate_per_s)
            .map_or(LONGEST, |due| due.min(LONGEST))
    }

    /// Waits until a time; returns false when the reader closes the pipe before.
    fn is_read_until(&self, moment: Instant) -> bool {
        loop {
            let left = moment.saturating_duration_since(Instant::now());
            let Ok(left) = Timespec::try_from(left) else {
                return false;
            };
            // No events are requested: the kernel always reports a closed reader.
            let mut pipe = [PollFd::new(&self.pipe, PollFlags::empty())];
            match poll(&mut pipe, Some(&left)) {
                Ok(0) if moment <= Instant::now() => return true,
                Ok(0) | Err(Errno::INTR) => {}
                _ => return false,
            }
        }
    }

    /// Reads the next line; false at the end of the file.
    fn read_into(&mut self, line: &mut Vec<u8>) -> bool {
        line.clear();
        self.lines
            .read_until(b'\n', line)
            .is_ok_and(|bytes| bytes > 0)
    }

    /// Waits until the pipe is empty; returns false when its reader closes it.
    fn first_line_is_read(&self) -> bool {
        loop {
            if rustix::io::ioctl_fionread(&self.pipe).is_ok_and(|unread| unread == 0) {
                return true;
            }
            // No events are requested: the kernel always reports a closed reader.
            let mut pipe = [PollFd::new(&self.pipe, PollFlags::empty())];
            if poll(&mut pipe, Some(&GLANCE)).is_err() || !pipe[0].revents().is_empty() {
                return false;
            }
        }
    }
}

fn count_lines(file: File) -> std::io::Result<u64> {
    let mut lines = BufReader::new(file);
    let mut count = 0;
    while lines.skip_until(b'\n')? > 0 {
        count += 1;
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fd::AsRawFd;
    use rustix::fs::MemfdFlags;

    use super::*;

    fn feeder(lines: &str, rate_per_s: f64) -> (Feeder, OwnedFd) {
        let file = rustix::fs::memfd_create("lines", MemfdFlags::CLOEXEC).unwrap();
        File::from(file.try_clone().unwrap())
            .write_all(lines.as_bytes())
            .unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        Feeder::new(Path::new(&path), rate_per_s, None).unwrap()
    }

    /// Waits until the pipe is readable.
    fn wait_until_written(pipe: &impl rustix::fd::AsFd) {
        let mut ready = [PollFd::new(pipe, PollFlags::IN)];
        poll(&mut ready, None).unwrap();
    }

    #[test]
    fn the_schedule_begins_when_the_first_line_is_read() {
        let (feeder, read) = feeder("1\n2\n3\n", 1000.0);
        let feeding = thread::spawn(move || feeder.feed(None));
        let mut pipe = File::from(read);
        wait_until_written(&pipe);
        thread::sleep(Duration::from_millis(20));
        let before = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let mut first = [0; 2];
        // If the schedule had begun, all lines would have been written by now.
        assert_eq!(rustix::io::ioctl_fionread(&pipe).unwrap(), 2);
        pipe.read_exact(&mut first).unwrap();
        let mut rest = String::new();
        pipe.read_to_string(&mut rest).unwrap();
        assert_eq!((&first, rest.as_str()), (b"1\n", "2\n3\n"));
        let fed = feeding.join().unwrap();
        assert_eq!(fed.lines, 3);
        assert!(u128::from(fed.started_at_ns) >= before.as_nanos());
    }

    #[test]
    fn a_subject_that_ends_without_reading_ends_the_feeding() {
        let (feeder, read) = feeder("1\n2\n", 1000.0);
        let feeding = thread::spawn(move || feeder.feed(None));
        wait_until_written(&read);
        drop(read);
        assert_eq!(feeding.join().unwrap().lines, 0);
    }

    #[test]
    fn lines_are_counted_with_and_without_a_last_line_feed() {
        for (text, count) in [("", 0), ("a\n", 1), ("a\nb", 2), ("\n\n", 2)] {
            let file = rustix::fs::memfd_create("lines", MemfdFlags::CLOEXEC).unwrap();
            let mut file = File::from(file);
            file.write_all(text.as_bytes()).unwrap();
            std::io::Seek::rewind(&mut file).unwrap();
            assert_eq!(count_lines(file).unwrap(), count, "{text:?}");
        }
    }

    #[test]
    fn an_empty_file_feeds_nothing() {
        let (feeder, _read) = feeder("", 1.0);
        assert_eq!(feeder.feed(None).lines, 0);
    }
}
