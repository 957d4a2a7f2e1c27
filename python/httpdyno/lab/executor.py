"""Executes trials on this machine: builds, CPUs, rooms, and what the web answers to the lists of a run."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Protocol
from urllib.parse import urlsplit

import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.judge import Circumstances, JudgedTrial, trial_not_run
from httpdyno.judge.validity import RULES, Rule
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer
from httpdyno.lab.peer import peer_command
from httpdyno.lab.planned_time import PlannedTime
from httpdyno.lab.room import Command, Pinning, RoomSpec, Web
from httpdyno.lab.run_room import run_room
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import NotRun, TrialFiles
from httpdyno.lab.web_answers import WebAnswers
from httpdyno.model import Condition, Outcome, TrialPlan, UrlSeries, Workload
from httpdyno.storage import storage_errors
from httpdyno.subjects.build import Build, BuildOutcome

_TIMES: Final = 300
_ENOUGH_S: Final = 5.0
"""Over a long way fewer will do."""
_DEADLINE_S: Final = 20.0
_HTTP_PORT: Final = 80
_HERE: Final = "http://wire.example"
_PROBE: Final = f"""
import json, socket, sys, time
times, enough = [], time.monotonic() + {_ENOUGH_S}
family, kind, _, _, address = min(socket.getaddrinfo(sys.argv[1], int(sys.argv[2]), type=socket.SOCK_STREAM))
while len(times) < {_TIMES} and time.monotonic() < enough:
    one = socket.socket(family, kind)
    begin = time.perf_counter_ns()
    one.connect(address)
    times.append(time.perf_counter_ns() - begin)
    one.close()
print(json.dumps(sorted(times)[len(times) // 2]))
"""
"""Connects: the peer's kernel answers that by itself, so that it takes the wire's round trip and a system call."""


@dataclass(slots=True)
class Wire:
    """Round trip of a packet, measured once for each link: the same CPUs and kernel carry all packets of a run."""

    engine: Engine
    pinning: Pinning
    interruption: Interruption
    _known: dict[str, int | None] = field(default_factory=dict)

    def round_trip_ns(self, condition: Condition) -> int | None:
        """Return the median of some hundred TCP connects in such a room; None where they cannot be made."""
        if condition.link_name not in self._known:
            self._known[condition.link_name] = self._measured(condition)
        return self._known[condition.link_name]

    def _measured(self, condition: Condition) -> int | None:
        # The network is the same for every peer, and our origin starts at once. A remote origin serves its own web.
        web = Web("plain" if condition.against is None else condition.web, condition.seed, condition.against)
        path = os.environ.get("PATH", os.defpath)
        there = urlsplit(condition.against or _HERE)
        argv = (sys.executable, "-I", "-c", _PROBE, there.hostname or "", str(there.port or _HTTP_PORT))
        spec = RoomSpec(
            Command(argv, Path("/"), {"PATH": path}),
            web,
            deadline_s=_DEADLINE_S,
            link=condition.link,
            link_seed=condition.link_seed,
            pinning=self.pinning,
            receive_steering=condition.receive_steering,
        )
        try:
            with (
                ScratchFile() as nothing,
                run_room(self.engine.path, spec, nothing, self.interruption) as left,
            ):
                return int(json.loads(left.stdout.read_text()))
        except (EngineFailed, ValueError):
            return None


class Execute(Protocol):
    """Executes one trial of a subject of some kind."""

    def __call__(
        self, executor: "LocalExecutor", plan: TrialPlan, build: Build, peer: Command | None
    ) -> TrialFiles | NotRun:
        """Run one fresh process of a subject; ``peer`` starts the server that plays the peer, None: our origin does.

        The caller closes the files. Raises ``InvalidValue`` if the subject cannot do what is asked, ``Interrupted`` if
        it was stopped half-way: what it measured is lost.
        """


class JudgeFiles(Protocol):
    """Makes the record of a trial from the files that it left."""

    def __call__(
        self, plan: TrialPlan, files: TrialFiles, circumstances: Circumstances, *, rules: Sequence[Rule]
    ) -> JudgedTrial:
        """Judge one trial; nothing is started, and nothing is written."""


@dataclass(frozen=True, slots=True)
class TrialKind:
    """How the trials of one kind of subject are executed and judged."""

    execute: Execute
    judge: JudgeFiles


def judge_trial(
    plan: TrialPlan,
    left: TrialFiles | NotRun,
    kind: TrialKind,
    circumstances: Circumstances | None = None,
    *,
    rules: Sequence[Rule],
) -> JudgedTrial:
    """Make the record of a trial from the files that it left, or from the reason why it left none."""
    circumstances = replace(circumstances or Circumstances(), version=left.version)
    if isinstance(left, NotRun):
        trial = trial_not_run(plan, Outcome.UNAVAILABLE, left.reason, circumstances)
        return JudgedTrial(trial, pl.DataFrame())
    return kind.judge(plan, left, circumstances, rules=rules)


@dataclass(slots=True)
class LocalExecutor:
    """Executes trials in rooms of this machine; must be used in the main thread (``run_room`` says why)."""

    engine: Engine
    pinning: Pinning
    interruption: Interruption
    """Looked at ten times a second."""
    observer: Observer | None = None
    """Sees the progress, and the output if it wants to."""
    builds: Mapping[str, BuildOutcome] = field(default_factory=dict)
    """Builds of the subjects that are measured, by their ids."""
    companions: Mapping[str, BuildOutcome] = field(default_factory=dict)
    """Builds of programs that take part without being measured: servers that play the peer, load generators."""
    urls: ScratchFile | None = None
    """The list for conditions that have none of their own; None if each has one."""
    keep_stopped: bool = False
    """Whether a trial that a signal stops leaves its files; otherwise it raises ``Interrupted``."""
    keep_truth: Callable[[Path], str | None] = lambda _: None
    """Keeps the file with the truth of a list, for judging again; returns its name."""
    web: WebAnswers = field(init=False)
    wire: Wire = field(init=False)

    def __post_init__(self) -> None:
        """Begin to know nothing of any web."""
        self.web = WebAnswers(self.engine, self.interruption, self.keep_truth)
        self.wire = Wire(self.engine, self.pinning, self.interruption)

    def execute(self, plan: TrialPlan, kind: TrialKind) -> TrialFiles | NotRun:
        """Execute one trial; a subject or a peer without a build gives the reason why there is none."""
        outcome = self.builds[plan.subject.id]
        if outcome.build is None:
            return NotRun(outcome.error.line if outcome.error else "it was not built")
        peer = None if plan.condition.peer is None else self.companions[plan.condition.peer]
        if peer is not None and peer.build is None:
            reason = peer.error.line if peer.error else f"{peer.subject.id}: it was not built"
            return NotRun(f"its peer: {reason}")
        return kind.execute(self, plan, outcome.build, peer_command(peer.build) if peer and peer.build else None)

    def run(self, plan: TrialPlan, kind: TrialKind, *, rules: Sequence[Rule] = RULES) -> JudgedTrial:
        """Execute one trial that no run keeps, and judge it."""
        left = self.execute(plan, kind)
        with nullcontext() if isinstance(left, NotRun) else left:
            return judge_trial(plan, left, kind, rules=rules)

    def room(self, spec: RoomSpec, lines: ScratchFile, *, answers_lines: bool = False) -> TrialFiles:
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
