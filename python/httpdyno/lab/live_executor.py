"""Runs the trials of a plan on the real internet, where no answer can be verified."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import polars as pl

from httpdyno.judge import (
    Expectations,
    JudgedTrial,
    Reference,
    TrialArtifacts,
    expectations_unknown,
    judge_crawl,
    with_validity,
)
from httpdyno.lab.executor import command_of, unavailable
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.live_trial import LiveOutput, run_live_trial
from httpdyno.lab.observer import Observer
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Outcome, Trial, TrialPlan
from httpdyno.subjects.builder import BuildOutcome

__all__ = ["LiveExecutor"]


@dataclass(slots=True)
class LiveExecutor:
    """Runs trials on this machine itself; what they ask for is the real internet's."""

    builds: Mapping[str, BuildOutcome]
    """What became of the builds, by the id of the subject."""
    urls: ScratchFile
    """The list that every subject is given."""
    pinning: Pinning
    interruption: Interruption
    observer: Observer | None = None
    _expectations: Expectations | None = field(default=None, init=False)

    def run(self, plan: TrialPlan) -> JudgedTrial:
        """Run one trial and judge what can be judged; a subject without a build gives a trial that says why.

        Raises
        ------
        Interrupted
            If it was stopped half-way.
        EngineFailed
            If the trial does not come to an end.
        StorageFailed
            If there is no room for the files of the trial.
        """
        outcome = self.builds[plan.subject.id]
        if outcome.build is None:
            return unavailable(plan, outcome)
        command = command_of(plan, outcome.build)
        with run_live_trial(
            plan.condition, self.pinning, command, self.urls, self.interruption, self.observer
        ) as evidence:
            with evidence.stdout.path.open("rb") as output:
                artifacts = TrialArtifacts(evidence.report, output, evidence.stderr.last_words())
                judged = judge_crawl(plan, artifacts, Reference(self._known()), version=outcome.build.version)
            return replace(judged, trial=_with_limit(judged.trial, evidence))

    def _known(self) -> Expectations:
        """Return all that is known of the list: its URLs."""
        if self._expectations is None:
            with self.urls.path.open("rb") as lines:
                text = [line.decode(errors="replace").strip() for line in lines]
            self._expectations = expectations_unknown(pl.Series([line for line in text if line], dtype=pl.String))
        return self._expectations


def _with_limit(trial: Trial, evidence: LiveOutput) -> Trial:
    """Judge anew what the limit per host has to do with the end of a trial."""
    if evidence.withheld and trial.outcome in {Outcome.OK, Outcome.MISSING}:
        # It was not asked for what it lacks.
        return _ended(trial, Outcome.MISSING, evidence.withheld)
    if trial.outcome is Outcome.HUNG and not evidence.owed and evidence.report["outcome"] == "deadline":
        # It was silent because it had nothing to do: hosts had to be spared.
        return _ended(trial, Outcome.OK, None)
    return trial


def _ended(trial: Trial, outcome: Outcome, reason: str | None) -> Trial:
    return with_validity(replace(trial, outcome=outcome, reason=reason))
