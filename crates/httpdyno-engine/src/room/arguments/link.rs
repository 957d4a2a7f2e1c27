//! The options of `room` for its link.

use clap::{Args, ValueEnum};
use dyno_link::Link;
use dyno_room::LinkOptions;

#[derive(Debug, Args)]
pub struct LinkArguments {
    /// Link between the command and its peer, such as rtt=40ms,rate=1gbit,loss=0.1% or 4g (see the verb link)
    #[arg(long, value_name = "LINK", default_value = "direct")]
    link: Link,
    /// Seed of the link's packet loss
    #[arg(long, value_name = "N", default_value = "1")]
    link_seed: u64,
    /// CPU of the link's packets [default: a CPU of its own if there is one, else the engine's last]
    #[arg(long, value_name = "CPU")]
    link_cpu: Option<usize>,
    /// Measure the link first, and start the command only when the link is as specified
    #[arg(long, value_name = "CHOICE", default_value = "on")]
    link_check: Switch,
}

/// A switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Enabled
    On,
    /// Disabled
    Off,
}

impl LinkArguments {
    /// The link; none where subject and peer are connected directly.
    pub fn options(&self) -> Option<LinkOptions> {
        (!self.link.is_direct()).then_some(LinkOptions {
            link: self.link,
            seed: self.link_seed,
            cpu: self.link_cpu,
        })
    }

    /// Whether the link is measured before the command starts.
    pub fn is_checked(&self) -> bool {
        self.link_check == Switch::On
    }
}
