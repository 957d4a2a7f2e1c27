//! Parsing of links: `rtt=40ms,rate=1gbit`, `up.rate=20mbit,down.rate=100mbit`, `4g,loss=0`.

use std::str::FromStr;

use crate::error::{LinkError, Refusal};
use crate::link::{DEFAULT_QUEUE, Limit, Link, Path};
use crate::preset;
use crate::quantity;
use crate::units::{Nanos, Rate, Share};

/// Smallest packet size that every IPv6 link must support (RFC 8200, section 5): below it, Linux disables IPv6 on a device.
const LEAST_MTU: u16 = 1280;

impl FromStr for Link {
    type Err = LinkError;

    fn from_str(text: &str) -> Result<Self, LinkError> {
        read(text).map_err(|why| LinkError {
            spec: text.to_owned(),
            why,
        })
    }
}

fn read(text: &str) -> Result<Link, Refusal> {
    let mut parts = text
        .split(',')
        .map(|part| part.trim_matches(' '))
        .peekable();
    let base = match parts.peek() {
        None | Some(&"") => return Err(Refusal::Empty),
        Some(part) if part.contains('=') => Link::default(),
        Some(name) => {
            let link =
                preset::find(name).ok_or_else(|| Refusal::UnknownName((*name).to_owned()))?;
            parts.next();
            link
        }
    };
    let mut given = Given::default();
    for part in parts {
        given.take(part)?;
    }
    given.over(base)
}

/// Values of one key: for both directions, and for single ones, which take precedence.
#[derive(Debug)]
struct Each<T> {
    both: Option<T>,
    up: Option<T>,
    down: Option<T>,
}

impl<T> Default for Each<T> {
    fn default() -> Self {
        Self {
            both: None,
            up: None,
            down: None,
        }
    }
}

impl<T: Copy> Each<T> {
    fn place(&mut self, way: &str) -> &mut Option<T> {
        match way {
            "up" => &mut self.up,
            "down" => &mut self.down,
            _ => &mut self.both,
        }
    }

    fn up(&self) -> Option<T> {
        self.up.or(self.both)
    }

    fn down(&self) -> Option<T> {
        self.down.or(self.both)
    }

    fn is_given(&self) -> bool {
        self.both.is_some() || self.up.is_some() || self.down.is_some()
    }
}

/// Values of a text, by key.
#[derive(Debug, Default)]
struct Given {
    round_trip: Option<Nanos>,
    delay: Each<Nanos>,
    rate: Each<Rate>,
    queue: Each<Nanos>,
    loss: Each<Share>,
    mtu: Option<u16>,
}

impl Given {
    /// Add one `KEY=VALUE`.
    fn take(&mut self, part: &str) -> Result<(), Refusal> {
        let (key, value) = part
            .split_once('=')
            .ok_or_else(|| Refusal::NoValue(part.to_owned()))?;
        let (way, name) = match key.split_once('.') {
            Some((way @ ("up" | "down"), name)) => (way, name),
            _ => ("", key),
        };
        let owned = || (key.to_owned(), value.to_owned());
        let time =
            || quantity::time(value).ok_or_else(|| Refusal::Time(key.to_owned(), value.to_owned()));
        match (way, name) {
            ("", "rtt") => put(&mut self.round_trip, key, time()?),
            ("", "mtu") => put(&mut self.mtu, key, mtu(value)?),
            (_, "rtt") => Err(Refusal::BothWays(
                key.to_owned(),
                "write up.delay or down.delay",
            )),
            (_, "mtu") => Err(Refusal::BothWays(key.to_owned(), "write mtu")),
            (_, "delay") => put(self.delay.place(way), key, time()?),
            (_, "queue") => put(self.queue.place(way), key, time()?),
            (_, "rate") => {
                let rate = quantity::rate(value).ok_or_else(|| {
                    let (key, value) = owned();
                    Refusal::Rate(key, value)
                })?;
                put(self.rate.place(way), key, rate)
            }
            (_, "loss") => {
                let loss = quantity::loss(value).ok_or_else(|| {
                    let (key, value) = owned();
                    Refusal::Loss(key, value)
                })?;
                put(self.loss.place(way), key, loss)
            }
            _ => Err(Refusal::UnknownKey(key.to_owned())),
        }
    }

    /// Return `base` with the given values applied.
    fn over(&self, base: Link) -> Result<Link, Refusal> {
        let mut link = base;
        if let Some(round_trip) = self.round_trip {
            if self.delay.is_given() {
                return Err(Refusal::TwoDistances);
            }
            link.up.delay = Nanos(round_trip.0 / 2);
            link.down.delay = Nanos(round_trip.0 - round_trip.0 / 2);
        }
        set(&mut link.up.delay, self.delay.up());
        set(&mut link.down.delay, self.delay.down());
        set(&mut link.up.loss, self.loss.up());
        set(&mut link.down.loss, self.loss.down());
        set(&mut link.mtu, self.mtu);
        limit(&mut link.up, self.rate.up(), self.queue.up());
        limit(&mut link.down, self.rate.down(), self.queue.down());
        let (up, down) = (link.up.limit.is_some(), link.down.limit.is_some());
        if self.queue.up.is_some() && !up {
            return Err(Refusal::QueueWithoutRate("up.queue", "up.rate"));
        }
        if self.queue.down.is_some() && !down {
            return Err(Refusal::QueueWithoutRate("down.queue", "down.rate"));
        }
        if self.queue.both.is_some() && !up && !down {
            return Err(Refusal::QueueWithoutRate("queue", "rate"));
        }
        Ok(link)
    }
}

fn set<T>(place: &mut T, value: Option<T>) {
    if let Some(value) = value {
        *place = value;
    }
}

/// Set a rate and a queue; without a queue, keep the current one, or else use the default.
fn limit(path: &mut Path, rate: Option<Rate>, queue: Option<Nanos>) {
    if let Some(rate) = rate.or(path.rate()) {
        let queue = queue.or(path.queue()).unwrap_or(DEFAULT_QUEUE);
        path.limit = Some(Limit { rate, queue });
    }
}

fn put<T>(place: &mut Option<T>, key: &str, value: T) -> Result<(), Refusal> {
    match place.replace(value) {
        None => Ok(()),
        Some(_) => Err(Refusal::Twice(key.to_owned())),
    }
}

fn mtu(text: &str) -> Result<u16, Refusal> {
    let digits = (1..=5).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    let mtu = digits.then(|| text.parse().ok()).flatten();
    mtu.filter(|mtu| *mtu >= LEAST_MTU)
        .ok_or_else(|| Refusal::Mtu(text.to_owned()))
}
