//! The load generator: sends requests on one schedule, and measures from the moment at which each was due.
//!
//! A run is planned as a value (a [`Plan`]): when requests are due ([`ArrivalProcess`], one schedule for all threads),
//! when the run ends ([`Termination`]), which requests are sent ([`Requests`]), and the protocol. Each thread has a
//! runtime and one request loop for each of its connections, or of their streams. The request loop is the one hot loop:
//! claim the next request, wait until it is due, send it and receive its answer, record it. Threads report their
//! measurements in stretches that add up, so memory does not grow with the number of requests.
#![forbid(unsafe_code)]

mod address_tally;
mod addresses;
mod aggregate;
mod arrival_process;
mod body;
mod by_proxy;
mod check;
mod checker;
mod confidence;
mod connector;
mod data;
mod draft;
mod error;
mod exponential;
mod filler;
pub mod find;
mod hdr_log;
mod http1_pool;
mod http2_pool;
pub mod jsonl;
mod judgement;
mod label_counts;
mod labels;
mod live;
mod marks;
mod measured;
mod merge;
mod names;
mod observers;
mod outcome;
mod plan;
mod prepared;
mod preview;
mod record;
mod recorded_times;
mod recording;
mod records;
pub mod replay;
mod report;
mod report_of;
mod request_loop;
mod requests;
mod rotation;
mod run;
mod samples;
mod schedule;
mod segment;
mod segment_record;
mod slot;
mod stage_tally;
mod stages;
pub mod start_time;
mod static_text;
mod summing_up;
mod sums;
mod tally;
pub mod template;
mod termination;
mod thread;
mod time_text;
mod usage;
mod validity;
mod wake_queue;
mod worker;

pub use arrival_process::{ArrivalProcess, Arrivals, PerSecond, Rate, RateStage};
pub use body::{Body, Field, Section};
pub use check::{Check, CheckExample, Checked};
pub use confidence::Goal;
pub use data::Data;
pub use error::Error;
pub use judgement::{Finding, Judgement, Verdict};
pub use label_counts::{Buckets, LabelCounts};
pub use labels::Labels;
pub use live::{Event, Live, Second, Watch};
pub use measured::Measured;
pub use merge::merge;
pub use plan::Plan;
pub use prepared::{Error as RequestError, Message, Prepared, Shape};
pub use recorded_times::RecordedTimes;
pub use records::{
    AddressRecord, Censored, ChecksRecord, ConnectionsRecord, DataRecord, ExpectRecord, FindRecord,
    FindStepRecord, FoundRecord, LabelRecord, Phases, PlanRecord, Row, StageRecord, Summary,
    ThreadRecord, UntilRecord, WarmUpRecord, WireRecord,
};
pub use report::Report;
pub use requests::{Preparation, Requests, Server};
pub use run::run;
pub use segment::Segment;
pub use segment_record::{ClockRecord, NodeRecord, SegmentRecord};
pub use stages::Stages;
pub use template::{Pick, Values};
pub use termination::Termination;
pub use time_text::{format_time, parse_scaled, parse_time_ns};
