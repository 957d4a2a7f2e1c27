"""Whether other programs, and nothing else, spoiled a trial: by its counters."""

from dataclasses import replace

import pytest

from doubles.trials import trial
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.judge import placing_trials, rank, rankable_trials
from httpdyno.judge.caveats import crowded_notes, disturbed_notes
from httpdyno.judge.disturbance import crowded, disturbed
from httpdyno.judge.validity import with_validity
from httpdyno.model import Counters, CpuTime, LinesSummary, Outcome, ProgramUse, Tally, Trial

S = 10**9
QUIET = Counters(
    wall_ns=10 * S,
    cpu_user_ns=3 * S,
    cpu_system_ns=S,
    engine_cpu_user_ns=S,
    engine_cpu_system_ns=S,
    origin_waiting_ns=0,
    cpus=(CpuTime(0, "engine", 2 * S, 0, 10 * S, 0), CpuTime(1, "subject", 4 * S, 0, 10 * S, 0)),
)
SHARED = (CpuTime(0, "both", 6 * S, 0, 10 * S, 0),)
BUSY = (CpuTime(0, "engine", 2 * S, 0, 10 * S, 0), CpuTime(1, "subject", 9 * S, 0, 10 * S, 0))


def crawl(*, wrong: int = 0, rate: float = 80.0, **counters: object) -> Trial:
    summary = LinesSummary(urls=1000, time_ns=10 * S, exhausted_ns=10 * S, p50_ns=float(S), right_per_s=rate)
    made = trial("a", 0, concurrency=50, urls_given=1000, summary=summary, tally=Tally(right=1000 - wrong, late=wrong))
    return with_validity(replace(made, counters=replace(QUIET, **counters)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "by_others"),
    [
        (crawl(), False),
        (crawl(cpus=BUSY), True),
        (crawl(origin_waiting_ns=4 * S), True),
        (crawl(engine_cpu_user_ns=9 * S), False),  # the origin itself was the limit
        (crawl(engine_cpu_user_ns=9 * S, cpus=BUSY), False),
        (crawl(cpus=BUSY, wrong=100), False),
        (replace(crawl(cpus=BUSY), outcome=Outcome.CRASHED), False),
    ],
)
def test_other_programs_spoiled_it(of: Trial, *, by_others: bool) -> None:
    assert disturbed(of) is by_others, of.validity_reason


RATE = next(metric for metric in CRAWL_METRICS if metric.name == "right_per_s")


def of_subject(subject: str, rate: float, *, busy: int, blocks: int = 7) -> list[Trial]:
    """Make the trials of a subject, the first of which other programs disturbed."""
    return [
        replace(crawl(rate=rate + block % 3, **({"cpus": BUSY} if block < busy else {})), subject=subject, block=block)
        for block in range(blocks)
    ]


def test_who_was_disturbed_now_and_then_is_ranked_by_what_counts() -> None:
    trials = of_subject("a", 80, busy=2)
    assert placing_trials(trials) == rankable_trials(trials)
    assert not rank(trials, RATE, disturbed=True).standings[0].provisional


def test_who_was_disturbed_most_of_the_time_is_ranked_and_marked_but_only_where_that_is_asked_for() -> None:
    trials = [*of_subject("a", 80, busy=5), *of_subject("b", 40, busy=0)]
    assert [one.subject for one in rank(trials, RATE).standings] == ["b"]
    first, second = rank(trials, RATE, disturbed=True).standings
    assert (first.subject, first.text, second.text) == ("a", "1~", "2")
    assert (first.provisional, second.provisional) == (True, False)
    assert len(placing_trials(trials[:7])) == 7


@pytest.mark.parametrize("other", [crawl(wrong=100), replace(crawl(), outcome=Outcome.CRASHED, validity=None)])
def test_what_a_subject_did_badly_is_no_disturbance(other: Trial) -> None:
    trials = [*of_subject("a", 80, busy=6), replace(other, subject="a", block=7)]
    assert placing_trials(trials) == ()
    assert rank(trials, RATE, disturbed=True).standings == ()


def test_it_is_said_how_many_were_disturbed_how_long_and_by_what() -> None:
    by = (ProgramUse("stress", 15 * S), ProgramUse("python3", 2 * S))
    trials = [replace(one, other_programs=by) for one in of_subject("a", 80, busy=2, blocks=3)]
    assert disturbed_notes(trials) == (
        "disturbed: 2 of 3 trials, 20 s in all, by stress (1.5 CPUs), python3 (0.2 CPUs)",
    )
    assert disturbed_notes(of_subject("a", 80, busy=1)) == ("disturbed: 1 of 7 trials, 10 s in all",)
    assert disturbed_notes(of_subject("a", 80, busy=0)) == ()


@pytest.mark.parametrize(
    ("of", "by_sharing"),
    [
        (crawl(cpus=SHARED), False),
        (crawl(cpus=SHARED, origin_waiting_ns=4 * S), True),
        (crawl(origin_waiting_ns=4 * S), False),
        (crawl(cpus=SHARED, origin_waiting_ns=4 * S, io_pressure_us=2_000_000), False),
    ],
)
def test_client_and_origin_were_in_each_others_way(of: Trial, *, by_sharing: bool) -> None:
    assert crowded(of) is by_sharing, of.validity_reason
    assert not (crowded(of) and disturbed(of))


def test_on_one_cpu_there_is_an_order_and_it_is_said_what_that_costs() -> None:
    trials = [
        replace(crawl(rate=rate + block % 3, cpus=SHARED, origin_waiting_ns=waiting * S), subject=subject, block=block)
        for subject, rate, waiting in (("a", 80, 2), ("b", 40, 3))
        for block in range(7)
    ]
    assert [one.text for one in rank(trials, RATE, disturbed=True).standings] == ["1~", "2~"]
    assert disturbed_notes(trials) == ()
    (note,) = crowded_notes(trials)
    assert note.startswith("one CPU for client and origin: in 14 of 14 trials one waited for the other (20 to 30 % of")
