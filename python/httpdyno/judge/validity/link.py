"""Readings of the link: whether the path between subject and peer was full."""

import re
from typing import Final

from httpdyno.judge.validity.rule import Reading
from httpdyno.judge.validity.stretch import Stretch
from httpdyno.model import Trial

__all__ = ["rate_used"]

_RATE: Final = re.compile(r"(?:^|,)rate=([0-9]+)bit(?:,|$)")


def rate_used(trial: Trial) -> Reading:
    """Take the bytes of the busier direction while the list lasted, as a share of what the link can carry."""
    rate, stretch = _RATE.search(trial.link), Stretch.of(trial)
    if rate is None:
        return Reading(None, "the link has no limit of its rate")
    sent, received = trial.counters.sent_bytes, trial.counters.received_bytes
    if sent is None or received is None or stretch is None:
        return Reading(None, "nobody counted the bytes on the link")
    bits = 8 * max(sent, received) * stretch.work
    return Reading(100 * bits * 1e9 / (int(rate[1]) * stretch.length_ns))
