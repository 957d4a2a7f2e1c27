//! Sets of CPUs: text form such as `0,2-3`, and pinning.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use rustix::thread::{sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

use crate::error::{Result, RoomError, Step};

/// A set of CPU numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuSet(BTreeSet<usize>);

impl CpuSet {
    /// Return the CPUs that this process may run on.
    ///
    /// # Errors
    ///
    /// When the kernel reports an error.
    pub fn allowed() -> Result<Self> {
        let set = sched_getaffinity(None).step(|| "reading the CPUs of this process".to_owned())?;
        Ok(Self(
            (0..rustix::thread::CpuSet::MAX_CPU)
                .filter(|&cpu| set.is_set(cpu))
                .collect(),
        ))
    }

    /// Return the CPU numbers in ascending order.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.0.iter().copied()
    }

    /// Return whether the set contains this CPU.
    #[must_use]
    pub fn contains(&self, cpu: usize) -> bool {
        self.0.contains(&cpu)
    }

    /// Check that every CPU of the set is in `allowed`.
    ///
    /// # Errors
    ///
    /// [`RoomError::Invalid`] that names the first CPU that is not.
    pub fn check_within(&self, allowed: &Self, whose: &str) -> Result<()> {
        match self.iter().find(|&cpu| !allowed.contains(cpu)) {
            None => Ok(()),
            Some(cpu) => Err(RoomError::Invalid {
                what: format!("CPUs of the {whose}: CPU {cpu} is not available here"),
                cure: format!("choose from {allowed}"),
            }),
        }
    }

    /// Pin the calling thread and its later threads to the set.
    ///
    /// # Errors
    ///
    /// When the kernel refuses.
    pub fn pin(&self) -> Result<()> {
        let mut set = rustix::thread::CpuSet::new();
        for cpu in self.iter() {
            set.set(cpu);
        }
        sched_setaffinity(None, &set).step(|| format!("pinning to CPUs {self}"))
    }
}

impl<const N: usize> From<[usize; N]> for CpuSet {
    fn from(cpus: [usize; N]) -> Self {
        Self(cpus.into_iter().collect())
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpus: Vec<usize> = self.iter().collect();
        let runs = cpus.chunk_by(|left, right| left + 1 == *right);
        for (index, run) in runs.enumerate() {
            let separator = if index == 0 { "" } else { "," };
            match run {
                [only] => write!(formatter, "{separator}{only}")?,
                [first, .., last] => write!(formatter, "{separator}{first}-{last}")?,
                [] => {}
            }
        }
        Ok(())
    }
}

impl FromStr for CpuSet {
    type Err = RoomError;

    fn from_str(text: &str) -> Result<Self> {
        let invalid = || RoomError::Invalid {
            what: format!("`{text}` is not a set of CPUs"),
            cure: "write numbers and ranges, like 0 or 1,3-5".to_owned(),
        };
        let number = |digits: &str| {
            digits
                .parse::<usize>()
                .ok()
                .filter(|&cpu| cpu < rustix::thread::CpuSet::MAX_CPU)
                .ok_or_else(invalid)
        };
        let mut cpus = BTreeSet::new();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(invalid());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_parse_and_print() {
        for (text, cpus, printed) in [
            ("0", vec![0], "0"),
            ("1,0", vec![0, 1], "0-1"),
            ("0,2-4,9\n", vec![0, 2, 3, 4, 9], "0,2-4,9"),
            ("3-3", vec![3], "3"),
        ] {
            let set: CpuSet = text.parse().unwrap();
            assert_eq!(set.iter().collect::<Vec<_>>(), cpus, "{text}");
            assert_eq!(set.to_string(), printed, "{text}");
        }
    }

    #[test]
    fn invalid_text_is_refused() {
        for text in ["", "a", "1-", "-1", "3-1", "1,,2", "0-99999999", "1 2"] {
            assert!(text.parse::<CpuSet>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_missing_cpu_is_named() {
        let error = CpuSet::from([0, 7]).check_within(&CpuSet::from([0, 1]), "subject");
        assert_eq!(
            error.unwrap_err().to_string(),
            "CPUs of the subject: CPU 7 is not available here; choose from 0-1"
        );
    }
}
