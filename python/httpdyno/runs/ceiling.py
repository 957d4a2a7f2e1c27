"""The trial that asks once a run what its web can give at all: the fetcher gets the URLs before any subject does."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.model import CEILING_TRIAL, Condition, Purpose, Subject, TrialPlan

__all__ = ["FETCHER", "ceiling_plan"]

FETCHER: Final = "native"
"""The subject that is our own fetcher: a client which is as good as is known."""
_MOST_IN_FLIGHT: Final = 1024
"""As many as ``tune`` tries at most."""
_LONGEST_S: Final = 10.0
"""How long the fetcher may take beside one timeout, which the first of its slots to be stalled need."""


def ceiling_plan(fetcher: Subject, condition: Condition, subjects: Iterable[Subject], *, urls: int) -> TrialPlan:
    """Plan the trial that asks what a web can give at all.

    As many requests are in flight as the list allows, since few of them are held up by the delays of the web alone;
    never fewer than any subject has.
    """
    asked_of_subjects = (condition.concurrency or subject.concurrency for subject in subjects)
    in_flight = max(min(urls // LEAST_TURNS, _MOST_IN_FLIGHT), *asked_of_subjects, 1)
    deadline_s = min(condition.deadline_s, _LONGEST_S + condition.workload.timeout_s)
    asked = replace(condition, concurrency=in_flight, deadline_s=deadline_s, name="")
    return TrialPlan(CEILING_TRIAL, CEILING_TRIAL, 0, fetcher, asked, purpose=Purpose.CEILING)
