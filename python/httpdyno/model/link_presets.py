"""Links that have a name, each with where its figures come from: those of the engine, word for word."""

from dataclasses import dataclass
from typing import Final

__all__ = ["LINK_PRESETS", "LinkPreset"]


@dataclass(frozen=True, slots=True)
class LinkPreset:
    """A link with a name."""

    name: str
    spec: str
    """What it stands for, in its own words of the grammar."""
    about: str
    source: str
    """Where its figures come from, and which of them are round figures of ours."""


LINK_PRESETS: Final = (
    LinkPreset(
        "lan",
        "rtt=0.3ms,rate=1gbit,queue=10ms",
        "two machines at one switch, with gigabit Ethernet",
        "rate: IEEE 802.3ab (1000BASE-T). Round figures: round trip, queue",
    ),
    LinkPreset(
        "dc",
        "rtt=0.5ms,rate=5gbit,queue=10ms",
        "two virtual machines in one data centre",
        "rate: Amazon EC2 user guide, instance network bandwidth: one flow outside a cluster placement group gets 5 "
        "Gbit/s. Round trip: J. Dean, Software engineering advice from building large-scale distributed systems "
        "(2007), numbers everyone should know. Round figure: queue",
    ),
    LinkPreset(
        "broadband",
        "rtt=20ms,down.rate=100mbit,up.rate=20mbit",
        "a home with what the United States call broadband",
        "rates: FCC, 2024 Section 706 report (FCC 24-27): 100 Mbit/s down, 20 up. Round figures: round trip, queue",
    ),
    LinkPreset(
        "4g",
        "rtt=53ms,down.rate=14.7mbit,up.rate=13.6mbit",
        "a phone on LTE in a city",
        "all: averages of Ofcom, Measuring mobile broadband performance in the UK (April 2015): 14.7 Mbit/s down, 13.6 "
        "up, 53.1 ms. Round figure: queue",
    ),
    LinkPreset(
        "satellite",
        "rtt=558ms,down.rate=100mbit,up.rate=10mbit",
        "a dish that looks at a geostationary satellite",
        "round trip: RFC 2488, section 2, from the edge of the satellite's view. Rates: the subscription in: Fact "
        "checking Starlink's performance figures (APNIC blog, 28 November 2022). Round figure: queue",
    ),
)
"""From near to far."""
