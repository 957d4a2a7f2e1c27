"""A trial of a server from its files: its outcome with the evidence, its figures, its validity."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from httpdyno.errors import EngineFailed
from httpdyno.experiments.service.figures import ServiceSummary
from httpdyno.experiments.service.judge import SERVICE_RULES, judge_service
from httpdyno.experiments.service.outcome import ServerArtifacts
from httpdyno.experiments.service.plan import Service
from httpdyno.judge import Circumstances
from httpdyno.model import Outcome, Subject, SubjectKind, Trial, TrialPlan, Validity

S, MS, MIB = 10**9, 10**6, 1 << 20
T = 1729512000 * S  # 2024-10-21T12:00:00Z
BEGAN = 3 * S
"""When the load begins, since the server's exec."""
REPORTS = Path(__file__).parents[3] / "fixtures" / "tool-reports"
SERVER = Subject("rust-axum", SubjectKind.SERVER, "Rust", "axum", Path(), ("x",))
REWRK = Service(generator="rewrk")
RIGHT = {"check": "plain", "passed": True, "answered": True, "evidence": "200"}


def plan(connections: int = 20, service: Service | None = None) -> TrialPlan:
    experiment = replace(service or Service(), connections=str(connections))
    return TrialPlan(0, 0, 0, SERVER, experiment.conditions()[0])


def room(outcome: str = "ok", **changes: Any) -> dict[str, Any]:
    """The engine's report of a server that costs 1 ms of CPU for each answer, and 1 MiB for each connection."""
    server = {
        "ready_ns": 400 * MS,
        "state": "served",
        "descriptors": [[number * S // 2, 9 if number < 6 else 29] for number in range(60)],
        "descriptor_limit": 20_000,
        "most_descriptors_of_one_process": 29,
    }
    memory = [[number * S // 2, (30 if number < 7 else 50) * MIB] for number in range(60)]
    cpu = [[number * S // 10, max(0, number * S // 10 - BEGAN) // 100, 0] for number in range(300)]
    subject = {
        "exit_code": 0,
        "signal": None,
        "started_at_ns": T,
        "wall_ns": 25 * S,
        "memory": memory,
        "cpu": cpu,
        "cpu_user_ns": 230 * MS,
        "cpu_system_ns": 0,
    }
    report = {"version": 1, "outcome": outcome, "server": server, "subject": subject, "driver": {"exit_code": 0}}
    return report | changes


def drive(**changes: Any) -> dict[str, Any]:
    generator = {
        "exit_code": 0,
        "signal": None,
        "started_at_ns": T + BEGAN,
        "wall_ns": 15 * S,
        "cpu_user_ns": S,
        "cpu_system_ns": 0,
    }
    during = {"asked": 40, "right": 40, "wrong": 0, "failed": 0, "evidence": []}
    return {"version": 1, "before": [RIGHT], "during": during, "after": [RIGHT], "generator": generator} | changes


def load(**checks: int) -> dict[str, Any]:
    started = datetime.fromtimestamp((T + BEGAN) / S, UTC).isoformat()
    return {
        "started": started,
        "checks": {"right": 100, **checks},
        "send_lag": None,
        "threads": [{"busy_share": 0.1}, {"busy_share": 0.3}],
    }


def samples(took_ms: int = 2004, connections: int = 20, *, until_s: int = 15) -> pl.DataFrame:
    rows = []
    for connection in range(connections):
        begin = 2 * S * connection // connections
        while begin + took_ms * MS <= until_s * S:
            rows.append((begin, begin + took_ms * MS, "200", connection))
            begin += took_ms * MS
    names = {"intended_ns": pl.Int64, "end_ns": pl.Int64, "status_or_error": pl.String, "connection": pl.Int64}
    return pl.DataFrame(rows, schema=names, orient="row")


HONEST = ServerArtifacts(room(), drive(), load(), samples())


def judged(remains: ServerArtifacts = HONEST, planned: TrialPlan | None = None, parser: str | None = None) -> Trial:
    return judge_service(planned or plan(), remains, Circumstances("1.0"), parser=parser, rules=SERVICE_RULES).trial


def test_an_honest_server_has_figures() -> None:
    trial = judged()
    service = trial.get(ServiceSummary)
    assert (trial.outcome, trial.reason, trial.version) == (Outcome.OK, None, "1.0")
    assert service is not None
    assert service.overhead_p50_ns == service.overhead_p99_ns == 4 * MS
    assert service.p999_ns is None
    assert service.per_s == pytest.approx(10, rel=0.02)
    assert service.open_mean == pytest.approx(20)
    assert (service.held, service.why_not, service.at_least) == (True, None, False)
    assert service.cpu_per_request_ns == pytest.approx(1 * MS, rel=0.02)
    assert (service.memory_idle_bytes, service.memory_loaded_bytes) == (30 * MIB, 50 * MIB)
    assert service.memory_per_open_bytes == pytest.approx(1 * MIB)
    assert (service.descriptors_peak, service.descriptor_limit, service.ready_ns) == (29, 20_000, 400 * MS)
    assert service.generator_busy_share is None
    assert (service.generator_cpu_ns, service.generator_wall_ns) == (S, 15 * S)
    assert trial.tally is not None
    assert (trial.tally.right, trial.tally.wrong) == (100, 0)


@pytest.mark.parametrize("early_ms", [4, 10])
def test_early_answers_are_no_advantage(early_ms: int) -> None:
    service = judged(replace(HONEST, samples=samples(2000 - early_ms))).get(ServiceSummary)
    assert service is not None
    assert service.p99_ns == (2000 - early_ms) * MS
    assert service.overhead_p50_ns == service.overhead_p99_ns == early_ms * MS
    assert (service.early_by_ns, service.early) == (early_ms * MS, service.answers)
    honest = judged().get(ServiceSummary)
    assert honest is not None
    assert (honest.early, honest.early_by_ns) == (0, None)


def test_what_does_not_wait_has_no_ideal_to_hold() -> None:
    quick = replace(HONEST, samples=samples(5, until_s=4))
    planned = plan(service=Service(endpoint="plain"))
    trial = judge_service(
        replace(planned, condition=replace(planned.condition, send_s=4.0)), quick, parser=None, rules=SERVICE_RULES
    ).trial
    assert trial.outcome is Outcome.OK
    assert trial.get(ServiceSummary) is not None
    assert (trial[ServiceSummary].held, trial[ServiceSummary].why_not) == (None, None)
    assert trial[ServiceSummary].overhead_p99_ns == trial[ServiceSummary].p99_ns == 5 * MS


def test_a_slow_server_is_not_held_and_is_no_failure() -> None:
    trial = judged(replace(HONEST, samples=samples(2300)))
    assert trial.outcome is Outcome.OK
    assert trial.get(ServiceSummary) is not None
    assert (trial[ServiceSummary].held, trial[ServiceSummary].why_not) == (
        False,
        "p99 is 2.3 s, 1.15 times the ideal of 2 s",
    )


def test_a_saturated_server_has_at_least_what_it_was_seen_to_have() -> None:
    early = samples(2000, 200).filter(pl.col("connection") % 10 == 0)
    trial = judged(replace(HONEST, samples=early), plan(200))
    assert trial.get(ServiceSummary) is not None
    assert trial.outcome is Outcome.OK
    assert trial[ServiceSummary].held is False
    assert trial[ServiceSummary].at_least is True
    assert "p99 is at least" in str(trial[ServiceSummary].why_not)


def test_a_server_of_which_some_requests_fail_is_not_held() -> None:
    failing = samples().with_columns(
        status_or_error=pl.when(pl.int_range(pl.len()) % 10 == 0).then(pl.lit("503")).otherwise(pl.lit("200"))
    )
    trial = judged(replace(HONEST, samples=failing))
    assert trial.get(ServiceSummary) is not None
    assert trial[ServiceSummary].held is False
    failures = trial[ServiceSummary].failures
    assert failures == f"{trial[ServiceSummary].errors} x 503"
    assert trial[ServiceSummary].why_not == f"10.0 % of the requests failed: {failures}"
    assert trial[ServiceSummary].overhead_p99_ns is None


NEVER = {"server": {"ready_ns": None}, "driver": None}
LEAKING = [[number * S // 2, 9 + number * 10] for number in range(60)]
EMFILE = "OSError: [Errno 24] Too many open files\n"


@pytest.mark.parametrize(
    ("remains", "outcome", "reason"),
    [
        (
            ServerArtifacts(room("never_listened", reason="accepted no connection in 30 s", **NEVER), None, None, None),
            Outcome.NEVER_LISTENED,
            "accepted no connection in 30 s",
        ),
        (
            ServerArtifacts(
                room("died", **NEVER, subject={"exit_code": 1}), None, None, None, stderr="Traceback\nPort is taken\n"
            ),
            Outcome.NEVER_LISTENED,
            "ended before it listened: ended with 1: Traceback / Port is taken",
        ),
        (
            ServerArtifacts(
                room("died", **NEVER, subject={"exit_code": 127}), None, None, None, stderr="THREADS: one\n"
            ),
            Outcome.UNAVAILABLE,
            "cannot honour a setting: THREADS: one",
        ),
        (
            replace(HONEST, report=room("died", subject={"signal": 9, "started_at_ns": T}), stderr="panic\n"),
            Outcome.DIED,
            "killed by SIGKILL: panic",
        ),
        (
            replace(
                HONEST,
                report=room("died", subject={"exit_code": 3, "started_at_ns": T}),
                drive=None,
                load=None,
                samples=None,
            ),
            Outcome.DIED,
            "ended with 3, before the load",
        ),
        (
            replace(
                HONEST, drive=drive(before=[RIGHT, {"check": "json", "passed": False, "evidence": "numbers is 7"}])
            ),
            Outcome.WRONG_ANSWERS,
            "before the load: json: numbers is 7",
        ),
        (
            replace(
                HONEST, drive=drive(before=[{"check": "json", "passed": False, "answered": False, "evidence": "6 s"}])
            ),
            Outcome.HUNG,
            "before the load: no answer to json: 6 s",
        ),
        (
            replace(
                HONEST, drive=drive(during={"asked": 40, "right": 37, "wrong": 3, "evidence": ["/json: cut short"]})
            ),
            Outcome.WRONG_ANSWERS,
            "under load 3 of 40 answers were wrong: /json: cut short",
        ),
        (
            replace(HONEST, load=load(wrong_json=5)),
            Outcome.WRONG_ANSWERS,
            "under load 5 of 105 answers had the wrong content",
        ),
        (
            replace(HONEST, report=room(server={"ready_ns": 1, "descriptors": LEAKING, "descriptor_limit": 20_000})),
            Outcome.LEAKED,
            "descriptors grew from 149 to 369 in 11.0 s, while at most 20 connections were open",
        ),
        (
            replace(
                HONEST,
                report=room(
                    "died",
                    server={"ready_ns": 1, "descriptors": LEAKING, "descriptor_limit": 600},
                    subject={"exit_code": 1},
                ),
                load=None,
                stderr=EMFILE,
            ),
            Outcome.LEAKED,
            "used up its descriptors, 599 of 600, with at most 20 connections; reports too many open files",
        ),
        (
            replace(HONEST, samples=samples(until_s=7)),
            Outcome.DIED,
            "answered nothing in the last 8.09 s of the load, although requests were open",
        ),
        (replace(HONEST, report=room("deadline")), Outcome.HUNG, "did not end before the deadline"),
        (replace(HONEST, report=room("interrupted", reason="a signal")), Outcome.INTERRUPTED, "a signal"),
        (
            replace(HONEST, report=room("failed_to_start", reason="x: not found")),
            Outcome.CRASHED,
            "could not be started: x: not found",
        ),
    ],
)
def test_what_became_of_a_server_is_named_with_its_evidence(
    remains: ServerArtifacts, outcome: Outcome, reason: str
) -> None:
    trial = judged(remains)
    assert (trial.outcome, trial.reason) == (outcome, reason)


@pytest.mark.parametrize(
    ("remains", "reason"),
    [
        (replace(HONEST, drive=None, said="no memory\n"), "the drive left no report: ended with 0: no memory"),
        (
            replace(HONEST, drive=drive(generator={"exit_code": 2, "started_at_ns": T}), said="usage\n"),
            "the generator ended with 2: usage",
        ),
    ],
)
def test_a_generator_that_fails_is_no_fault_of_the_servers(remains: ServerArtifacts, reason: str) -> None:
    trial = judged(remains)
    assert (trial.outcome, trial.reason, trial.validity) == (Outcome.REFUSED, reason, Validity.GENERATOR_LIMITED)


def test_the_figures_of_another_generator_are_what_it_claims() -> None:
    text = (REPORTS / "rewrk-table-slow.txt").read_text(encoding="utf-8")
    trial = judged(ServerArtifacts(room(), drive(), None, None, text=text), plan(service=REWRK), "rewrk")
    service = trial.get(ServiceSummary)
    assert trial.outcome is Outcome.OK
    assert service is not None
    assert (service.slowest_5_ns, service.per_s, service.claimed_answers) == (1506310000, 5.0, 20)
    # It prints means, and calls them percentiles.
    assert (service.p99_ns, service.overhead_p99_ns, service.held) == (None, None, None)
    assert service.open_mean == pytest.approx(5 * 1.50377)


def test_a_report_of_a_generator_that_cannot_be_read_is_its_own_fault() -> None:
    trial = judged(ServerArtifacts(room(), drive(), None, None, text="Bus error"), plan(service=REWRK), "rewrk")
    assert trial.outcome is Outcome.REFUSED
    assert "the report of rewrk cannot be read" in str(trial.reason)


def test_an_open_loop_counts_what_never_came_back() -> None:
    every = pl.DataFrame(
        [(number * 100 * MS, number * 100 * MS + 2010 * MS, "200", 0) for number in range(0, 100, 2)],
        schema={"intended_ns": pl.Int64, "end_ns": pl.Int64, "status_or_error": pl.String, "connection": pl.Int64},
        orient="row",
    )
    trial = judged(replace(HONEST, samples=every), plan(service=Service(loop="open")))
    assert trial.get(ServiceSummary) is not None
    assert trial[ServiceSummary].generator_busy_share == 0.3
    # Those of the stretch, and ten that outlasted it.
    assert trial[ServiceSummary].still_open == 50
    assert trial[ServiceSummary].held is False
    assert trial[ServiceSummary].at_least is True


def test_a_moment_that_cannot_be_read_is_the_engines_fault() -> None:
    with pytest.raises(EngineFailed, match="the report load.started cannot be read"):
        judged(replace(HONEST, load={**load(), "started": "noon"}))
