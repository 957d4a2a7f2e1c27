//! The screen of a running load: from its figures to lines of text. No I/O.

use std::collections::VecDeque;

use dyno_load::{Live, Plan, Rate, Row, format_time};

use super::chart::{self, Sample};
use super::display::Draw;
use super::trial::most_frequent_first;
use crate::table::{general, thousands};

/// Below this width there is no chart.
const NARROWEST_CHART: usize = 60;
/// Wider charts are not easier to read.
const WIDEST: usize = 120;
/// Columns before a chart, for its scale.
const SCALE: usize = 10;
/// Columns of the name before the figures of a line.
const NAME: usize = 13;
/// Lines of text, the names of the two charts and the times under them.
const LINES_BESIDE_CHARTS: usize = 10;
/// Causes of failures that are shown.
const MOST_CAUSES: usize = 4;
/// Seconds that are kept for the charts; later pairs of them become one sample.
const MOST_SAMPLES: usize = 4096;

/// Meaning of a piece of text, which determines its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    Usual,
    /// Names, scales and bars.
    Dim,
    Bad,
    /// The 99th percentile.
    Tail,
}

/// A line of text in pieces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line(pub Vec<(Style, String)>);

impl Line {
    pub fn push(&mut self, style: Style, text: impl Into<String>) {
        self.0.push((style, text.into()));
    }

    /// Its characters.
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// The text, with ANSI colours if the terminal shows them.
    pub fn render(&self, has_colour: bool) -> String {
        let piece = |(style, text): &(Style, String)| match style {
            Style::Dim if has_colour => format!("\x1b[2m{text}\x1b[0m"),
            Style::Bad if has_colour => format!("\x1b[31m{text}\x1b[0m"),
            Style::Tail if has_colour => format!("\x1b[35m{text}\x1b[0m"),
            _ => text.clone(),
        };
        self.0.iter().map(piece).collect()
    }
}

/// The parts of a plan that are shown.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    /// The target, without control characters.
    pub target: String,
    /// Number of trials.
    pub repeat: usize,
    /// Length of the load, where it ends with time alone.
    pub duration_s: Option<f64>,
    /// The number of requests that ends it.
    pub requests: Option<u64>,
    pub warm_up_s: f64,
    pub rate: Option<Rate>,
    /// Stages as people write them, with their ends.
    pub stages: Vec<(String, f64)>,
    pub has_check: bool,
    /// The step of a search.
    pub step: Option<String>,
    /// Whether a key ends the load.
    pub has_keys: bool,
}

impl Frame {
    /// Takes these parts of a plan.
    #[expect(clippy::cast_precision_loss, reason = "times of less than months")]
    pub fn new(target: String, repeat: usize, plan: &Plan, stages: Vec<(String, f64)>) -> Self {
        let duration_ns = plan.termination.duration_ns;
        let is_known = plan.termination.requests.is_none() && plan.until.is_none();
        Self {
            target,
            repeat,
            duration_s: duration_ns
                .filter(|_| is_known)
                .map(|time_ns| time_ns as f64 / 1e9),
            requests: plan
                .termination
                .requests
                .map(|requests| plan.segment.share_of(requests)),
            warm_up_s: plan.warm_up.as_secs_f64(),
            rate: plan.pace.as_ref().map(|(rate, _)| rate.clone()),
            stages,
            has_check: plan.requests.are_checked(),
            step: None,
            has_keys: false,
        }
    }
}

/// A second of the charts.
#[derive(Debug, Clone, Copy)]
struct Point {
    begin_s: f64,
    end_s: f64,
    rps: f64,
    p50_ns: Option<f64>,
    p99_ns: Option<f64>,
}

/// Figures of the load that is running.
#[derive(Debug, Default)]
pub struct Screen {
    pub frame: Frame,
    /// Lines to print above the screen, which stay.
    pub above: Vec<String>,
    /// Number of the trial, from 0.
    trial: usize,
    live: Live,
    /// The last second, and its answers per second.
    last: Option<(Row, f64)>,
    points: VecDeque<Point>,
}

impl Screen {
    pub fn new(frame: Frame) -> Self {
        Self {
            frame,
            ..Self::default()
        }
    }

    /// Begins a trial, numbered from 0.
    pub fn begin(&mut self, trial: usize) {
        let frame = std::mem::take(&mut self.frame);
        *self = Self {
            trial,
            ..Self::new(frame)
        };
    }

    /// Begins a step of a search.
    pub fn begin_step(&mut self, name: &str, plan: &Plan) {
        let before = std::mem::take(&mut self.frame);
        let frame = Frame::new(before.target, before.repeat, plan, Vec::new());
        *self = Self {
            above: std::mem::take(&mut self.above),
            ..Self::new(Frame {
                step: Some(name.to_owned()),
                has_keys: before.has_keys,
                ..frame
            })
        };
    }

    /// Takes the figures of a stretch.
    pub fn stretch(&mut self, live: &Live) {
        if self.live.is_warm_up && !live.is_warm_up {
            self.last = None;
        }
        self.live = live.clone();
    }

    /// Takes the figures of a second.
    #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
    pub fn second(&mut self, row: &Row, end_s: f64, is_warm_up: bool) {
        let begin_s = row.at_s as f64;
        let length_s = end_s - begin_s;
        if length_s <= 0.0 {
            return;
        }
        let rps = row.requests as f64 / length_s;
        self.last = Some((*row, rps));
        if is_warm_up {
            return;
        }
        self.points.push_back(Point {
            begin_s,
            end_s,
            rps,
            p50_ns: row.response_p50_ns.map(|time_ns| time_ns.max(1) as f64),
            p99_ns: row.response_p99_ns.map(|time_ns| time_ns.max(1) as f64),
        });
        if self.points.len() > MOST_SAMPLES {
            self.points = self.points.make_contiguous().chunks(2).map(pair).collect();
        }
    }

    /// The text for a terminal of this size; no line is as wide as the terminal.
    pub fn lines(&self, columns: usize, rows: usize) -> Vec<Line> {
        let width = columns.saturating_sub(1).clamp(1, WIDEST);
        let mut lines = vec![self.title(width)];
        for (name, figures) in self.figures() {
            lines.extend(wrapped(name, figures, width));
        }
        let left = rows.saturating_sub(lines.len().max(LINES_BESIDE_CHARTS - 3) + 4);
        if columns >= NARROWEST_CHART && left >= 6 && !self.points.is_empty() {
            let rate = (left * 2 / 5).clamp(3, 5);
            let times = (left - rate).clamp(3, 8);
            lines.extend(self.charts(width - SCALE - 1, rate, times));
        }
        lines.truncate(rows.saturating_sub(1).max(1));
        lines
    }

    fn title(&self, width: usize) -> Line {
        const HINT: &str = "q ends it";
        let hint = if self.frame.has_keys { HINT } else { "" };
        let room = width.saturating_sub(hint.len() + 2);
        let mut target: String = self.frame.target.chars().take(room).collect();
        if target.len() < self.frame.target.len() && room > 0 {
            target.pop();
            target.push('…');
        }
        let mut line = Line::default();
        let gap = width.saturating_sub(target.chars().count() + hint.len());
        line.push(Style::Usual, target);
        if !hint.is_empty() && room > 0 {
            line.push(Style::Dim, format!("{:gap$}{hint}", ""));
        }
        line
    }

    /// The figures of each line, under its name.
    #[expect(clippy::cast_precision_loss, reason = "shown with few digits")]
    fn figures(&self) -> Vec<(&'static str, Vec<(Style, String)>)> {
        let usual = |text: String| (Style::Usual, text);
        let live = &self.live;
        let asked = self.frame.rate.as_ref().map(|rate| {
            // In the middle of the second that is shown, as rates change.
            let time_s = match &self.last {
                _ if live.is_warm_up => 0.0,
                Some((row, _)) => row.at_s as f64 + 0.5,
                None => live.elapsed_s,
            };
            format!(" of {}/s", whole(rate.at_s(time_s)))
        });
        let (rps, p50_ns, p99_ns) = match &self.last {
            Some((row, rps)) => (*rps, row.response_p50_ns, row.response_p99_ns),
            None => (live.rps, live.response_p50_ns, live.response_p99_ns),
        };
        let last = self.last.as_ref().map(|(row, _)| row);
        let time = |name: &str, time_ns: Option<u64>| {
            let time_ns = time_ns.map(|time_ns| format_time(time_ns as f64));
            time_ns.map(|time| format!("{name} {time}"))
        };
        let mut response = Vec::new();
        response.extend(time("p50", p50_ns).map(usual));
        response.extend(time("p99", p99_ns).map(|text| (Style::Tail, text)));
        response.extend(time("max", last.and_then(|row| row.response_max_ns)).map(usual));
        response.extend(time("send lag p99", last.and_then(|row| row.send_lag_p99_ns)).map(usual));
        let mut connections = Vec::new();
        // In a warm-up they are not counted.
        if live.opened > 0 {
            connections.push(usual(format!("{} opened", thousands(live.opened))));
        }
        connections.push(usual(format!(
            "{} requests in flight",
            thousands(live.open)
        )));
        if live.not_opened > 0 {
            connections.push((Style::Bad, format!("{} failed", thousands(live.not_opened))));
        }
        let mut lines = vec![
            ("time", self.times()),
            (
                "rate",
                vec![
                    usual(format!("{}/s{}", whole(rps), asked.unwrap_or_default())),
                    usual(format!("{} answers", thousands(live.requests))),
                ],
            ),
            ("response", response),
            ("connections", connections),
        ];
        let failed = live.errors + live.failed_answers;
        let mut errors = vec![usual(thousands(failed))];
        if failed > 0 {
            errors = vec![(Style::Bad, thousands(failed))];
            let causes = self.causes().into_iter();
            errors.extend(
                causes.map(|(name, count)| usual(format!("{} x {name}", thousands(count)))),
            );
        }
        lines.push(("errors", errors));
        lines
    }

    fn times(&self) -> Vec<(Style, String)> {
        let (live, frame) = (&self.live, &self.frame);
        let mut figures = Vec::new();
        if live.is_warm_up {
            let whole_s = general(frame.warm_up_s, 4);
            figures.push(format!("{:.1} s of {whole_s} s warm-up", live.elapsed_s));
        } else if let Some(duration_s) = frame.duration_s {
            let elapsed_s = live.elapsed_s.min(duration_s);
            figures.push(format!("{elapsed_s:.1} s of {} s", general(duration_s, 6)));
        } else {
            figures.push(format!("{:.1} s", live.elapsed_s));
        }
        if let Some(requests) = frame.requests.filter(|_| !live.is_warm_up) {
            let sent = thousands(live.sent);
            figures.push(format!("{sent} of {} requests", thousands(requests)));
        }
        let stages = frame.stages.iter().zip(1..);
        let mut rest = stages.filter(|((_, end_s), _)| live.elapsed_s < *end_s);
        if let Some(((stage, _), number)) = rest.next().filter(|_| !live.is_warm_up) {
            let count = frame.stages.len();
            figures.push(format!("stage {number} of {count}: {stage}"));
        }
        figures.extend(frame.step.clone());
        if frame.repeat > 1 {
            figures.push(format!("trial {} of {}", self.trial + 1, frame.repeat));
        }
        let usual = |text| (Style::Usual, text);
        figures.into_iter().map(usual).collect()
    }

    /// The causes of failed requests, the most frequent first.
    fn causes(&self) -> Vec<(String, u64)> {
        let live = &self.live;
        let errors = live.errors_by_name.iter();
        let errors = errors.map(|(name, count)| ((*name).to_owned(), *count));
        let statuses = live.statuses.iter();
        let statuses = statuses
            .filter(|(status, _)| !self.frame.has_check && !(200..400).contains(*status))
            .map(|(status, count)| (format!("status {status}"), *count));
        let wrong = (live.wrong > 0).then(|| ("wrong by a check".to_owned(), live.wrong));
        let mut causes = most_frequent_first(errors.chain(statuses).chain(wrong));
        causes.truncate(MOST_CAUSES);
        causes
    }

    /// The time that the charts show: the whole load, or as much as is needed.
    fn span_s(&self) -> f64 {
        let elapsed_s = self.points.back().map_or(0.0, |point| point.end_s);
        match self.frame.duration_s {
            Some(duration_s) => duration_s.max(elapsed_s),
            None => chart::round_up(elapsed_s.max(10.0)),
        }
    }

    fn charts(&self, width: usize, rate_height: usize, times_height: usize) -> Vec<Line> {
        let span_s = self.span_s();
        let samples = |value: fn(&Point) -> Option<f64>| {
            let sample = move |point: &Point| {
                value(point).map(|value| Sample {
                    begin_s: point.begin_s,
                    end_s: point.end_s,
                    value,
                })
            };
            self.points.iter().filter_map(sample)
        };
        let rates = chart::resample(
            &samples(|point| Some(point.rps)),
            span_s,
            width,
            f64::midpoint,
        );
        let top = chart::round_up(rates.iter().flatten().copied().fold(1.0, f64::max));
        let mut lines = Vec::new();
        let mut heading = Line::default();
        heading.push(Style::Dim, "answers/s");
        lines.push(heading);
        let drawn = chart::bars(&rates, top, rate_height);
        for (place, bars) in drawn.into_iter().enumerate() {
            let scale = match place {
                0 => whole(top),
                place if place == rate_height - 1 => "0".to_owned(),
                _ => String::new(),
            };
            let mut line = scale_of(&scale);
            // Full blocks in the usual colour would be the brightest part of the screen.
            line.push(Style::Dim, bars);
            lines.push(line);
        }
        let p50 = chart::resample(
            &samples(|point| point.p50_ns),
            span_s,
            2 * width,
            f64::midpoint,
        );
        let p99 = chart::resample(&samples(|point| point.p99_ns), span_s, 2 * width, f64::max);
        let all = || p50.iter().chain(&p99).flatten().copied();
        let Some(low) = all().reduce(f64::min).map(chart::round_down) else {
            lines.push(axis(span_s, width));
            return lines;
        };
        let high = chart::round_up(all().fold(low, f64::max)).max(2.0 * low);
        let mut heading = Line::default();
        heading.push(Style::Dim, "response time (log)  ");
        heading.push(Style::Usual, "p50 below  ");
        heading.push(Style::Tail, "p99 above");
        lines.push(heading);
        let drawn = chart::lines([&p50, &p99], (low, high), times_height);
        let scale = chart::powers(low, high, times_height);
        for (dots, value_ns) in drawn.into_iter().zip(scale) {
            let mut line = scale_of(&value_ns.map(format_time).unwrap_or_default());
            for run in dots.chunk_by(|one, other| one.1 == other.1) {
                let style = if run[0].1 { Style::Tail } else { Style::Usual };
                line.push(style, run.iter().map(|(dots, _)| dots).collect::<String>());
            }
            lines.push(line);
        }
        lines.push(axis(span_s, width));
        lines
    }
}

impl Draw for Screen {
    fn take_above(&mut self) -> Vec<String> {
        std::mem::take(&mut self.above)
    }

    fn lines(&mut self, columns: usize, rows: usize, has_keys: bool) -> Vec<Line> {
        self.frame.has_keys = has_keys;
        Self::lines(self, columns, rows)
    }
}

fn pair(points: &[Point]) -> Point {
    let [first, second] = points else {
        return points[0];
    };
    let longer =
        |one: Option<f64>, other: Option<f64>| one.into_iter().chain(other).reduce(f64::max);
    Point {
        begin_s: first.begin_s,
        end_s: second.end_s,
        rps: f64::midpoint(first.rps, second.rps),
        p50_ns: longer(first.p50_ns, second.p50_ns),
        p99_ns: longer(first.p99_ns, second.p99_ns),
    }
}

/// A whole number of requests per second; small rates have digits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative"
)]
fn whole(rate: f64) -> String {
    if rate < 10.0 {
        return general(rate, 3);
    }
    thousands(rate.round_ties_even() as u64)
}

/// The beginning of a chart's line.
fn scale_of(text: &str) -> Line {
    let mut line = Line::default();
    let width = SCALE - 1;
    let edge = if text.is_empty() { '│' } else { '┤' };
    line.push(Style::Dim, format!("{text:>width$} {edge}"));
    line
}

/// Times under a chart: the start, the middle and the end.
fn axis(span_s: f64, width: usize) -> Line {
    let time = |seconds: f64| format!("{} s", general(seconds, 4));
    let (middle, end) = (time(span_s / 2.0), time(span_s));
    let mut text = format!("{:SCALE$} 0 s", "");
    for (name, place) in [
        (middle.as_str(), SCALE + 1 + width / 2),
        (&end, SCALE + 1 + width),
    ] {
        let begin = match name {
            name if name == end => place - name.len(),
            name => place - name.len() / 2,
        };
        let gap = begin.saturating_sub(text.len());
        text = format!("{text}{:gap$}{name}", "");
    }
    let mut line = Line::default();
    line.push(Style::Dim, text);
    line
}

/// Figures after their name, on as many lines as they need.
pub fn wrapped(name: &str, figures: Vec<(Style, String)>, width: usize) -> Vec<Line> {
    const GAP: &str = "   ";
    let indent = if width < NARROWEST_CHART / 2 { 0 } else { NAME };
    let begin = |name: &str| {
        let mut line = Line::default();
        let name: String = name.chars().take(indent).collect();
        line.push(Style::Dim, format!("{name:indent$}"));
        line
    };
    let mut lines = vec![begin(name)];
    let mut is_first = true;
    for (style, text) in figures {
        let Some(mut line) = lines.pop() else { break };
        if !is_first && line.width() + GAP.len() + text.chars().count() > width {
            lines.push(line);
            line = begin("");
            is_first = true;
        }
        if !is_first {
            line.push(Style::Usual, GAP);
        }
        let room = width.saturating_sub(line.width());
        line.push(style, text.chars().take(room).collect::<String>());
        lines.push(line);
        is_first = false;
    }
    lines
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use dyno_load::PerSecond;

    use super::*;

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn seconds(number: u64) -> f64 {
        number as f64
    }

    fn screen_row(at_s: u64) -> Row {
        let (requests, p99_ns) = match at_s {
            5 => (400, 700_000_000),
            _ => ((at_s * 200).clamp(100, 2000), 1_200_000 + at_s * 100_000),
        };
        Row {
            at_s,
            sent: 2000,
            requests,
            errors: 0,
            content_bytes: 0,
            response_p50_ns: Some(150_000 + at_s * 10_000),
            response_p99_ns: Some(p99_ns),
            response_max_ns: Some(3_000_000),
            service_p99_ns: None,
            send_lag_p99_ns: Some(23_000),
            open: 12,
        }
    }

    /// Second 12 of 30 of the second trial of three, with a stall in second 5.
    fn screen() -> Screen {
        let mut screen = Screen::new(Frame {
            target: "http://localhost:8080/plain".to_owned(),
            repeat: 3,
            duration_s: Some(30.0),
            rate: Some(Rate::constant(PerSecond::parse("2000").unwrap())),
            stages: vec![
                ("0..2000/10s".to_owned(), 10.0),
                ("2000/20s".to_owned(), 30.0),
            ],
            has_keys: true,
            ..Frame::default()
        });
        screen.begin(1);
        for at_s in 0..12 {
            screen.second(&screen_row(at_s), seconds(at_s + 1), false);
        }
        screen.stretch(&Live {
            elapsed_s: 12.2,
            sent: 20_020,
            requests: 20_000,
            errors: 8,
            errors_by_name: BTreeMap::from([("Timeout", 8)]),
            failed_answers: 4,
            statuses: BTreeMap::from([(200, 19_996), (503, 4)]),
            opened: 64,
            open: 12,
            ..Live::default()
        });
        screen
    }

    fn text(screen: &Screen, columns: usize, rows: usize) -> String {
        let lines = screen.lines(columns, rows);
        assert!(lines.len() < rows.max(2), "{columns} columns, {rows} rows");
        let line = |line: &Line| {
            assert!(line.width() < columns.max(2), "{columns} columns: {line:?}");
            line.render(false).trim_end().to_owned() + "\n"
        };
        lines.iter().map(line).collect()
    }

    #[test]
    fn a_screen_follows_the_width_of_its_terminal() {
        assert_eq!(
            text(&screen(), 80, 24),
            "\
http://localhost:8080/plain                                           q ends it
time         12.2 s of 30 s   stage 2 of 2: 2000/20s   trial 2 of 3
rate         2,000/s of 2,000/s   20,000 answers
response     p50 260 us   p99 2.3 ms   max 3 ms   send lag p99 23 us
connections  64 opened   12 requests in flight
errors       12   8 x Timeout   4 x status 503
answers/s
    2,000 ┤                    ▄▄▄████
          │                ▄▄█████████
          │              █████████████
          │       ▄▄██   █████████████
        0 ┤▂▂▄▄▄██████████████████████
response time (log)  p50 below  p99 above
   800 ms ┤           ⢸⠉⢹
          │           ⢸ ⢸
   100 ms ┤           ⢸ ⢸
          │           ⢸ ⢸
    10 ms ┤           ⢸ ⢸
          │⣀⣀⣀⣀⣀⣀⣀⣀⣀⡤⠤⠼ ⠸⠤⠤⠤⠤⠤⠤⠴⠒⠒⠒⠒⠒⠒
     1 ms ┤
   150 us ┤⣀⣀⣀⣀⣀⣀⣀⡤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠤⠖⠒⠒⠒⠒⠒⠒⠒⠒
           0 s                             15 s                            30 s
"
        );
        assert_eq!(
            text(&screen(), 40, 24),
            "\
http://localhost:8080/plain   q ends it
time         12.2 s of 30 s
             stage 2 of 2: 2000/20s
             trial 2 of 3
rate         2,000/s of 2,000/s
             20,000 answers
response     p50 260 us   p99 2.3 ms
             max 3 ms
             send lag p99 23 us
connections  64 opened
             12 requests in flight
errors       12   8 x Timeout
             4 x status 503
"
        );
        let wide = text(&screen(), 120, 40);
        let lines: Vec<&str> = wide.lines().collect();
        assert_eq!(lines.len(), 22);
        assert_eq!(
            lines[21],
            "           0 s                                                 15 s                                                30 s"
        );
        // Too low or too narrow for charts; and no terminal is too small.
        for (columns, rows) in [(80, 12), (59, 40), (20, 8), (3, 3), (1, 1), (0, 0)] {
            assert!(!text(&screen(), columns, rows).contains("answers/s\n"));
        }
    }

    #[test]
    fn colours_are_for_what_is_bad_and_for_the_tail() {
        let lines = screen().lines(80, 24);
        let coloured: String = lines.iter().map(|line| line.render(true)).collect();
        assert!(coloured.contains("\x1b[31m12\x1b[0m"), "the errors");
        assert!(coloured.contains("\x1b[35mp99 2.3 ms\x1b[0m"));
        assert!(!coloured.contains("\x1b[37m") && !coloured.contains("\x1b[30m"));
        let plain: String = lines.iter().map(|line| line.render(false)).collect();
        assert!(!plain.contains('\x1b'));
    }

    #[test]
    fn the_line_of_the_time_says_what_ends_the_load() {
        let at = |frame: Frame, live: Live| {
            let mut screen = Screen::new(frame);
            screen.stretch(&live);
            text(&screen, 80, 24).lines().nth(1).unwrap().to_owned()
        };
        let live = Live {
            elapsed_s: 3.25,
            sent: 1200,
            ..Live::default()
        };
        let timed = Frame {
            duration_s: Some(60.0),
            warm_up_s: 2.5,
            ..Frame::default()
        };
        let counted = Frame {
            requests: Some(5000),
            ..Frame::default()
        };
        let warming = Live {
            is_warm_up: true,
            elapsed_s: 1.0,
            ..Live::default()
        };
        for (frame, live, expected) in [
            (timed.clone(), live.clone(), "time         3.2 s of 60 s"),
            (timed, warming, "time         1.0 s of 2.5 s warm-up"),
            (
                counted,
                live.clone(),
                "time         3.2 s   1,200 of 5,000 requests",
            ),
            (Frame::default(), live, "time         3.2 s"),
        ] {
            assert_eq!(at(frame, live), expected);
        }
    }

    #[test]
    fn a_warm_up_and_a_trial_before_are_not_in_the_charts() {
        let mut screen = screen();
        screen.begin(2);
        let row = screen_row(0);
        screen.second(&row, 1.0, true);
        assert!(!text(&screen, 80, 24).contains("p99 above"));
        screen.second(&row, 1.0, false);
        assert!(text(&screen, 80, 24).contains("p99 above"));
        assert!(text(&screen, 80, 24).contains("trial 3 of 3"));
    }

    #[test]
    fn a_load_of_days_keeps_few_samples() {
        let mut screen = Screen::default();
        for at_s in 0..100_000 {
            screen.second(&screen_row(at_s), seconds(at_s + 1), false);
        }
        assert!(screen.points.len() <= MOST_SAMPLES);
        assert!((screen.points[0].begin_s, screen.span_s()) == (0.0, 100_000.0));
    }
}
