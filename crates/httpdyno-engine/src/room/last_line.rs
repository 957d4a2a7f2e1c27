//! The last printed line of a program, which may explain its failure.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes at the end of an output that contain its last line.
const TAIL_BYTES: u64 = 4096;

/// Appends the last line of a program's output to a reason.
pub fn with_last_line(reason: String, output: Option<&Path>) -> String {
    match output.and_then(last_line) {
        Some(line) => format!("{reason}; it printed last: {line}"),
        None => reason,
    }
}

fn last_line(path: &Path) -> Option<String> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))
        .ok()?;
    let mut tail = Vec::new();
    file.take(TAIL_BYTES).read_to_end(&mut tail).ok()?;
    let tail = String::from_utf8_lossy(&tail);
    let line = tail.lines().rev().find(|line| !line.trim().is_empty())?;
    Some(line.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_with_text_is_appended() {
        let path = std::env::temp_dir().join(format!("dyno-last-line-{}", std::process::id()));
        for (text, expected) in [
            ("", "silent"),
            ("\n\n", "silent"),
            ("first\n  boom \n\n", "silent; it printed last: boom"),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(with_last_line("silent".to_owned(), Some(&path)), expected);
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(with_last_line("silent".to_owned(), Some(&path)), "silent");
    }
}
