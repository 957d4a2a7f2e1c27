"""The concurrency that saturates a client's CPUs: from made-up trials with a known cost of an answer."""

from dataclasses import replace

import pytest

from doubles.trials import trial
from httpdyno.experiments.crawl.plan import saturation_after
from httpdyno.judge.validity import RULES, with_validity
from httpdyno.model import Counters, CpuTime, LinesSummary, Outcome, Tally, Trial

S = 10**9


def crawl(
    concurrency: int, *, cpu_ms: float | None = 2.0, share: float = 0.5, foreign: float = 0.0, cpus: int = 1
) -> Trial:
    """Make a trial of 10 s with 0.6 s for a URL, in which the client used a share of each of its CPUs."""
    used = round(share * cpus * 10 * S)
    busy = round((share + foreign) * 10 * S)
    counters = Counters(
        wall_ns=10 * S,
        cpu_user_ns=used,
        cpu_system_ns=0,
        engine_cpu_user_ns=S,
        engine_cpu_system_ns=0,
        cpus=(
            CpuTime(0, "engine", S, 0, 10 * S, 0),
            *(CpuTime(1 + number, "subject", busy, 0, 10 * S, 0) for number in range(cpus)),
        ),
    )
    summary = LinesSummary(
        urls=4096,
        time_ns=10 * S,
        exhausted_ns=10 * S,
        right_per_s=300.0,
        planned_mean_ns=0.6 * S,
        cpu_per_right_ns=None if cpu_ms is None else cpu_ms * 1e6,
    )
    made = trial("a", 0, concurrency=concurrency, urls_given=4096, summary=summary, tally=Tally(right=4096))
    return with_validity(replace(made, counters=counters), RULES)


FAILED = replace(crawl(300), outcome=Outcome.CRASHED, validity=None)


@pytest.mark.parametrize(
    ("seen", "concurrency"),
    [
        ([crawl(50)], 300),  # 500 answers a second have CPU time, each of which takes 0.6 s
        ([crawl(50, cpus=2)], 600),
        ([crawl(50, cpu_ms=0.1)], 1024),
        ([crawl(50, cpu_ms=None)], 50),
        ([FAILED], 300),
        ([crawl(50), crawl(300, share=0.95)], 300),
        ([crawl(50), crawl(300, share=0.75)], 400),
        ([crawl(50), crawl(300, share=0.3)], 600),  # at most twice as many: it had another limit
        ([crawl(50), crawl(900, share=0.75)], 1024),
        ([crawl(50), crawl(300, share=0.5, foreign=0.4)], 300),  # its figures are disturbed
        ([crawl(50), FAILED], 50),
    ],
)
def test_the_first_trial_gives_the_cost_of_an_answer_and_the_second_corrects_it(
    seen: list[Trial], concurrency: int
) -> None:
    assert saturation_after(seen).concurrency == concurrency, saturation_after(seen).why


def test_a_list_bounds_it() -> None:
    assert saturation_after([crawl(50)], highest=200).concurrency == 200
    assert saturation_after([crawl(50), crawl(200)], highest=200).concurrency == 200


def test_the_reason_of_a_saturating_concurrency() -> None:
    first = saturation_after([crawl(50)])
    assert first.why == "500 right answers a second have CPU time, by the cost of an answer at 50"
    assert saturation_after([crawl(50), crawl(300, share=0.75)]).why == "with 300 it used 75 % of its CPU time"
    assert saturation_after([crawl(50), FAILED]).why == "its own; with 300: crashed"
