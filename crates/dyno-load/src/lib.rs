//! The load generator: requests on one schedule, measured from the moment each was meant to be sent.
//!
//! A run is planned as a value (a [`Plan`]): when requests are due ([`ArrivalProcess`], one schedule for all threads), when it
//! ends ([`Termination`]), what is sent ([`Requests`]) and over what. Each thread has a runtime and as many request loops as it has
//! connections, or streams of them; a request loop is the one hot loop: claim the next request, wait until it is due, carry it to its
//! end, record it. What threads measure is reported in stretches that add up, so memory does not grow with the requests.
#![forbid(unsafe_code)]

mod addresses;
mod aggregate;
mod arrival_process;
mod check;
mod connector;
mod draft;
mod error;
mod exponential;
mod hdr_log;
mod http1_pool;
mod http2_pool;
pub mod jsonl;
mod judgement;
mod outcome;
mod plan;
mod prepared;
mod record;
mod report;
mod request_loop;
mod requests;
mod run;
mod samples;
mod schedule;
mod slot;
mod summing_up;
mod tally;
mod termination;
mod thread;
mod time_text;
mod usage;
mod validity;
mod wake_queue;
mod worker;

pub use aggregate::Live;
pub use arrival_process::{ArrivalProcess, Arrivals, PerSecond, Rate};
pub use check::{Check, Checked};
pub use error::Error;
pub use judgement::{Finding, Judgement, Verdict};
pub use plan::Plan;
pub use prepared::{Error as RequestError, Message, Prepared, Shape};
pub use report::{
    Censored, ConnectionsRecord, Phases, PlanRecord, Report, Row, Summary, ThreadRecord, WireRecord,
};
pub use requests::{Preparation, Requests, Server};
pub use run::{Watch, run};
pub use termination::Termination;
pub use time_text::format_time;
