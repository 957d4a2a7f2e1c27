//! The sealed place of one trial: namespaces, routes, mounted files, pinned CPUs, limits and accounting.
//!
//! ```no_run
//! use dyno_room::{Environment, Furnishing, Room, RoomOptions, SubjectOptions};
//! use rustix::io::dup;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut room = Room::enter(&RoomOptions::default())?; // one thread until here
//! room.furnish(&Furnishing::default())?;
//! let running = room.start(SubjectOptions {
//!     argv: vec!["curl".into(), "http://10.1.2.3/".into()],
//!     environment: Environment::Inherited(vec![]),
//!     directory: None,
//!     stdin: dup(std::io::stdin())?,
//!     stdout: dup(std::io::stdout())?,
//!     stderr: dup(std::io::stderr())?,
//!     deadline: None,
//! })?;
//! let ending = running.wait()?;
//! std::process::exit(ending.exit_status().into());
//! # }
//! ```

mod account;
pub mod addresses;
mod capabilities;
mod channel;
mod control_group;
mod cpu;
mod der;
mod environment;
mod error;
mod facts;
mod files;
mod init;
mod java_keystore;
mod leftovers;
mod machine_window;
mod memory;
mod mounts;
mod namespaces;
mod netlink;
mod network;
mod options;
mod peer;
mod process;
mod program;
mod protocol;
mod room;
mod running;
mod signals;
mod subject;
mod subject_hash;

pub use account::{
    Accounting, CpuAccount, CpuRole, CpuTime, Ending, Outcome, PeerAccount, Pressure,
    SubjectAccount,
};
pub use cpu::CpuSet;
pub use error::{Result, RoomError};
pub use facts::{Fact, Fitness, Value, facts};
pub use options::{Authority, Environment, Furnishing, PeerOptions, RoomOptions, SubjectOptions};
pub use room::Room;
pub use running::{Running, Stopper};
