//! Errors in the text of a link.

use thiserror::Error;

/// An invalid text of a link, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("link {}: {why}", quoted(.spec))]
pub struct LinkError {
    pub(crate) spec: String,
    pub(crate) why: Refusal,
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Refusal {
    #[error("it is empty; write rtt=40ms,rate=1gbit, a preset ({presets}), or direct", presets = crate::preset::names())]
    Empty,
    #[error("there is no preset {shown}; known: direct, {presets}; otherwise write KEY=VALUE", shown = quoted(.0), presets = crate::preset::names())]
    UnknownName(String),
    #[error("{shown} must be KEY=VALUE: a preset must come first", shown = quoted(.0))]
    NoValue(String),
    #[error("unknown key {shown}; known: rtt, delay, rate, queue, loss, mtu, and up. or down. before all but rtt and mtu", shown = quoted(.0))]
    UnknownKey(String),
    #[error("{0} is given twice")]
    Twice(String),
    #[error("{0} applies to both directions; {1}")]
    BothWays(String, &'static str),
    #[error("give the distance once: rtt (both ways together) or delay (each way)")]
    TwoDistances,
    #[error("{0}: {shown} is not a time; write 40ms, 250us or 1.5s, up to an hour", shown = quoted(.1))]
    Time(String, String),
    #[error("{0}: {shown} is not a rate; write 1gbit, 20mbit or 1.5mbit, from 1kbit to 1tbit per second", shown = quoted(.1))]
    Rate(String, String),
    #[error("{0}: {shown} is not a loss; write 0.1%, below 100 %", shown = quoted(.1))]
    Loss(String, String),
    #[error("mtu: {shown} is not a packet length; write 1280 (the minimum for IPv6) to 65535 bytes", shown = quoted(.0))]
    Mtu(String),
    #[error("{0} needs a rate to wait for; add {1}=100mbit, or remove the queue")]
    QueueWithoutRate(&'static str, &'static str),
}

/// Quote a part of the input on one line, shortened if too long.
fn quoted(text: &str) -> String {
    const LONGEST: usize = 80;
    let shown: String = text.chars().take(LONGEST).collect();
    let more = if shown.len() < text.len() { "..." } else { "" };
    format!("{shown:?}{more}")
}
