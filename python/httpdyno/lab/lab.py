"""Where trials are run: the engine, the CPUs, who takes part, and what the web answers to the lists of a run."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import polars as pl

from httpdyno.judge import JudgedTrial, trial_not_run
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer
from httpdyno.lab.peer import peer_command, without_peer
from httpdyno.lab.planned_time import PlannedTime
from httpdyno.lab.room import Command, Pinning, RoomSpec
from httpdyno.lab.run_room import RoomOutput, run_room
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.web_answers import WebAnswers
from httpdyno.lab.wire import Wire
from httpdyno.model import Condition, Outcome, TrialPlan, UrlSeries, Workload
from httpdyno.storage import storage_errors
from httpdyno.subjects.build import Build, BuildOutcome

__all__ = ["Lab", "RunTrial"]


class RunTrial(Protocol):
    """Runs one trial of a subject of some kind, and judges it."""

    def __call__(self, lab: "Lab", plan: TrialPlan, build: Build, peer: Command | None) -> JudgedTrial:
        """Run one fresh process of a subject; ``peer`` is the server that plays the peer, None: our origin does.

        Raises ``InvalidValue`` if the subject cannot do what is asked, ``Interrupted`` if it was stopped half-way: what
        it measured is lost.
        """


@dataclass(slots=True)
class Lab:
    """Where trials are run, and who looks on; must be used in the main thread (``run_room`` says why)."""

    engine: Engine
    pinning: Pinning
    interruption: Interruption
    """Looked at ten times a second."""
    observer: Observer | None = None
    """Sees the progress, and the output if it wants to."""
    builds: Mapping[str, BuildOutcome] = field(default_factory=dict)
    """What became of the builds of those that are measured, by their ids."""
    companions: Mapping[str, BuildOutcome] = field(default_factory=dict)
    """Of those that take part and are not measured: servers that play the peer, generators of somebody else."""
    urls: ScratchFile | None = None
    """The list that subjects are given in conditions that have none of their own; None: each has."""
    keep_stopped: bool = False
    """Whether a trial that somebody stops is judged as far as it came, and not lost."""
    web: WebAnswers = field(init=False)
    wire: Wire = field(init=False)

    def __post_init__(self) -> None:
        """Begin to know nothing of any web."""
        self.web = WebAnswers(self.engine, self.interruption)
        self.wire = Wire(self.engine, self.pinning, self.interruption)

    def run(self, plan: TrialPlan, run_trial: RunTrial) -> JudgedTrial:
        """Run one trial and judge it; a subject or a peer without a build gives a trial that says why."""
        outcome = self.builds[plan.subject.id]
        if outcome.build is None:
            reason = outcome.error.line if outcome.error else "it was not built"
            return JudgedTrial(trial_not_run(plan, Outcome.UNAVAILABLE, reason), pl.DataFrame())
        peer = None if plan.condition.peer is None else self.companions[plan.condition.peer]
        if peer is not None and peer.build is None:
            return without_peer(plan, peer)
        return run_trial(self, plan, outcome.build, peer_command(peer.build) if peer and peer.build else None)

    def room(self, spec: RoomSpec, lines: ScratchFile, *, answers_lines: bool = False) -> RoomOutput:
        """Run one fresh process of a subject in a fresh room, as ``run_room`` does."""
        return run_room(
            *(self.engine.path, spec, lines, self.interruption, self.observer),
            answers_lines=answers_lines,
            keep_stopped=self.keep_stopped,
        )

    def planned_time(self, condition: Condition) -> PlannedTime | None:
        """Return how long the web plans to take for the list; None of the real internet, which plans nothing."""
        if condition.live:
            return None
        with self.lines(condition.workload) as lines:
            return self.web.of(condition, lines).planned

    @contextmanager
    def lines(self, workload: Workload) -> Iterator[ScratchFile]:
        """Return the file with the URLs of a trial."""
        if not isinstance(workload.urls, UrlSeries):
            assert self.urls is not None, "who has no list for all conditions has one for each"
            yield self.urls
            return
        with ScratchFile() as file:
            with storage_errors("preparing the list of URLs: cannot write"):
                file.file.writelines(f"{url}\n".encode() for url in workload.urls)
                file.file.flush()
            yield file
