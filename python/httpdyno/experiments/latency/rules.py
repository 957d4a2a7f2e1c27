"""The rules of validity of timed calls."""

from typing import Final

from httpdyno.judge.validity import Evidence, rules_for

__all__ = ["LATENCY_RULES"]

LATENCY_RULES: Final = rules_for(Evidence.ANSWERS, Evidence.ORIGIN, Evidence.LINK, Evidence.FREE_LINK, Evidence.MACHINE)
"""How a call is timed has no pace: the client chooses how often it makes it."""
