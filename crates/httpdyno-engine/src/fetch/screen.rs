//! Progress and result of a crawl as text: the screen of a terminal, a line a minute, the summary. No I/O.

use std::collections::{BTreeMap, VecDeque};

use dyno_fetch::{Figures, Report};

use crate::load::display::Draw;
use crate::load::screen::{Line, Style, wrapped};
use crate::load::trial::most_frequent_first;
use crate::table::{general, size, thousands};

/// Wider lines are not easier to read.
const WIDEST: usize = 120;
/// The time over which rates are taken.
const WINDOW_S: f64 = 10.0;
/// Errors, or statuses, that are named.
const MOST_NAMES: usize = 4;

/// Figures of the crawl that is running.
#[derive(Debug, Default)]
pub struct Screen {
    /// Bytes of the list, if it is a file.
    list_bytes: Option<u64>,
    latest: Latest,
    /// Time, finished URLs and received bytes of the last seconds.
    window: VecDeque<(f64, u64, u64)>,
}

/// A copy of the last figures.
#[derive(Debug, Default)]
struct Latest {
    elapsed_s: f64,
    done: u64,
    skipped: u64,
    errors: BTreeMap<&'static str, u64>,
    in_flight: usize,
    hosts: usize,
    aside: usize,
    received_bytes: u64,
    lines: u64,
    list_bytes: u64,
}

/// Number of lines of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Total {
    Exact(u64),
    About(u64),
}

impl Screen {
    /// Creates the screen of a crawl whose list has this many bytes, if that is known.
    pub fn new(list_bytes: Option<u64>) -> Self {
        Self {
            list_bytes,
            ..Self::default()
        }
    }

    /// Takes the figures of a moment.
    pub fn take(&mut self, figures: Figures<'_>) {
        let elapsed_s = figures.elapsed.as_secs_f64();
        let latest = (elapsed_s, figures.done, figures.received_bytes);
        self.window.push_back(latest);
        while self.window.len() > 2 && self.window[1].0 <= elapsed_s - WINDOW_S {
            self.window.pop_front();
        }
        self.latest = Latest {
            elapsed_s,
            done: figures.done,
            skipped: figures.skipped,
            errors: figures.errors.clone(),
            in_flight: figures.in_flight,
            hosts: figures.hosts,
            aside: figures.aside,
            received_bytes: figures.received_bytes,
            lines: figures.lines,
            list_bytes: figures.list_bytes,
        };
    }

    /// Whether as many whole minutes have passed.
    pub fn has_reached(&self, minutes: u32) -> bool {
        self.latest.elapsed_s >= 60.0 * f64::from(minutes)
    }

    /// The progress in one line.
    pub fn line(&self) -> String {
        let latest = &self.latest;
        let mut parts = vec![
            self.done(),
            format!("{}/s", rate(self.rates().0)),
            failures(&latest.errors),
            format!("{} in flight", thousands(latest.in_flight as u64)),
            received(latest.received_bytes),
        ];
        parts.extend(self.left());
        parts.join(", ")
    }

    fn done(&self) -> String {
        let done = self.latest.done + self.latest.skipped;
        let of = match self.total() {
            Some(Total::Exact(total)) => format!(" of {}", thousands(total)),
            Some(Total::About(total)) => format!(" of about {}", thousands(total)),
            None => String::new(),
        };
        format!("{}{of} URLs", thousands(done))
    }

    /// The number of lines: known once all are read, before that from the bytes that are read.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an estimate, shown with few digits"
    )]
    fn total(&self) -> Option<Total> {
        let (lines, read) = (self.latest.lines, self.latest.list_bytes);
        let all = self.list_bytes?;
        if read >= all {
            return Some(Total::Exact(lines));
        }
        if lines == 0 {
            return None;
        }
        let total = lines as f64 * (all as f64 / read.max(1) as f64);
        let unit = 10_f64.powf((total.log10().floor() - 2.0).max(0.0));
        let total = (total / unit).round() * unit;
        Some(Total::About((total as u64).max(lines)))
    }

    /// Finished URLs and received bytes per second.
    #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
    fn rates(&self) -> (f64, f64) {
        let (Some(first), Some(last)) = (self.window.front(), self.window.back()) else {
            return (0.0, 0.0);
        };
        let time_s = last.0 - first.0;
        if time_s <= 0.0 {
            return (0.0, 0.0);
        }
        (
            (last.1 - first.1) as f64 / time_s,
            (last.2 - first.2) as f64 / time_s,
        )
    }

    /// The time that is left at the present rate.
    #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
    fn left(&self) -> Option<String> {
        let (Total::Exact(total) | Total::About(total)) = self.total()?;
        let left = total.saturating_sub(self.latest.done + self.latest.skipped);
        let (urls_per_s, _) = self.rates();
        (urls_per_s > 0.0 && left > 0)
            .then(|| format!("about {} left", duration(left as f64 / urls_per_s)))
    }
}

impl Draw for Screen {
    fn lines(&mut self, columns: usize, rows: usize, _: bool) -> Vec<Line> {
        let width = columns.saturating_sub(1).clamp(1, WIDEST);
        let latest = &self.latest;
        let usual = |text: String| (Style::Usual, text);
        let (urls_per_s, bytes_per_s) = self.rates();
        let mut done = vec![usual(self.done())];
        if latest.skipped > 0 {
            let skipped = thousands(latest.skipped);
            done.push(usual(format!("{skipped} of them by earlier runs")));
        }
        let mut times = vec![usual(duration(latest.elapsed_s))];
        times.extend(self.left().map(usual));
        let mut in_flight = vec![usual(format!(
            "{} URLs",
            thousands(latest.in_flight as u64)
        ))];
        in_flight.push(usual(format!("{} hosts", thousands(latest.hosts as u64))));
        if latest.aside > 0 {
            let aside = thousands(latest.aside as u64);
            in_flight.push(usual(format!("{aside} wait for their hosts")));
        }
        let failed = latest.errors.values().sum();
        let style = if failed > 0 { Style::Bad } else { Style::Usual };
        let mut errors = vec![(style, thousands(failed))];
        errors.extend(named(&latest.errors).into_iter().map(usual));
        let figures = [
            ("done", done),
            ("time", times),
            (
                "rate",
                vec![
                    usual(format!("{}/s", rate(urls_per_s))),
                    usual(format!("{}/s", size(bytes_per_s))),
                    usual(received(latest.received_bytes)),
                ],
            ),
            ("in flight", in_flight),
            ("errors", errors),
        ];
        let lines = figures
            .into_iter()
            .flat_map(|(name, figures)| wrapped(name, figures, width));
        lines.take(rows.saturating_sub(1).max(1)).collect()
    }
}

/// The result of a crawl in one to three lines.
pub fn summary(report: &Report) -> Vec<String> {
    let interrupted = if report.interrupted {
        "interrupted: "
    } else {
        ""
    };
    let answered = report.urls - report.errors_total;
    let earlier = match report.skipped {
        0 => String::new(),
        skipped => format!("; {} finished by earlier runs", thousands(skipped)),
    };
    let mut lines = vec![format!(
        "{interrupted}{} {} in {}: {} answered, {} failed; {}/s, {}{earlier}",
        thousands(report.urls),
        if report.urls == 1 { "URL" } else { "URLs" },
        duration(report.elapsed_s),
        thousands(answered),
        thousands(report.errors_total),
        rate(report.urls_per_s),
        received(report.received_bytes()),
    )];
    if report.errors_total > 0 {
        lines.push(format!("failed: {}", named(&report.errors).join(", ")));
    }
    if report.statuses.keys().any(|status| *status >= 400) {
        lines.push(format!("answered: {}", named(&report.statuses).join(", ")));
    }
    lines
}

/// Breaks a line at blanks, so that no part is as wide as the terminal; later parts are indented.
pub fn broken(line: &str, columns: usize) -> Vec<String> {
    const INDENT: &str = "    ";
    let mut parts = Vec::new();
    let mut part = String::new();
    for word in line.split(' ') {
        let is_first = part.trim_start().is_empty();
        if !is_first && part.chars().count() + 1 + word.chars().count() >= columns {
            parts.push(std::mem::replace(&mut part, INDENT.to_owned()));
        } else if !is_first {
            part.push(' ');
        }
        part.push_str(word);
    }
    parts.push(part);
    parts
}

fn failures(errors: &BTreeMap<&'static str, u64>) -> String {
    let failed = thousands(errors.values().sum());
    match named(errors).first() {
        Some(most) if errors.len() == 1 => format!("{failed} failed ({most})"),
        Some(most) => format!("{failed} failed (most: {most})"),
        None => format!("{failed} failed"),
    }
}

/// The most frequent names, and the number of the rest: `20 x HostNotFound`.
fn named(counts: &BTreeMap<impl ToString, u64>) -> Vec<String> {
    let all = counts
        .iter()
        .map(|(name, count)| (name.to_string(), *count));
    let all = most_frequent_first(all);
    let (first, others) = all.split_at(all.len().min(MOST_NAMES));
    let rest: u64 = others.iter().map(|(_, count)| count).sum();
    let mut texts: Vec<String> = first
        .iter()
        .map(|(name, count)| format!("{} x {name}", thousands(*count)))
        .collect();
    if rest > 0 {
        texts.push(format!("{} others", thousands(rest)));
    }
    texts
}

#[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
fn received(bytes: u64) -> String {
    format!("{} received", size(bytes as f64))
}

/// A number of URLs per second; small ones have digits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative"
)]
fn rate(per_s: f64) -> String {
    if per_s < 10.0 {
        return general(per_s, 2);
    }
    thousands(per_s.round_ties_even() as u64)
}

/// A time for people: `4.2 s`, `3 min 20 s`, `2 h 5 min`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a time of a crawl is not negative"
)]
fn duration(seconds: f64) -> String {
    let whole = seconds.round() as u64;
    match whole {
        0..10 => format!("{seconds:.1} s"),
        10..60 => format!("{whole} s"),
        60..3_600 => format!("{} min {} s", whole / 60, whole % 60),
        _ => format!("{} h {} min", thousands(whole / 3_600), whole / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn screen(list_bytes: Option<u64>, errors: &BTreeMap<&'static str, u64>) -> Screen {
        let mut screen = Screen::new(list_bytes);
        let figures = Figures {
            elapsed: Duration::ZERO,
            done: 0,
            skipped: 0,
            errors,
            in_flight: 0,
            hosts: 0,
            aside: 0,
            received_bytes: 0,
            lines: 0,
            list_bytes: 0,
        };
        screen.take(figures);
        screen.take(Figures {
            elapsed: Duration::from_secs(8),
            done: 4_000,
            skipped: 400,
            in_flight: 200,
            hosts: 153,
            aside: 64,
            received_bytes: 16 << 20,
            lines: 4_600,
            list_bytes: 100_000,
            ..figures
        });
        screen
    }

    fn texts(screen: &mut Screen, columns: usize) -> Vec<String> {
        let lines = Draw::lines(screen, columns, 24, false);
        assert!(lines.iter().all(|line| line.width() < columns));
        lines.iter().map(|line| line.render(false)).collect()
    }

    #[test]
    fn the_screen_shows_what_is_done_and_what_is_left() {
        let errors = BTreeMap::from([("HostNotFound", 20), ("TlsAlert", 3)]);
        let mut screen = screen(Some(1_000_000), &errors);
        let expected = [
            "done         4,400 of about 46,000 URLs   400 of them by earlier runs",
            "time         8.0 s   about 1 min 23 s left",
            "rate         500/s   2.0 MiB/s   16.0 MiB received",
            "in flight    200 URLs   153 hosts   64 wait for their hosts",
            "errors       23   20 x HostNotFound   3 x TlsAlert",
        ];
        assert_eq!(texts(&mut screen, 80), expected);
        assert_eq!(
            screen.line(),
            "4,400 of about 46,000 URLs, 500/s, 23 failed (most: 20 x HostNotFound), 200 in flight, \
             16.0 MiB received, about 1 min 23 s left"
        );
        // It fits into every terminal.
        (1..140).for_each(|columns| {
            let lines = Draw::lines(&mut screen, columns, 5, false);
            assert!(lines.len() <= 4);
            assert!(lines.iter().all(|line| line.width() <= columns));
        });
    }

    #[test]
    fn the_length_of_a_list_is_exact_at_its_end_and_unknown_in_a_pipe() {
        let none = BTreeMap::new();
        let cases = [
            (Some(100_000), "4,400 of 4,600 URLs"),
            (Some(100_001), "4,400 of about 4,600 URLs"),
            (None, "4,400 URLs"),
        ];
        for (list_bytes, expected) in cases {
            assert_eq!(screen(list_bytes, &none).done(), expected);
        }
        assert_eq!(screen(None, &none).left(), None);
        assert_eq!(
            Screen::new(Some(0)).line().split(',').next(),
            Some("0 of 0 URLs")
        );
    }

    #[test]
    fn a_line_is_broken_at_blanks() {
        let line = "httpdyno: 10 URLs in 5.4 s: 8 answered, 2 failed";
        assert_eq!(broken(line, usize::MAX), [line]);
        assert_eq!(broken(line, 49), [line]);
        assert_eq!(
            broken(line, 29),
            ["httpdyno: 10 URLs in 5.4 s:", "    8 answered, 2 failed"]
        );
        for columns in 1..60 {
            let parts = broken(line, columns);
            let whole: Vec<&str> = parts.iter().map(|part| part.trim_start()).collect();
            assert_eq!(whole.join(" "), line);
            for part in parts {
                let is_word = !part.trim_start().contains(' ');
                assert!(is_word || part.len() < columns, "{columns}: {part}");
            }
        }
    }

    #[test]
    fn times_have_two_units() {
        let cases = [
            (0.0, "0.0 s"),
            (9.44, "9.4 s"),
            (9.6, "10 s"),
            (59.6, "1 min 0 s"),
            (3_599.0, "59 min 59 s"),
            (7_500.0, "2 h 5 min"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(duration(seconds), expected);
        }
    }

    #[test]
    fn the_most_frequent_are_named() {
        let counts = (1..=6_u16).map(|status| (status, u64::from(status)));
        assert_eq!(
            named(&counts.collect::<BTreeMap<_, _>>()),
            ["6 x 6", "5 x 5", "4 x 4", "3 x 3", "3 others"]
        );
    }
}
