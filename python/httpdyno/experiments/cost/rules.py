"""The rules of validity of documents that are fetched one by one."""

from typing import Final

from httpdyno.judge.validity import Evidence, rules_for

__all__ = ["COST_RULES"]

COST_RULES: Final = rules_for(Evidence.ANSWERS, Evidence.ORIGIN, Evidence.LINK, Evidence.FREE_LINK, Evidence.MACHINE)
"""What documents cost is no pace: a number of them is asked for, and their cost falls while a program warms up."""
