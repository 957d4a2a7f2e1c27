"""Causes of timeouts, limits of trials and the ceiling of a web, from made-up counters."""

from dataclasses import replace

import polars as pl
import pytest

from doubles.trials import trial
from httpdyno.judge import Ceiling, ceiling_notes, ceiling_of, with_validity
from httpdyno.judge.limit import Limit, is_saturated, limited_by
from httpdyno.judge.validity import RULES, findings
from httpdyno.judge.verdict import TIMED_OUT_SATURATED, name_timeouts
from httpdyno.model import (
    CeilingLimit,
    Counters,
    CpuTime,
    LinesSummary,
    Outcome,
    Purpose,
    Tally,
    ThroughputPoint,
    Trial,
    Validity,
    Verdict,
)

SECOND = 1_000_000_000


def counters(cpu_s: float, *, subject_cpus: int = 1) -> Counters:
    cpus = [CpuTime(0, "engine", 0, 0, 0), *(CpuTime(1 + n, "subject", 0, 0, 0) for n in range(subject_cpus))]
    return Counters(started_at_ns=100 * SECOND, cpu_user_ns=int(cpu_s * SECOND), cpu_system_ns=0, cpus=tuple(cpus))


@pytest.mark.parametrize(
    ("cpu_s", "subject_cpus", "saturated"),
    [(8.6, 1, True), (8.4, 1, False), (8.6, 2, False), (17.2, 2, True), (0.0, 1, False)],
)
def test_saturation_is_a_share_of_the_cpus_while_the_list_lasts(
    cpu_s: float, subject_cpus: int, *, saturated: bool
) -> None:
    starts = pl.Series([*(100 * SECOND + n for n in range(199)), None, 110 * SECOND])
    assert is_saturated(starts, counters(cpu_s, subject_cpus=subject_cpus), concurrency=1) is saturated


def test_what_was_spent_after_the_last_start_does_not_count() -> None:
    starts = pl.Series([100 * SECOND, 100 * SECOND, 101 * SECOND])
    assert is_saturated(starts, counters(2.7), concurrency=2)
    assert not is_saturated(starts, counters(2.4), concurrency=2)
    assert not is_saturated(starts, counters(99.0), concurrency=3)


def test_nothing_is_said_without_starts_or_counts() -> None:
    assert not is_saturated(pl.Series([], dtype=pl.Int64), counters(9.0), concurrency=1)
    assert not is_saturated(pl.Series([105 * SECOND, 110 * SECOND]), Counters(), concurrency=1)


def test_only_false_errors_at_the_timeout_are_named() -> None:
    samples = pl.DataFrame(
        {
            "verdict": [Verdict.FALSE_ERROR.value, Verdict.FALSE_ERROR.value, Verdict.WRONG_LENGTH.value, "right"],
            "duration_ns": [5 * SECOND, 2 * SECOND, 5 * SECOND, 5 * SECOND],
            "cause": [None, None, None, "stall_tls"],
        }
    )
    causes = name_timeouts(samples, TIMED_OUT_SATURATED, timeout_ns=5 * SECOND)["cause"].to_list()
    assert causes == [TIMED_OUT_SATURATED, None, None, "stall_tls"]


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
        (crawl(), Limit.CONCURRENCY),  # 83 a second are the maximum for 50 in flight of 0.6 s each
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


ENGINE = CpuTime(0, "engine", 4 * S, 0, 10 * S, 0)
SUBJECT = CpuTime(1, "subject", 4 * S, 0, 10 * S, 0)
CEILING_COUNTERS = Counters(
    wall_ns=10 * S,
    cpu_user_ns=3 * S,
    cpu_system_ns=S,
    engine_cpu_user_ns=3 * S,
    engine_cpu_system_ns=S,
    cpus=(ENGINE, SUBJECT),
    origin_waiting_ns=0,
    throughput=tuple(ThroughputPoint((number + 1) * S // 5, 160) for number in range(50)),
)
FETCHER = trial(
    "native",
    -1,
    purpose=Purpose.CEILING,
    urls_given=8000,
    concurrency=1000,
    timeout_ns=5 * S,
    summary=LinesSummary(urls=8000, time_ns=10 * S, exhausted_ns=10 * S, max_ns=S, p50_ns=1.0 * S, right_per_s=800.0),
    tally=Tally(right=8000),
    counters=CEILING_COUNTERS,
)


def seen(**changes: object) -> Trial:
    return replace(FETCHER, counters=replace(CEILING_COUNTERS, **changes))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of_fetcher", "planned_per_s", "limit"),
    [
        (FETCHER, 900.0, CeilingLimit.WEB),
        (FETCHER, 1000.0, CeilingLimit.INSTRUMENT),
        (FETCHER, None, CeilingLimit.INSTRUMENT),
        (replace(FETCHER, urls_given=3999), 9000.0, CeilingLimit.WEB),
        (seen(cpu_user_ns=9 * S), 900.0, CeilingLimit.FETCHER),
        (seen(cpu_user_ns=9 * S), 9000.0, CeilingLimit.FETCHER),
        (seen(cpu_user_ns=None), 9000.0, CeilingLimit.FETCHER),
        (seen(engine_cpu_user_ns=9 * S, cpu_user_ns=9 * S), 9000.0, CeilingLimit.ORIGIN),
        (seen(origin_waiting_ns=3 * S), 9000.0, CeilingLimit.MACHINE),
        (seen(cpus=(ENGINE, replace(SUBJECT, busy_ns=8 * S))), 9000.0, CeilingLimit.MACHINE),
        # Limited by distance, which the plan of the web does not include.
        (replace(FETCHER, link="rtt=40ms"), 1000.0, CeilingLimit.LINK),
        (replace(FETCHER, link="rtt=40ms"), 900.0, CeilingLimit.WEB),
        (
            replace(seen(sent_bytes=1, received_bytes=10**9), link="rate=800mbit"),
            9000.0,
            CeilingLimit.LINK,
        ),
    ],
)
def test_the_limit_of_the_fetcher_is_named(of_fetcher: Trial, planned_per_s: float | None, limit: CeilingLimit) -> None:
    assert ceiling_of(of_fetcher, RULES, planned_per_s=planned_per_s) == Ceiling(800.0, limit)


@pytest.mark.parametrize(
    "of_fetcher",
    [
        replace(FETCHER, outcome=Outcome.UNAVAILABLE, figures={}),
        replace(FETCHER, tally=Tally(right=7900, late=100)),
        FETCHER.having(replace(FETCHER[LinesSummary], right_per_s=None)),
        seen(wall_ns=S // 2),
    ],
)
def test_a_fetcher_that_failed_or_was_too_quick_gives_no_ceiling(of_fetcher: Trial) -> None:
    assert ceiling_of(of_fetcher, RULES, planned_per_s=900.0) is None


def reached(rate: float, limit: CeilingLimit, **counters: object) -> tuple[Validity | None, float | None]:
    crawled = replace(
        seen(**counters).having(replace(FETCHER[LinesSummary], right_per_s=rate)), subject="x", purpose=Purpose.SUBJECT
    )
    judged = with_validity(replace(crawled, ceiling_per_s=1000.0, ceiling_limit=limit), RULES)
    (found,) = [found for found in findings(judged, RULES) if found.rule.name == "web_ceiling"]
    return judged.validity, found.number


def test_near_what_the_instrument_gives_a_trial_is_the_instruments() -> None:
    assert reached(890.0, CeilingLimit.INSTRUMENT) == (Validity.VALID, 89.0)
    assert reached(910.0, CeilingLimit.INSTRUMENT) == (Validity.ORIGIN_LIMITED, 91.0)


@pytest.mark.parametrize("limit", [CeilingLimit.WEB, CeilingLimit.FETCHER, CeilingLimit.LINK, CeilingLimit.MACHINE])
def test_as_good_as_a_fetcher_that_had_to_wait_is_a_result(limit: CeilingLimit) -> None:
    assert reached(990.0, limit) == (Validity.VALID, None)


def test_where_the_origin_had_no_cpu_time_left_a_trial_is_judged_by_its_own_if_it_knows_it() -> None:
    assert reached(990.0, CeilingLimit.ORIGIN) == (Validity.VALID, None)
    assert reached(990.0, CeilingLimit.ORIGIN, engine_cpu_user_ns=None) == (Validity.ORIGIN_LIMITED, 99.0)


def test_the_note_has_the_share_of_the_fastest_trial() -> None:
    under = {"ceiling_per_s": 1000.0, "ceiling_limit": CeilingLimit.FETCHER}
    trials = [trial("slow", 0, 100.0, **under), trial("fast", 0, 430.0, **under)]
    assert ceiling_notes(trials) == (
        "the web's ceiling: 1,000 right answers a second (at least: the fetcher had no CPU time left); the fastest "
        "trial reached 43 % of it",
    )
    assert ceiling_notes([trial("x", 0, 1.0)]) == ()
    assert ceiling_notes([]) == ()
