//! The sealed environment of one trial: namespaces, routes, mounted files, pinned CPUs, limits and accounting.
//!
//! ```no_run
//! use dyno_room::{Environment, NamesAndTrust, Room, RoomOptions, SubjectOptions};
//! use rustix::io::dup;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let mut room = Room::enter(&RoomOptions::default())?; // one thread until here
//! room.install_names_and_trust(&NamesAndTrust::default())?;
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
mod cpu_series;
mod cpu_time;
mod der;
mod descriptors;
mod environment;
mod error;
mod facts;
mod files;
mod init;
mod init_process;
mod java_keystore;
mod leftovers;
mod link;
mod machine_window;
mod mounts;
mod namespaces;
mod netlink;
mod network;
mod network_plan;
mod options;
mod peer;
mod peer_in_room;
mod process;
mod program;
mod protocol;
mod readiness;
mod room;
mod running;
mod signals;
mod starting;
mod steering;
mod subject;
mod subject_hash;
mod system_calls;
mod tree_sampler;

pub use account::{
    Accounting, CpuAccount, CpuRole, DriverAccount, Ending, Outcome, PeerAccount, Pressure,
    ServerAccount, ServerState, SubjectAccount,
};
pub use addresses::PEER_V4;
pub use cpu::CpuSet;
pub use cpu_time::CpuTime;
pub use error::{Result, RoomError};
pub use facts::{Fact, Fitness, Value, facts};
pub use link::{
    Goodput, Lateness, LinkAccount, LinkCheck, LinkMeasured, LinkOptions, LinkVerdict,
    OffloadAccount, RoundTrips, WayAccount,
};
pub use machine_window::MachineSnapshot;
pub use options::{
    Authority, Environment, NamesAndTrust, PeerOptions, RoomOptions, ServerOptions, SubjectOptions,
    Surroundings,
};
pub use peer_in_room::PeerState;
pub use process::ended_children_cpu_time;
pub use room::Room;
pub use running::{Running, Stopper};
pub use steering::ReceiveSteering;
