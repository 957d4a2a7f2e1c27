"""Disturbed trials, trials that count, and subjects that may be ranked by them."""

from dataclasses import replace
from typing import Any

import pytest

from doubles.trials import trial, trials_of
from httpdyno.experiments.crawl.metrics import CRAWL_METRICS
from httpdyno.judge import counting_trials, placing_trials, rank, rankable, rankable_trials, verdict_of
from httpdyno.judge.notes import crowded_notes, disturbed_notes
from httpdyno.judge.rankable import crowded, disturbed
from httpdyno.judge.validity import RULES, findings, spoiled_aspects, with_validity
from httpdyno.model import (
    Aspect,
    Counters,
    CpuTime,
    LinesSummary,
    LinkCounters,
    Outcome,
    PathCounters,
    ProgramUse,
    Tally,
    Trial,
    Validity,
)

S = 10**9
QUIET_COUNTERS = Counters(
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


def crawl_with(*, wrong: int = 0, rate: float = 80.0, **counters: object) -> Trial:
    summary = LinesSummary(urls=1000, time_ns=10 * S, exhausted_ns=10 * S, p50_ns=float(S), right_per_s=rate)
    made = trial("a", 0, concurrency=50, urls_given=1000, summary=summary, tally=Tally(right=1000 - wrong, late=wrong))
    return with_validity(replace(made, counters=replace(QUIET_COUNTERS, **counters)), RULES)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("of", "by_others"),
    [
        (crawl_with(), False),
        (crawl_with(cpus=BUSY), True),
        (crawl_with(origin_waiting_ns=4 * S), True),
        (crawl_with(engine_cpu_user_ns=9 * S), False),  # the origin itself was the limit
        (crawl_with(engine_cpu_user_ns=9 * S, cpus=BUSY), False),
        (crawl_with(cpus=BUSY, wrong=100), False),
        (replace(crawl_with(cpus=BUSY), outcome=Outcome.CRASHED), False),
    ],
)
def test_other_programs_spoiled_it(of: Trial, *, by_others: bool) -> None:
    assert disturbed(of) is by_others, of.validity_reason


RATE = next(metric for metric in CRAWL_METRICS if metric.name == "right_per_s")


def of_subject(subject: str, rate: float, *, busy: int, blocks: int = 7) -> list[Trial]:
    """Make the trials of a subject, the first of which other programs disturbed."""
    return [
        replace(
            crawl_with(rate=rate + block % 3, **({"cpus": BUSY} if block < busy else {})), subject=subject, block=block
        )
        for block in range(blocks)
    ]


def test_who_was_disturbed_now_and_then_is_ranked_by_what_counts() -> None:
    trials = of_subject("a", 80, busy=2)
    assert placing_trials(trials) == rankable_trials(trials)
    assert not rank(trials, RATE, disturbed=True).standings[0].provisional


def test_a_mostly_disturbed_subject_is_ranked_provisionally_only_on_request() -> None:
    trials = [*of_subject("a", 80, busy=5), *of_subject("b", 40, busy=0)]
    assert [one.subject for one in rank(trials, RATE).standings] == ["b"]
    first, second = rank(trials, RATE, disturbed=True).standings
    assert (first.subject, first.text, second.text) == ("a", "1~", "2")
    assert (first.provisional, second.provisional) == (True, False)
    assert len(placing_trials(trials[:7])) == 7


@pytest.mark.parametrize(
    "other", [crawl_with(wrong=100), replace(crawl_with(), outcome=Outcome.CRASHED, validity=None)]
)
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
        (crawl_with(cpus=SHARED), False),
        (crawl_with(cpus=SHARED, origin_waiting_ns=4 * S), True),
        (crawl_with(origin_waiting_ns=4 * S), False),
        (crawl_with(cpus=SHARED, origin_waiting_ns=4 * S, io_pressure_us=2_000_000), False),
    ],
)
def test_client_and_origin_were_in_each_others_way(of: Trial, *, by_sharing: bool) -> None:
    assert crowded(of) is by_sharing, of.validity_reason
    assert not (crowded(of) and disturbed(of))


def test_on_one_cpu_there_is_an_order_and_it_is_said_what_that_costs() -> None:
    trials = [
        replace(
            crawl_with(rate=rate + block % 3, cpus=SHARED, origin_waiting_ns=waiting * S), subject=subject, block=block
        )
        for subject, rate, waiting in (("a", 80, 2), ("b", 40, 3))
        for block in range(7)
    ]
    assert [one.text for one in rank(trials, RATE, disturbed=True).standings] == ["1~", "2~"]
    assert disturbed_notes(trials) == ()
    (note,) = crowded_notes(trials)
    assert note.startswith("one CPU for client and origin: in 14 of 14 trials one waited for the other (20 to 30 % of")


SPOILED = [Validity.GENERATOR_LIMITED, Validity.ORIGIN_LIMITED, Validity.LINK_LIMITED, Validity.UNSTEADY]
FAILED = [outcome for outcome in Outcome if outcome not in {Outcome.OK, Outcome.INTERRUPTED, Outcome.REFUSED}]


def five(**of_one: Any) -> list[Trial]:
    return [*trials_of("a", [1, 2, 3, 4]), trial("a", 4, 5, **of_one)]


def test_trials_that_went_well_count() -> None:
    assert rankable(five())
    assert len(rankable_trials(five())) == 5
    assert rankable([trial("a", 0, 1, validity=None)])


def test_a_link_that_missed_is_no_failure_of_the_subject() -> None:
    assert rankable(five(outcome=Outcome.REFUSED, validity=Validity.LINK_LIMITED))


@pytest.mark.parametrize("validity", SPOILED)
def test_what_the_machine_spoiled_is_left_out_as_long_as_most_trials_count(validity: Validity) -> None:
    assert rankable(five(validity=validity))
    assert [other.block for other in rankable_trials(five(validity=validity))] == [0, 1, 2, 3]
    halves = [*trials_of("a", [1, 2]), trial("a", 2, 3, validity=validity), trial("a", 3, 4, validity=validity)]
    assert not rankable(halves)
    assert rankable([*halves, trial("a", 4, 5)])


@pytest.mark.parametrize("outcome", FAILED)
def test_one_failure_is_one_too_many(outcome: Outcome) -> None:
    assert not rankable(five(outcome=outcome, validity=None))


@pytest.mark.parametrize("validity", [Validity.INCORRECT, Validity.UNVERIFIED])
def test_one_incorrect_or_unverified_trial_excludes_a_subject(validity: Validity) -> None:
    assert not rankable(five(validity=validity))
    assert rankable_trials([trial("a", 0, 1, validity=validity)]) == ()


def test_an_interruption_is_not_the_subjects_fault() -> None:
    assert rankable(five(outcome=Outcome.INTERRUPTED, validity=None))


def test_no_trials_are_nothing_to_believe() -> None:
    assert not rankable([])


ENGINE = CpuTime(0, "engine", 2 * S, 0, 10 * S, 0)
SUBJECT = CpuTime(1, "subject", 4 * S, 0, 10 * S, 0)
QUIET = Counters(
    wall_ns=10 * S,
    cpu_user_ns=3 * S,
    cpu_system_ns=S,
    engine_cpu_user_ns=S,
    engine_cpu_system_ns=S,
    origin_waiting_ns=0,
    lateness_mean_ns=0,
    lateness_count=1000,
    cpus=(ENGINE, SUBJECT),
)


def crawl(block: int = 0, *, wrong: int = 0, **counters: Any) -> Trial:
    """Make a crawl of ten seconds with these counters, judged by the rules."""
    summary = LinesSummary(
        urls=1000, time_ns=10 * S, exhausted_ns=10 * S, p50_ns=float(S), right_per_s=100.0, cpu_per_right_ns=4e6
    )
    tally = Tally(right=1000 - wrong, late=wrong)
    made = trial("a", block, concurrency=50, urls_given=1000, summary=summary, tally=tally)
    return with_validity(replace(made, counters=replace(QUIET, **counters)), RULES)


LATE = {"lateness_mean_ns": 0.6 * S}
BUSY_ENGINE = {"cpus": (replace(ENGINE, busy_ns=10 * S), SUBJECT)}
ENGINE_AT_WORK = {"engine_cpu_user_ns": 9 * S}
FOREIGN = {"cpus": (ENGINE, replace(SUBJECT, busy_ns=9 * S))}
STOLEN = {"cpus": (ENGINE, replace(SUBJECT, steal_ns=3 * S))}
SHORT_OF_MEMORY = {"memory_pressure_us": 4_000_000}
WAITS_FOR_A_DISK = {"io_pressure_us": 4_000_000}
PACE, CPU, MEMORY = Aspect.PACE, Aspect.CPU, Aspect.MEMORY


@pytest.mark.parametrize(
    ("counters", "rule", "spoiled"),
    [
        ({}, None, set()),
        (LATE, "origin_lateness", {PACE}),
        (BUSY_ENGINE, "origin_cpu_busy", {PACE}),
        (ENGINE_AT_WORK, "origin_cpu", {PACE}),
        ({"origin_waiting_ns": 4 * S}, "origin_waiting", {PACE}),
        (WAITS_FOR_A_DISK, "io_pressure", {PACE}),
        (FOREIGN, "foreign_cpu", {PACE, CPU}),
        (STOLEN, "steal", {PACE, CPU}),
        (SHORT_OF_MEMORY, "memory_pressure", {PACE, CPU, MEMORY}),
        (LATE | FOREIGN, "origin_lateness", {PACE, CPU}),
    ],
)
def test_a_broken_rule_spoils_the_figures_that_it_can_touch(
    counters: dict[str, Any], rule: str | None, spoiled: set[Aspect]
) -> None:
    of = crawl(**counters)
    broken = [finding.rule.name for finding in findings(of, RULES) if finding.passed is False]
    assert (rule in broken) if rule else not broken
    assert spoiled_aspects(of) == spoiled


def test_a_full_link_leaves_cpu_time_standing() -> None:
    full, idle = PathCounters(bytes=12_400_000), PathCounters(bytes=100_000)
    judged = with_validity(replace(crawl(link=LinkCounters(down=full, up=idle)), link="down.rate=10mbit"), RULES)
    assert judged.validity is Validity.LINK_LIMITED, judged.validity_reason
    assert spoiled_aspects(judged) == {PACE}


def test_wrong_answers_and_failures_spoil_everything() -> None:
    assert spoiled_aspects(crawl(wrong=100)) == set(Aspect)
    assert spoiled_aspects(replace(crawl(), outcome=Outcome.CRASHED)) == set(Aspect)
    # A verdict that no common rule explains may affect all figures; without a verdict nothing is spoiled.
    assert spoiled_aspects(replace(crawl(), validity=Validity.UNSTEADY)) == set(Aspect)
    assert spoiled_aspects(replace(crawl(**FOREIGN), validity=None)) == set()


def test_every_rule_spoils_the_pace() -> None:
    assert all(PACE in rule.spoils for rule in RULES)


def test_a_late_origin_leaves_a_subject_its_rank_by_cpu_time_only() -> None:
    trials = [crawl(0), *(crawl(block, **LATE) for block in (1, 2))]
    assert (rankable(trials, PACE), rankable(trials, CPU)) == (False, True)
    assert [one.block for one in rankable_trials(trials, PACE)] == [0]
    assert [one.block for one in rankable_trials(trials, CPU)] == [0, 1, 2]
    assert verdict_of(trials) == "ORIGIN_LIMITED"


def test_of_several_trials_of_a_block_the_last_that_counts_is_taken() -> None:
    first, again, third = crawl(0), crawl(0), crawl(0, **FOREIGN)
    numbered = [replace(one, trial=number) for number, one in enumerate((first, again, third))]
    assert [one.trial for one in rankable_trials(numbered)] == [1]
    # A disturbed one has a place only in a block without any that counts.
    assert [one.trial for one in placing_trials(numbered)] == [1]
    disturbed = [replace(crawl(block, **FOREIGN), trial=block + 3) for block in (1, 2)]
    assert [one.trial for one in placing_trials([*numbered, *disturbed])] == [1, 4, 5]
    assert [one.trial for one in counting_trials([*numbered, *disturbed], disturbed=True)] == [1, 4, 5]


def test_half_of_the_blocks_are_not_most_of_them_however_many_trials_they_have() -> None:
    # Two of five trials were disturbed and repeated in blocks of their own: three of five blocks have one that counts.
    repeated = [crawl(0), crawl(1, **FOREIGN), crawl(2, **FOREIGN), crawl(3), crawl(4)]
    assert rankable(repeated)
    assert not rankable([*repeated[:4], crawl(4, **FOREIGN)])
    # Many trials of one block are one block.
    assert not rankable([crawl(0), crawl(0), crawl(0), crawl(1, **FOREIGN)])
