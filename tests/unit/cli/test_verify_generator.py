"""`verify-generator`: its exit codes and its table, with results that are made up."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import pytest

from doubles.command_line import Command
from httpdyno.experiments.verify_generator.run import Bench, Step, Verified, divide_cpus
from httpdyno.judge.generator import distribution_of, judge_report
from httpdyno.model import ToolLatency, ToolReport
from httpdyno.subjects.engine_program import find_engine

MS = 1_000_000
TRUTH = distribution_of([100 * MS] * 20)
Claims = Mapping[str, int | None]


def judged(step: Step, claims: Claims) -> Verified:
    claim_ms = claims[step.generator.name]
    if claim_ms is None:
        return Verified(step, reason="other work had the CPU", disturbed=True)
    latency = ToolLatency(percentiles_ns={50.0: claim_ms * MS})
    report = ToolReport(requests=20, duration_ns=1, latency=latency)
    return Verified(step, judge_report(report, TRUTH, connections=1))


@pytest.fixture
def claim(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Set the p50, in milliseconds, that each generator reports for an answer that takes 100: None is not judged."""

    def bench(cpus: str | None, duration_s: float, interruption: object) -> Bench:
        generator, server = divide_cpus(cpus, {0, 1})
        return Bench(find_engine(), server, generator, duration_s, 0, interruption)  # type: ignore[arg-type]

    def make(**claims: int | None) -> None:
        def verify(planned: Sequence[Step], _: Bench, tell: Callable[[Step], None]) -> Iterator[Verified]:
            for step in planned:
                tell(step)
                yield judged(step, claims)

        monkeypatch.setattr("httpdyno.experiments.verify_generator.run.verify", verify)
        monkeypatch.setattr("httpdyno.experiments.verify_generator.run.make_bench", bench)

    return make


@pytest.mark.parametrize(
    ("options", "claims", "code"),
    [
        ([], {"httpdyno": 100}, 0),
        ([], {"httpdyno": 1}, 1),
        ([], {"httpdyno": None}, 3),
        (["--tool", "wrk"], {"wrk": 100}, 0),
        (["--tool", "wrk"], {"wrk": 1}, 1),
        (["--tool", "wrk", "--tool", "httpdyno"], {"wrk": 100, "httpdyno": 1}, 1),
        (["--tool", "wrk", "--tool", "httpdyno"], {"wrk": None, "httpdyno": 100}, 0),
    ],
)
def test_the_exit_code_is_that_of_the_named_generators(
    options: list[str],
    claims: dict[str, int | None],
    code: int,
    httpdyno: Command,
    claim: Callable[..., None],
) -> None:
    claim(**claims)
    ended = httpdyno("verify-generator", "--case", "law", "--format", "json", *options)
    if "wrk" in claims and ended.code == 3 and "wrk" in ended.err and not ended.out:
        pytest.skip("wrk is not installed; apt-get install wrk")
    assert ended.code == code, ended.err
    assert {row["method"] for row in ended.rows} == set(claims)


def test_each_run_is_on_stderr_and_in_the_table(httpdyno: Command, claim: Callable[..., None]) -> None:
    claim(httpdyno=1)
    ended = httpdyno("verify-generator", "--case", "law", "--format", "plain")
    assert ended.err.splitlines() == [
        "httpdyno: law, httpdyno, open loop (1 of 2): p50 100x too low",
        "httpdyno: law, httpdyno, closed loop (2 of 2): p50 100x too low",
    ]
    assert "law   httpdyno  open" in ended.out
    assert ended.out.count("p50 100x too low") == 2
