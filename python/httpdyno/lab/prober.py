"""Puts the claims of a client to the test, each in a room of its own."""

from httpdyno.judge import JudgedTrial
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import RoomExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Machine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, Subject, TrialPlan
from httpdyno.subjects.builder import BuildOutcome
from httpdyno.subjects.probe import PROBE_WEB, ProbeCase, ProbeResult, conclude, probe_cases

__all__ = ["probe_subject"]

_DEADLINE_S = 30.0


def probe_subject(
    engine: Engine, subject: Subject, build: BuildOutcome, machine: Machine, interruption: Interruption
) -> tuple[ProbeResult, ...]:
    """Run every case of a built client.

    Raises
    ------
    Interrupted
        If it was stopped.
    EngineFailed
        If the engine refuses or fails.
    """
    results = []
    for number, case in enumerate(probe_cases(subject)):
        with ScratchFile() as urls:
            urls.file.write("".join(f"{url}\n" for url in case.urls).encode())
            urls.file.flush()
            executor = RoomExecutor(engine, {subject.id: build}, urls, machine, interruption)
            judged = executor.run(_plan(number, subject, case))
        results.append(conclude(subject, case, _codes(judged), judged.trial.counters))
    return tuple(results)


def _plan(number: int, subject: Subject, case: ProbeCase) -> TrialPlan:
    condition = Condition(
        experiment="probe",
        web=PROBE_WEB,
        workload=case.workload,
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
