//! Draws the screen of a running load or crawl five times a second, in place, and reads the key that ends a load.
//!
//! A thread of its own does so: a terminal that is stopped (Ctrl-S) or slow does not delay the run.

use std::io::{self, IsTerminal, Write};
use std::process::exit;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};
use rustix::termios::tcgetwinsize;
use tokio::sync::Notify;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use super::screen::Line;
use crate::stop::{listen, next};
use crate::terminal::{self, SingleKeys};

const EVERY: Duration = Duration::from_millis(200);
const USUAL_SIZE: (usize, usize) = (80, 24);
/// Numbers of the signals of Ctrl-\ and Ctrl-Z.
const QUIT: u8 = 3;
const SUSPEND: u8 = 20;

/// A screen that can be drawn.
pub trait Draw: Send + 'static {
    /// Takes the lines to print above the screen.
    fn take_above(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// The text for a terminal of this size, whose keys are read or not; no line is as wide as the terminal.
    fn lines(&mut self, columns: usize, rows: usize, has_keys: bool) -> Vec<Line>;
}

/// The screen of a run; it is cleared when this is dropped.
#[derive(Debug)]
pub struct Display<S: Draw> {
    screen: Arc<Mutex<S>>,
    end: Arc<Notify>,
    thread: Option<JoinHandle<()>>,
}

/// Whether standard error is a terminal that can move its cursor.
pub fn is_possible() -> bool {
    let is_dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !is_dumb
}

impl<S: Draw> Display<S> {
    /// Starts to draw; a key sets `stop`. Without it no keys are read: standard input has another use.
    pub fn start(screen: S, stop: Option<Arc<AtomicBool>>) -> io::Result<Self> {
        let (screen, end) = (Arc::new(Mutex::new(screen)), Arc::new(Notify::new()));
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let drawing = draw_until(end.clone(), screen.clone(), stop);
        let thread = thread::Builder::new().name("screen".to_owned());
        let thread = thread.spawn(move || runtime.block_on(drawing))?;
        Ok(Self {
            screen,
            end,
            thread: Some(thread),
        })
    }

    /// Changes the figures; they are drawn within a fifth of a second.
    pub fn update(&self, change: impl FnOnce(&mut S)) {
        change(&mut self.screen.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl<S: Draw> Drop for Display<S> {
    fn drop(&mut self) {
        self.end.notify_one();
        if let Some(thread) = self.thread.take() {
            // If it panicked, the panic has been printed.
            let _ = thread.join();
        }
    }
}

async fn draw_until<S: Draw>(
    end: Arc<Notify>,
    screen: Arc<Mutex<S>>,
    stop: Option<Arc<AtomicBool>>,
) {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let has_colour = !set("NO_COLOR");
    let mut suspend = listen(SUSPEND).ok().flatten();
    let mut quit = listen(QUIT).ok().flatten();
    let mut tick = interval_at(Instant::now() + EVERY, EVERY);
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut canvas = Canvas::default();
    let mut keys: Option<SingleKeys> = None;
    loop {
        tokio::select! {
            biased;
            () = end.notified() => break,
            () = next(&mut quit) => {
                canvas.clear();
                terminal::restore();
                exit(128 + i32::from(QUIT));
            }
            () = next(&mut suspend) => {
                canvas.clear();
                keys = None;
                // Returns when the shell continues this process.
                let _ = kill_process(getpid(), Signal::STOP);
            }
            _ = tick.tick() => {
                if !terminal::is_foreground() {
                    continue;
                }
                if keys.is_none() && stop.is_some() && io::stdin().is_terminal() {
                    keys = SingleKeys::begin().ok();
                }
                let typed = keys.as_ref().map(SingleKeys::read).unwrap_or_default();
                if let Some(stop) = &stop
                    && typed.iter().any(|key| matches!(key, b'q' | b'Q'))
                {
                    stop.store(true, Ordering::Relaxed);
                }
                let (above, lines) = {
                    let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
                    let (columns, rows) = size();
                    (screen.take_above(), screen.lines(columns, rows, keys.is_some()))
                };
                canvas.print(&above);
                canvas.draw(&lines, has_colour);
            }
        }
    }
    let mut screen = screen.lock().unwrap_or_else(PoisonError::into_inner);
    canvas.print(&screen.take_above());
    canvas.clear();
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    let size = tcgetwinsize(io::stderr()).ok();
    let size = size.map(|size| (size.ws_col.into(), size.ws_row.into()));
    size.filter(|(columns, rows)| *columns > 0 && *rows > 0)
        .unwrap_or(USUAL_SIZE)
}

/// The lines that are drawn, with the cursor at the end of the last.
#[derive(Debug, Default)]
struct Canvas {
    widths: Vec<usize>,
}

impl Canvas {
    /// Draws over the lines before.
    fn draw(&mut self, lines: &[Line], has_colour: bool) {
        let texts: Vec<String> = lines
            .iter()
            .map(|line| line.render(has_colour) + "\x1b[K")
            .collect();
        let begin = self.begin(size().0);
        write(&format!(
            "\x1b[?25l{begin}{}\x1b[J\x1b[?25h",
            texts.join("\r\n")
        ));
        self.widths = lines.iter().map(Line::width).collect();
    }

    /// Prints lines in place of the drawn ones.
    fn print(&mut self, texts: &[String]) {
        if !texts.is_empty() {
            self.clear();
            write(&format!("{}\r\n", texts.join("\r\n")));
        }
    }

    fn clear(&mut self) {
        if !self.widths.is_empty() {
            write(&format!("{}\x1b[J", self.begin(size().0)));
            self.widths.clear();
        }
    }

    /// Moves the cursor to the first line. A terminal that was made narrower has wrapped the longer lines.
    fn begin(&self, columns: usize) -> String {
        let rows = self
            .widths
            .iter()
            .map(|width| width.div_ceil(columns).max(1));
        match rows.sum::<usize>() {
            0 | 1 => "\r".to_owned(),
            rows => format!("\r\x1b[{}A", rows - 1),
        }
    }
}

/// Writes to standard error; a closed terminal does not end a measurement.
fn write(text: &str) {
    let mut stream = io::stderr().lock();
    let _ = stream
        .write_all(text.as_bytes())
        .and_then(|()| stream.flush());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cursor_returns_to_the_first_line() {
        for (widths, columns, expected) in [
            (vec![], 80, "\r"),
            (vec![79], 80, "\r"),
            (vec![79, 0, 10], 80, "\r\x1b[2A"),
            // The terminal was 80 columns wide when it was drawn.
            (vec![79, 0, 10], 40, "\r\x1b[3A"),
        ] {
            assert_eq!(Canvas { widths }.begin(columns), expected);
        }
    }
}
