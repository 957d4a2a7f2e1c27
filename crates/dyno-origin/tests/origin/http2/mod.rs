//! HTTP/2: the same answers, faults and counts, over a client of the h2 crate.

mod answers;
mod faults;
mod flow;
mod peer;
mod record;
