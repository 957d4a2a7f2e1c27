//! Parts that the origin, the clients and the load generator share: threads, timers, and the bytes of a connection.
#![forbid(unsafe_code)]

mod alarm;
mod count;
mod input;
pub mod list;
pub mod open_files;
mod run_queue;
mod thread;
mod wire;

pub use alarm::{Alarm, watch};
pub use count::Count;
pub use input::Input;
pub use run_queue::{thread_waited_ns, waited_ns};
pub use thread::{pin, process_cpu_time, runtime, thread_cpu_time};
pub use wire::{Meter, Wire};
