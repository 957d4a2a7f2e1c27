//! Named links with sources.

use crate::link::Link;

/// A named link.
#[derive(Debug, Clone, Copy)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// Its text in the grammar.
    pub spec: &'static str,
    /// Its description.
    pub about: &'static str,
    /// Sources of its figures, and which figures are our own estimates.
    pub source: &'static str,
}

/// All presets, from near to far.
pub const PRESETS: [Preset; 5] = [
    Preset {
        name: "lan",
        spec: "rtt=0.3ms,rate=1gbit,queue=10ms",
        about: "two machines at one switch, with gigabit Ethernet",
        source: "rate: IEEE 802.3ab (1000BASE-T). Round figures: round trip, queue",
    },
    Preset {
        name: "dc",
        spec: "rtt=0.5ms,rate=5gbit,queue=10ms",
        about: "two virtual machines in one data centre",
        source: "rate: Amazon EC2 user guide, instance network bandwidth: one flow outside a cluster placement group gets 5 Gbit/s. \
                 Round trip: J. Dean, Software engineering advice from building large-scale distributed systems (2007), numbers everyone \
                 should know. Round figure: queue",
    },
    Preset {
        name: "broadband",
        spec: "rtt=20ms,down.rate=100mbit,up.rate=20mbit",
        about: "a home with what the United States call broadband",
        source: "rates: FCC, 2024 Section 706 report (FCC 24-27): 100 Mbit/s down, 20 up. Round figures: round trip, queue",
    },
    Preset {
        name: "4g",
        spec: "rtt=53ms,down.rate=14.7mbit,up.rate=13.6mbit",
        about: "a phone on LTE in a city",
        source: "all: averages of Ofcom, Measuring mobile broadband performance in the UK (April 2015): 14.7 Mbit/s down, 13.6 up, \
                 53.1 ms. Round figure: queue",
    },
    Preset {
        name: "satellite",
        spec: "rtt=558ms,down.rate=100mbit,up.rate=10mbit",
        about: "a dish that looks at a geostationary satellite",
        source: "round trip: RFC 2488, section 2, from the edge of the satellite's view. Rates: the subscription in: Fact checking Starlink's \
                 performance figures (APNIC blog, 28 November 2022). Round figure: queue",
    },
];

/// Return the link of a name, including `direct`.
pub(crate) fn find(name: &str) -> Option<Link> {
    if name == "direct" {
        return Some(Link::default());
    }
    let preset = PRESETS.iter().find(|preset| preset.name == name)?;
    Some(preset.link())
}

/// Return the names for messages.
pub(crate) fn names() -> String {
    PRESETS.map(|preset| preset.name).join(", ")
}

impl Preset {
    /// Return the link.
    #[must_use]
    pub fn link(&self) -> Link {
        self.spec
            .parse()
            .expect("a test reads the text of every preset")
    }
}
