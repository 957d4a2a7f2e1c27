//! The subject's CPU time over the trial: its control group is read every ten milliseconds.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::control_group::CpuReader;
use crate::cpu_time::CpuTime;
use crate::protocol::Instants;

const FIRST_INTERVAL: Duration = Duration::from_millis(10);
/// A longer series is thinned.
const MOST_POINTS: usize = 20_000;

/// One point: nanoseconds since the subject's exec; user and kernel time since the group was made.
pub(crate) type Point = (u64, u64, u64);

/// Points at equal intervals, at most a fixed number: a full series drops every second point.
#[derive(Debug)]
struct Series {
    points: Vec<Point>,
    interval: Duration,
    most: usize,
}

impl Series {
    fn new(most: usize) -> Self {
        Self {
            points: Vec::new(),
            interval: FIRST_INTERVAL,
            most,
        }
    }

    /// Add a point. The two parts of a group's account may be less exact than their total (version 1 counts ticks), but neither may
    /// decrease.
    fn push(&mut self, elapsed_ns: u64, read: CpuTime) {
        if self.points.len() >= self.most {
            let mut index = 0;
            self.points.retain(|_| {
                index += 1;
                index % 2 == 0
            });
            self.interval *= 2;
        }
        let (_, user_ns, system_ns) = self.points.last().copied().unwrap_or_default();
        let spent_ns = read.total_ns().saturating_sub(user_ns + system_ns);
        let more_user_ns = read.cpu_user_ns.saturating_sub(user_ns).min(spent_ns);
        self.points.push((
            elapsed_ns,
            user_ns + more_user_ns,
            system_ns + spent_ns - more_user_ns,
        ));
    }
}

/// A thread that reads until it is stopped.
#[derive(Debug)]
pub(crate) struct CpuSampler {
    stop: Sender<()>,
    thread: JoinHandle<Vec<Point>>,
}

impl CpuSampler {
    /// Start reading.
    pub(crate) fn start(reader: CpuReader, exec: Instants) -> std::io::Result<Self> {
        let (stop, stopped) = channel();
        let thread = thread::Builder::new()
            .name("cpu".to_owned())
            .spawn(move || sample(&reader, exec, &stopped))?;
        Ok(Self { stop, thread })
    }

    /// Read a last time and return the points.
    pub(crate) fn finish(self) -> Vec<Point> {
        let Self { stop, thread } = self;
        drop(stop);
        thread.join().unwrap_or_default()
    }
}

fn sample(reader: &CpuReader, exec: Instants, stopped: &Receiver<()>) -> Vec<Point> {
    let mut series = Series::new(MOST_POINTS);
    let mut next = Instant::now();
    loop {
        if let Some(read) = reader.read() {
            let now_ns = Instants::now().monotonic_ns;
            series.push(now_ns.saturating_sub(exec.monotonic_ns), read);
        }
        next += series.interval;
        // After a pause of the whole machine, missed reads are skipped.
        next = next.max(Instant::now());
        let pause = next.saturating_duration_since(Instant::now());
        if stopped.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
            if let Some(read) = reader.read() {
                let now_ns = Instants::now().monotonic_ns;
                series.push(now_ns.saturating_sub(exec.monotonic_ns), read);
            }
            return series.points;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time(cpu_user_ns: u64, cpu_system_ns: u64) -> CpuTime {
        CpuTime {
            cpu_user_ns,
            cpu_system_ns,
        }
    }

    #[test]
    fn a_long_series_is_thinned_and_its_interval_doubles() {
        let mut series = Series::new(4);
        let mut at = 0;
        for _ in 0..9 {
            series.push(at, time(at, 0));
            at += u64::try_from(series.interval.as_millis()).unwrap_or(u64::MAX);
        }
        // 0 10 20 30 are thinned to 10 30 before the fifth, 10 30 40 60 to 30 60, 30 60 80 120 to 60 120.
        let moments: Vec<u64> = series.points.iter().map(|point| point.0).collect();
        assert_eq!(moments, [60, 120, 160]);
        assert_eq!(series.interval, FIRST_INTERVAL * 8);
    }

    #[test]
    fn no_part_decreases_and_the_total_is_the_one_read() {
        let mut series = Series::new(100);
        // The proportion of the parts fluctuates, as with counted ticks.
        for (user, system) in [(10, 0), (8, 4), (20, 0), (20, 10), (20, 10)] {
            series.push(0, time(user, system));
        }
        let parts: Vec<_> = series
            .points
            .iter()
            .map(|&(_, user, system)| (user, system))
            .collect();
        assert_eq!(parts, [(10, 0), (10, 2), (18, 2), (20, 10), (20, 10)]);
    }
}
