//! User agents of the requests.

/// Limit of distinct values that are kept.
const KEPT: usize = 16;

/// Counts by `User-Agent`, in the order of first appearance.
#[derive(Debug, Default)]
pub(crate) struct UserAgents {
    kept: Vec<Seen>,
    /// Index of the last match: most trials have one user agent.
    last: usize,
}

#[derive(Debug)]
struct Seen {
    value: Box<[u8]>,
    first_at_ns: u64,
    count: u64,
}

impl UserAgents {
    pub(crate) fn count(&mut self, value: &[u8], at_ns: u64) {
        if let Some(seen) = self.kept.get_mut(self.last)
            && *seen.value == *value
        {
            seen.count += 1;
            return;
        }
        match self.kept.iter().position(|seen| *seen.value == *value) {
            Some(place) => {
                self.kept[place].count += 1;
                self.last = place;
            }
            None if self.kept.len() < KEPT => self.kept.push(Seen {
                value: value.into(),
                first_at_ns: at_ns,
                count: 1,
            }),
            None => {}
        }
    }

    /// The first 16 distinct values that any thread saw, with their counts.
    pub(crate) fn merge(threads: impl Iterator<Item = Self>) -> Vec<(String, u64)> {
        let mut all: Vec<Seen> = Vec::new();
        for seen in threads.flat_map(|thread| thread.kept) {
            match all.iter_mut().find(|known| known.value == seen.value) {
                Some(known) => {
                    known.count += seen.count;
                    known.first_at_ns = known.first_at_ns.min(seen.first_at_ns);
                }
                None => all.push(seen),
            }
        }
        all.sort_by_key(|seen| seen.first_at_ns);
        all.truncate(KEPT);
        all.into_iter()
            .map(|seen| {
                (
                    String::from_utf8_lossy(&seen.value).into_owned(),
                    seen.count,
                )
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_sixteen_are_kept_over_all_threads() {
        let (mut first, mut second) = (UserAgents::default(), UserAgents::default());
        first.count(b"late", 1_000);
        for place in 0..20_u8 {
            second.count(&[b'a' + place], u64::from(place));
            second.count(&[b'a' + place], u64::from(place));
        }
        first.count(b"a", 1_001);
        let merged = UserAgents::merge([first, second].into_iter());
        assert_eq!(merged.len(), KEPT);
        assert_eq!(merged[0], ("a".to_owned(), 3));
        assert!(
            merged[1..]
                .iter()
                .all(|(value, count)| value != "late" && *count == 2)
        );
    }
}
