"""What held a client up: of made-up trials whose counters say it."""

from dataclasses import replace

import pytest

from doubles.trials import trial
from httpdyno.judge.limit import Limit, limited_by
from httpdyno.model import Counters, CpuTime, LinesSummary, Tally, Trial, Validity

S = 10**9
COUNTERS = Counters(
    wall_ns=10 * S,
    cpu_user_ns=3 * S,
    cpu_system_ns=S,
    cpus=(CpuTime(0, "engine", S, 0, 10 * S, 0), CpuTime(1, "subject", 4 * S, 0, 10 * S, 0)),
)


def crawl(*, right_per_s: float | None = 80.0, cpu_user_ns: int = 3 * S, **others: object) -> Trial:
    summary = LinesSummary(
        urls=1000, time_ns=10 * S, exhausted_ns=10 * S, right_per_s=right_per_s, planned_mean_ns=0.6 * S
    )
    made = trial("a", 0, concurrency=50, urls_given=1000, summary=summary, tally=Tally(right=1000))
    return replace(made, counters=replace(COUNTERS, cpu_user_ns=cpu_user_ns), **others)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "limit"),
    [
        (crawl(), Limit.CONCURRENCY),  # 83 a second are all that 50 in flight of 0.6 s each can be
        (crawl(right_per_s=60.0), None),
        (crawl(link="rtt=100ms"), None),
        (crawl(cpu_user_ns=9 * S), Limit.CPU),
        (crawl(right_per_s=60.0, cpu_user_ns=9 * S), Limit.CPU),
        (crawl(validity=Validity.ORIGIN_LIMITED), Limit.ORIGIN),
        (crawl(validity=Validity.LINK_LIMITED), Limit.LINK),
        (crawl(right_per_s=60.0, ceiling_per_s=65.0), Limit.WEB),
        (crawl(right_per_s=60.0, ceiling_per_s=400.0), None),
        (crawl(right_per_s=None), None),
    ],
)
def test_what_held_a_client_up(of: Trial, limit: Limit | None) -> None:
    assert limited_by(of) is limit
