"""Executor of trials on this machine, with its builds, CPUs, rooms, and the answers of webs to the lists of a run."""

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import polars as pl

from httpdyno.errors import EngineFailed
from httpdyno.judge import Circumstances, JudgedTrial, trial_not_run
from httpdyno.judge.validity import Rule
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Observer
from httpdyno.lab.planned_time import PlannedTime
from httpdyno.lab.room import Command, Pinning, RoomSpec
from httpdyno.lab.run_room import run_room
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import NotRun, TrialFiles
from httpdyno.lab.web_answers import WebAnswers
from httpdyno.model import Condition, Outcome, Purpose, TrialPlan, UrlSeries, Workload
from httpdyno.subjects.build import Build, BuildOutcome

_TIMES: Final = 300
_ENOUGH_S: Final = 5.0
"""Time after which fewer connects suffice, over a long distance."""
_DEADLINE_S: Final = 20.0
_HERE: Final = "http://wire.example:80"
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
"""Prints the median time of TCP connects, which the peer's kernel answers: a round trip and a system call."""

Execute = Callable[["LocalExecutor", TrialPlan, Build, Command | None], TrialFiles | NotRun]
"""Runs one fresh process of a subject; the command starts the server that is the peer, None: our origin is.

The caller closes the files. Raises ``InvalidValue`` if the subject does not support the request, ``Interrupted`` if the
trial was stopped: its measurements are lost.
"""
JudgeFiles = Callable[[TrialPlan, TrialFiles, Circumstances, Sequence[Rule]], JudgedTrial]
"""Builds the record of a trial from its files, by the rules of validity; starts no program and writes nothing."""


@dataclass(frozen=True, slots=True)
class TrialKind:
    """Execution and judging of the trials of one kind of subject."""

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
    """Build the record of a trial from its files, or from the reason why it has none.

    A trial that measures a ceiling has no samples: its record has the rate, and a million samples would fill the disk.
    """
    circumstances = replace(circumstances or Circumstances(), version=left.version)
    if isinstance(left, NotRun):
        trial = trial_not_run(plan, Outcome.UNAVAILABLE, left.reason, circumstances)
        trial = replace(trial, install_command=left.install_command, install_by_hand=left.install_by_hand)
        return JudgedTrial(trial, pl.DataFrame())
    judged = kind.judge(plan, left, circumstances, rules)
    return replace(judged, samples=judged.samples.clear()) if plan.purpose is Purpose.CEILING else judged


@dataclass(slots=True)
class LocalExecutor:
    """Executes trials in rooms of this machine."""

    engine: Engine
    pinning: Pinning
    interruption: Interruption
    """Polled ten times a second."""
    observer: Observer | None = None
    """Receives the progress, and the output if it wants to."""
    builds: Mapping[str, BuildOutcome] = field(default_factory=dict)
    """Builds of the measured subjects, by id."""
    companions: Mapping[str, BuildOutcome] = field(default_factory=dict)
    """Builds of programs that take part without being measured: peer servers, load generators."""
    urls: ScratchFile | None = None
    """The list for conditions without their own; None if each condition has its own."""
    keep_stopped: bool = False
    """Whether a trial that a signal stops keeps its files; otherwise it raises ``Interrupted``."""
    keep_truth: Callable[[Path], str | None] = lambda _: None
    """Stores the file with the truth of a list, so that trials can be judged again; returns its name."""
    web: WebAnswers = field(init=False)
    _round_trips_ns: dict[str, int | None] = field(default_factory=dict)
    """By link."""

    def __post_init__(self) -> None:
        """Start without answers of any web."""
        self.web = WebAnswers(self.engine, self.interruption, self.keep_truth)

    def execute(self, plan: TrialPlan, kind: TrialKind) -> TrialFiles | NotRun:
        """Execute one trial; if a subject or a peer has no build, return the reason."""
        outcome = self.builds[plan.subject.id]
        if outcome.build is None:
            return NotRun.of(outcome)
        command = None
        if plan.condition.peer is not None:
            peer = self.companions[plan.condition.peer]
            if peer.build is None:
                return NotRun.of(peer, "its peer")
            command = Command.of(peer.build)
        left = kind.execute(self, plan, outcome.build, command)
        left.version = outcome.build.version
        return left

    def run(self, plan: TrialPlan, kind: TrialKind, rules: Sequence[Rule]) -> JudgedTrial:
        """Execute one trial that is not stored, and judge it."""
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
        """Return the time that the web plans for the list; None for the real internet, which has no plan."""
        if condition.live:
            return None
        with self.lines(condition.workload) as lines:
            return self.web.of(condition, lines).planned

    def round_trip_ns(self, condition: Condition) -> int | None:
        """Return the round trip of a packet: the median of some hundred TCP connects; None if they fail.

        It is measured once for each link, because the same CPUs and kernel carry all packets of a run.
        """
        if condition.link_name in self._round_trips_ns:
            return self._round_trips_ns[condition.link_name]
        there = urlsplit(condition.against or _HERE)
        argv = (sys.executable, "-I", "-c", _PROBE, there.hostname or "", str(there.port or 80))
        # The network is the same for every peer, and our origin starts immediately. A remote origin serves its own web.
        wire = replace(
            condition,
            web="plain" if condition.against is None else condition.web,
            workload=Workload(()),
            deadline_s=_DEADLINE_S,
            peer=None,
            batch=None,
            rate_per_s=None,
            memory_bytes=None,
        )
        command = Command(argv, Path("/"), {"PATH": os.environ.get("PATH", os.defpath)})
        spec, measured = RoomSpec(command, wire, self.pinning), None
        with (
            suppress(EngineFailed, ValueError),
            ScratchFile() as nothing,
            run_room(self.engine.path, spec, nothing, self.interruption) as files,
        ):
            measured = int(json.loads(files.stdout.read_text()))
        self._round_trips_ns[condition.link_name] = measured
        return measured

    @contextmanager
    def lines(self, workload: Workload) -> Iterator[ScratchFile]:
        """Return the file with the URLs of a trial."""
        if not isinstance(workload.urls, UrlSeries):
            assert self.urls is not None, "a run has one list for all conditions, or one for each"
            yield self.urls
            return
        with ScratchFile() as file:
            file.write((f"{url}\n".encode() for url in workload.urls), what="preparing the list of URLs")
            yield file
