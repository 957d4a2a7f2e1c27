//! Answers completed over time, in bins of equal length.

/// The length of a bin: 200 ms.
pub(crate) const BIN_NS: u64 = 200_000_000;

/// Limit of bins: 58 hours. The series of an origin that runs longer ends there.
const MOST_BINS: u64 = 1 << 20;

/// A series of `(elapsed_ns_at_end_of_bin, answers_completed_in_bin)`.
pub type Throughput = Vec<(u64, u64)>;

/// The bins of one thread.
#[derive(Debug, Default)]
pub(crate) struct Bins(Vec<u64>);

impl Bins {
    /// Counts an answer that was completed after `elapsed_ns`.
    pub(crate) fn count(&mut self, elapsed_ns: u64) {
        let bin = elapsed_ns / BIN_NS;
        if bin >= MOST_BINS {
            return;
        }
        let bin = usize::try_from(bin).expect("below 2^20");
        if bin >= self.0.len() {
            self.0.resize(bin + 1, 0);
        }
        self.0[bin] += 1;
    }

    /// The sum of all threads' bins, up to the last one with an answer.
    pub(crate) fn merge<'b>(threads: impl Iterator<Item = &'b Self>) -> Throughput {
        let mut sum: Vec<u64> = Vec::new();
        for Self(bins) in threads {
            sum.resize(sum.len().max(bins.len()), 0);
            for (total, count) in sum.iter_mut().zip(bins) {
                *total += count;
            }
        }
        (1..)
            .zip(sum)
            .map(|(bin, count)| (bin * BIN_NS, count))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_add_up_bin_by_bin() {
        let (mut first, mut second) = (Bins::default(), Bins::default());
        for elapsed_ns in [0, BIN_NS - 1, BIN_NS] {
            first.count(elapsed_ns);
        }
        second.count(3 * BIN_NS);
        let merged = Bins::merge([&first, &second].into_iter());
        let expected = [(1, 2), (2, 1), (3, 0), (4, 1)].map(|(end, count)| (end * BIN_NS, count));
        assert_eq!(merged, expected);
        first.count(MOST_BINS * BIN_NS);
        assert_eq!(Bins::merge([&first].into_iter()).len(), 2);
        assert!(Bins::merge(std::iter::empty()).is_empty());
    }
}
