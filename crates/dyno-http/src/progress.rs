//! Decides when to parse a partial head again.

use crate::scan;

/// Search position in a growing buffer, in search of the end of its head.
///
/// Parsing at every arrival would take quadratic time if the head arrives byte by byte. It is therefore parsed when an empty line has
/// arrived, and each time its length has doubled, so that invalid bytes are refused before that: linear time in total.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Progress {
    searched: usize,
    again_at: usize,
}

impl Progress {
    /// Return whether `bytes`, which extend those of the last call, may give another result than last time.
    pub fn worth_parsing(&mut self, bytes: &[u8], head_bytes: usize) -> bool {
        // An empty line is LF CR LF, or LF LF where it is tolerated, of which two bytes may have been present last time.
        let ended = has_empty_line(bytes, self.searched.saturating_sub(2));
        self.searched = bytes.len();
        if ended || bytes.len() >= self.again_at.min(head_bytes) {
            self.again_at = bytes.len().saturating_mul(2);
            return true;
        }
        false
    }
}

fn has_empty_line(bytes: &[u8], mut at: usize) -> bool {
    loop {
        at = scan::line_feed(bytes, at);
        match bytes.get(at..) {
            Some([b'\n', b'\n', ..] | [b'\n', b'\r', b'\n', ..]) => return true,
            Some([_, ..]) => at += 1,
            _ => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Progress;

    #[test]
    fn a_head_arriving_byte_by_byte_is_parsed_a_logarithmic_number_of_times() {
        let mut head = b"GET / HTTP/1.1\r\n".to_vec();
        head.extend(std::iter::repeat_n(&b"x: yyyyyyyyyyyy\r\n"[..], 1000).flatten());
        head.extend(b"\r\n");
        let mut progress = Progress::default();
        let parsed: Vec<usize> = (1..=head.len())
            .filter(|end| progress.worth_parsing(&head[..*end], usize::MAX))
            .collect();
        assert!(parsed.len() <= 17, "{parsed:?}");
        assert_eq!(parsed.last(), Some(&head.len()));
    }

    #[test]
    fn at_the_limit_a_head_is_parsed_even_without_an_empty_line() {
        let mut progress = Progress::default();
        assert!(progress.worth_parsing(&[b'a'; 60], 100));
        assert!(!progress.worth_parsing(&[b'a'; 99], 100));
        assert!(progress.worth_parsing(&[b'a'; 100], 100));
    }
}
