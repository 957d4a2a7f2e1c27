//! The load generator: requests on one schedule, measured from the moment each was meant to be sent.
//!
//! What a run does is a value (a [`Plan`]): when requests are due ([`pacer`](Rate), one schedule for all threads), when it
//! ends ([`Termination`]), what is sent ([`Requests`]) and over what. Each thread has a runtime and as many lanes as it has
//! connections, or streams of them; a lane is the one hot loop: claim the next request, wait until it is due, carry it to its
//! end, record it. What threads measure is told in stretches that add up, so memory does not grow with the requests.

mod aggregate;
mod check;
mod connector;
mod draft;
mod error;
mod exponential;
mod hdr_log;
pub mod jsonl;
mod kept;
mod lane;
mod names;
mod outcome;
mod pace;
mod pacer;
mod plan;
mod prepared;
mod record;
mod report;
mod requests;
mod run;
mod samples;
mod schedule;
mod shared;
mod slot;
mod summing_up;
mod tally;
mod termination;
mod thread;
mod time_text;
mod usage;
mod validity;
mod worker;

pub use aggregate::Live;
pub use check::{Check, Checked};
pub use error::Error;
pub use pacer::{Arrivals, Pacer, PerSecond, Rate};
pub use plan::Plan;
pub use prepared::{Error as RequestError, Message, Prepared, Shape};
pub use report::{
    Censored, ConnectionsRecord, Phases, PlanRecord, Report, Row, Summary, ThreadRecord, WireRecord,
};
pub use requests::{Preparation, Requests, Server};
pub use run::{Watch, run};
pub use termination::Termination;
pub use time_text::format_time;
pub use validity::{Finding, Judgement, Verdict};
