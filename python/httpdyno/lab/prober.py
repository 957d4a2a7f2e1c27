"""Puts the claims of a subject to the test: those of a client each in a room of its own."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import Final

from httpdyno.errors import UnreadableReport
from httpdyno.judge import JudgedTrial
from httpdyno.judge.harness_line import read_harness_line
from httpdyno.lab.client_trial import run_client_trial
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.lab import Lab
from httpdyno.lab.progress import Progress
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.server_prober import probe_server
from httpdyno.model import Condition, Subject, SubjectKind, TrialPlan
from httpdyno.model.timed_calls import TimedCalls
from httpdyno.subjects.builder import BuildOutcome
from httpdyno.subjects.probe import ProbeCase, ProbeResult, Shown, conclude, probe_cases

__all__ = ["probe_subject"]

_TIMEOUT_S: Final = 20.0
"""For each URL: what a client can do is no matter of how quickly its runtime starts on a busy machine."""
_DEADLINE_S: Final = 90.0


@dataclass(slots=True)
class _Output:
    """Keeps what a client prints."""

    wants_output: bool = True
    printed: bytearray = field(default_factory=bytearray)

    def progress(self, progress: Progress) -> None:
        """Handle no interest."""

    def output(self, piece: bytes) -> None:
        """Keep it."""
        self.printed += piece


def probe_subject(
    engine: Engine,
    subject: Subject,
    build: BuildOutcome,
    pinning: Pinning,
    interruption: Interruption,
    *,
    only: Collection[str] | None = None,
) -> tuple[ProbeResult, ...]:
    """Run the cases of a built client, or of a built server, which needs no room to be looked at.

    All cases are run, or ``only`` those of some claims; the results are in their order.
    """
    if subject.kind is SubjectKind.SERVER:
        assert build.build is not None
        return probe_server(build.build, interruption, only=only)
    results = []
    cases = [case for case in probe_cases(subject) if only is None or case.claim in only]
    for number, case in enumerate(cases):
        with ScratchFile() as urls:
            urls.file.write("".join(f"{url}\n" for url in case.urls).encode())
            urls.file.flush()
            output = _Output()
            lab = Lab(engine, pinning, interruption, output, {subject.id: build}, urls=urls)
            judged = lab.run(_plan(number, subject, case), run_client_trial)
        timed = _timed(output) if case.workload.harness else None
        results.append(conclude(subject, case, Shown(_codes(judged), judged.trial.counters, timed)))
    return tuple(results)


def _plan(number: int, subject: Subject, case: ProbeCase) -> TrialPlan:
    condition = Condition(
        experiment="probe",
        web=case.web,
        workload=replace(case.workload, timeout_s=_TIMEOUT_S),
        # One after the other: what is reused then does not depend on chance.
        concurrency=1,
        deadline_s=_DEADLINE_S,
        name=case.claim,
    )
    return TrialPlan(number, number, 0, subject, condition)


def _codes(judged: JudgedTrial) -> dict[str, str]:
    if judged.samples.is_empty():
        return {}
    printed = judged.samples.select("url", "code").drop_nulls()
    return dict(printed.iter_rows())


def _timed(output: _Output) -> TimedCalls | None:
    try:
        return read_harness_line(output.printed.decode(errors="replace"))
    except UnreadableReport:
        return None
