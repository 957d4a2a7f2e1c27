"""The trial that asks once a run what its web can give at all: the fetcher gets the URLs before any subject does."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from httpdyno.judge import Ceiling, JudgedTrial, ceiling_of, under_ceiling
from httpdyno.judge.validity.stretch import LEAST_TURNS
from httpdyno.lab.lab import Lab, RunTrial
from httpdyno.model import CEILING_TRIAL, Condition, Purpose, Subject, SubjectKind, Trial, TrialPlan

__all__ = ["FETCHER", "UnderCeiling", "ceiling_plan"]

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


@dataclass(slots=True)
class UnderCeiling:
    """Runs trials, and records in those of subjects what the fetcher got out of their web."""

    lab: Lab
    runs: Mapping[SubjectKind, RunTrial]
    """Who runs the trials of each kind of subject."""
    ceiling: Ceiling | None = None

    def run(self, planned: TrialPlan) -> JudgedTrial:
        """Run one trial and judge it, beside the ceiling where there is one."""
        judged = self.lab.run(planned, self.runs[planned.subject.kind])
        if planned.purpose is Purpose.CEILING:
            self.learn(judged.trial, planned.condition)
            # A million samples of the fetcher would be kept for nobody: its record says all that is asked of it.
            return replace(judged, samples=judged.samples.clear())
        return replace(judged, trial=under_ceiling(judged.trial, self.ceiling))

    def learn(self, trial: Trial, condition: Condition) -> None:
        """Learn the ceiling from the trial that asked for it."""
        planned = self.lab.planned_time(condition)
        per_s = planned and condition.concurrency and planned.per_s(condition.concurrency)
        self.ceiling = ceiling_of(trial, planned_per_s=per_s or None)
