"""A trial that meets every rule of validity, and functions that break one."""

from collections.abc import Sequence
from dataclasses import replace

from httpdyno.judge.validity import RULES, Finding, Rule, findings, with_validity
from httpdyno.model import Counters, CpuTime, LinesSummary, Outcome, Tally, ThroughputPoint, Trial, Validity, figures_of

MS = 1_000_000
S = 1000 * MS
BIN = 200 * MS
ENGINE = CpuTime(0, "engine", 3 * S, 0, 10 * S, 0)
SUBJECT = CpuTime(1, "subject", 6 * S, 0, 10 * S, 0)
COUNTERS = Counters(
    wall_ns=10 * S,
    cpu_user_ns=4 * S,
    cpu_system_ns=2 * S,
    sent_bytes=1000,
    received_bytes=1_000_000,
    engine_cpu_user_ns=S,
    engine_cpu_system_ns=S,
    cpus=(ENGINE, SUBJECT),
    memory_pressure_us=0,
    io_pressure_us=0,
    throttled_ns=0,
    lateness_count=1000,
    lateness_mean_ns=50_000,
    origin_waiting_ns=10 * MS,
    throughput=tuple(ThroughputPoint((number + 1) * BIN, 20) for number in range(50)),
)
HONEST = Trial(
    trial=0,
    block=0,
    position=0,
    experiment="bench",
    condition="",
    subject="x",
    language="X",
    method="x",
    version=None,
    concurrency=10,
    web="plain",
    seed=1,
    link="direct",
    timeout_ns=5 * S,
    keepalive=True,
    check="",
    http_version="",
    urls_given=1000,
    outcome=Outcome.OK,
    tally=Tally(right=1000),
    counters=COUNTERS,
    figures=figures_of(LinesSummary(urls=1000, time_ns=10 * S, exhausted_ns=10 * S, max_ns=100 * MS, p50_ns=10.0 * MS)),
)


def with_counters(**changes: object) -> Trial:
    return replace(HONEST, counters=replace(COUNTERS, **changes))  # type: ignore[arg-type]


def with_summary(trial: Trial, **changes: object) -> Trial:
    assert trial.summary
    return trial.having(replace(trial.summary, **changes))  # type: ignore[arg-type]


def finding(trial: Trial, name: str) -> Finding:
    (found,) = [found for found in findings(trial, RULES) if found.rule.name == name]
    return found


def paced(*answers: int, **summary: object) -> Trial:
    """A trial that lasts as long as these bins."""
    length_ns = len(answers) * BIN
    trial = with_counters(throughput=bins(*answers), wall_ns=length_ns)
    return with_summary(trial, **({"exhausted_ns": length_ns} | summary))


def bins(*answers: int) -> tuple[ThroughputPoint, ...]:
    return tuple(ThroughputPoint((number + 1) * BIN, count) for number, count in enumerate(answers))


def judge_validity(trial: Trial, rules: Sequence[Rule]) -> tuple[Validity | None, str | None]:
    """Return the validity of a trial by these rules, and the reason."""
    judged = with_validity(trial, rules)
    return judged.validity, judged.validity_reason
