//! What `room` is told of its link.

use clap::{Args, ValueEnum};
use dyno_link::Link;
use dyno_room::LinkOptions;

#[derive(Debug, Args)]
pub struct LinkArguments {
    /// What lies between the command and its peer, such as rtt=40ms,rate=1gbit,loss=0.1% or 4g (see the verb link)
    #[arg(long, value_name = "LINK", default_value = "direct")]
    link: Link,
    /// Decides which packets the link loses
    #[arg(long, value_name = "N", default_value = "1")]
    link_seed: u64,
    /// The CPU that carries the packets of the link; by default one that nobody else has, or else the engine's last
    #[arg(long, value_name = "CPU")]
    link_cpu: Option<usize>,
    /// Measure the link before the command starts, and start it only when the link is what was asked for
    #[arg(long, value_name = "CHOICE", default_value = "on")]
    link_check: Switch,
}

/// Whether something is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

impl LinkArguments {
    /// The link; none where subject and peer are joined directly.
    pub fn options(&self) -> Option<LinkOptions> {
        (!self.link.is_direct()).then_some(LinkOptions {
            link: self.link,
            seed: self.link_seed,
            cpu: self.link_cpu,
        })
    }

    /// Whether the command starts only when the link is what was asked for.
    pub fn is_checked(&self) -> bool {
        self.link_check == Switch::On
    }
}
