//! Parser of the answered URLs in a subject's output, in pieces of any size.

const COMMAS: usize = 4;
const COMMAS_TRIED: usize = 16;
/// Longer lines are not results.
const LONGEST: usize = 64 * 1024;

/// Finds the URL of each line of output.
#[derive(Debug, Default)]
pub struct AnsweredLines {
    rest: Vec<u8>,
}

impl AnsweredLines {
    /// Processes a piece of output. Calls `answered` with each URL that a line may contain, which returns whether it
    /// was in flight. Returns the number of lines that answer a URL.
    pub fn feed(&mut self, piece: &[u8], mut answered: impl FnMut(&[u8]) -> bool) -> u64 {
        let mut rows = 0;
        let mut lines = piece.split(|&byte| byte == b'\n').peekable();
        while let Some(part) = lines.next() {
            // Of a line that is too long, only one byte beyond the limit is kept.
            let room = (LONGEST + 1).saturating_sub(self.rest.len());
            self.rest.extend_from_slice(&part[..part.len().min(room)]);
            if lines.peek().is_some() {
                rows += u64::from(is_answer(&self.rest, &mut answered));
                self.rest.clear();
            }
        }
        rows
    }
}

/// Whether a line is an answer: its URL ends at the fourth comma from the end, or earlier if the text of an error
/// contains commas.
fn is_answer(line: &[u8], mut answered: impl FnMut(&[u8]) -> bool) -> bool {
    if line.len() > LONGEST {
        return false;
    }
    let mut commas = (0..line.len()).rev().filter(|&at| line[at] == b',');
    commas
        .by_ref()
        .skip(COMMAS - 1)
        .take(COMMAS_TRIED)
        .any(|end| answered(line[..end].trim_ascii()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const REST: &str = ",200,2026-11-21T10:00:00Z,1.5,13";

    fn answered<'p>(pieces: impl IntoIterator<Item = &'p [u8]>, given: &[&str]) -> Vec<String> {
        let (mut lines, mut urls, mut rows) = (AnsweredLines::default(), Vec::new(), 0);
        for piece in pieces {
            rows += lines.feed(piece, |url| {
                let url = String::from_utf8_lossy(url).into_owned();
                let is_given = given.contains(&url.as_str());
                urls.extend(is_given.then_some(url));
                is_given
            });
        }
        assert_eq!(rows, urls.len() as u64);
        urls
    }

    #[test]
    fn a_line_names_its_url() {
        for (line, url) in [
            (format!("https://a.example/{REST}"), "https://a.example/"),
            (
                format!(" https://a.example/ {REST}\r"),
                "https://a.example/",
            ),
            (
                format!("https://a.example/x,y{REST}"),
                "https://a.example/x,y",
            ),
            (
                "https://a.example/,reset, by peer,2026-11-21T10:00:00Z,1,0".into(),
                "https://a.example/",
            ),
            (
                "https://a.example/x,y,a, b, c,2026-11-21T10:00:00Z,1,0".into(),
                "https://a.example/x,y",
            ),
        ] {
            let output = format!("{line}\n");
            assert_eq!(answered([output.as_bytes()], &[url]), [url], "{line}");
        }
    }

    #[test]
    fn other_lines_answer_nothing() {
        let foreign = format!("https://b.example/{REST}");
        let endless = format!("https://a.example/,{}{REST}", "x".repeat(70_000));
        for line in ["", "hello", "a,b,c", &foreign, &endless] {
            let output = format!("{line}\n");
            let given = ["https://a.example/", ""];
            assert_eq!(answered([output.as_bytes()], &given), [""; 0]);
        }
    }

    #[test]
    fn an_unfinished_line_does_not_count() {
        let output = format!("https://a.example/{REST}");
        assert_eq!(
            answered([output.as_bytes()], &["https://a.example/"]),
            [""; 0]
        );
    }

    #[test]
    fn an_endless_line_does_not_fill_memory() {
        let mut lines = AnsweredLines::default();
        for _ in 0..100 {
            lines.feed(&[b'x'; 10_000], |_| true);
        }
        assert!(lines.rest.len() < 100_000);
    }

    proptest! {
        #[test]
        fn pieces_of_any_size_give_the_same_urls(
            which in prop::collection::vec(0..2_usize, 0..20),
            size in 1..100_usize,
        ) {
            let given = ["https://a.example/", "https://b.example/"];
            let urls: Vec<_> = which.iter().map(|&which| given[which]).collect();
            let output = urls.iter().map(|url| format!("{url}{REST}\n")).collect::<Vec<_>>().concat();
            prop_assert_eq!(answered(output.as_bytes().chunks(size), &given), urls);
        }
    }
}
