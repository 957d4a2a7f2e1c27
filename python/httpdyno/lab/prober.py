"""Puts the claims of a subject to the test: those of a client each in a room of its own."""

from collections.abc import Collection
from dataclasses import replace
from typing import Final

import polars as pl

from httpdyno.errors import UnreadableReport
from httpdyno.judge import JudgedTrial
from httpdyno.judge.lines import read_harness_line
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import LocalExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.kept_output import KeptOutput
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.server_prober import probe_server
from httpdyno.model import Condition, Counters, Subject, SubjectKind, TrialPlan
from httpdyno.model.timed_calls import TimedCalls
from httpdyno.subjects.build import BuildOutcome
from httpdyno.subjects.probe import ProbeCase, ProbeResult, Shown, conclude, probe_cases

__all__ = ["probe_subject"]

_TIMEOUT_S: Final = 20.0
"""For each URL: what a client can do is no matter of how quickly its runtime starts on a busy machine."""
_DEADLINE_S: Final = 30.0
"""For each case, of a few URLs that are answered at once."""
_NAMED: Final = 3
_NOT_TRIED: Final = Shown({}, Counters(), unanswered="not tried, for it did not answer before")


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

    All cases are run, or ``only`` those of some claims; the results are in their order. Once a client does not answer,
    no more of it is asked: a whole list of cases would be waited for in vain.
    """
    if subject.kind is SubjectKind.SERVER:
        assert build.build is not None
        return probe_server(build.build, interruption, only=only)
    results: dict[str, ProbeResult] = {}
    cases = [case for case in probe_cases(subject) if only is None or case.claim in only]
    shown: Shown | None = None
    # Claims come first: a client that waits for ever in what it does not claim has shown them by then.
    for number, case in enumerate(sorted(cases, key=lambda case: not case.claimed)):
        if shown and shown.unanswered:
            results[case.claim] = conclude(subject, case, _NOT_TRIED)
            continue
        with ScratchFile() as urls:
            urls.file.write("".join(f"{url}\n" for url in case.urls).encode())
            urls.file.flush()
            output = KeptOutput()
            executor = LocalExecutor(engine, pinning, interruption, output, {subject.id: build}, urls=urls)
            judged = executor.run(_plan(number, subject, case), CRAWL)
        timed = _timed(output) if case.workload.harness else None
        shown = Shown(_codes(judged), judged.trial.counters, timed, _unanswered(judged))
        results[case.claim] = conclude(subject, case, shown)
    return tuple(results[case.claim] for case in cases)


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


def _unanswered(judged: JudgedTrial) -> str:
    """Name the URLs that the deadline left without a line."""
    if judged.samples.is_empty():
        return ""
    urls = judged.samples.filter(pl.col("line").is_null())["url"].to_list()
    if not urls:
        return ""
    more = f" and {len(urls) - _NAMED} more" if len(urls) > _NAMED else ""
    return f"no answer to {', '.join(urls[:_NAMED])}{more} within {_DEADLINE_S:.0f} s"


def _timed(output: KeptOutput) -> TimedCalls | None:
    try:
        return read_harness_line(output.text)
    except UnreadableReport:
        return None
