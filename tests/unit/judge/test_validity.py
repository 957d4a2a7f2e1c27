"""Every rule of validity below and above its threshold, on links and with drift."""

import re
from dataclasses import replace

import pytest

from doubles.honest_trial import (
    BIN,
    ENGINE,
    HONEST,
    MS,
    SUBJECT,
    S,
    bins,
    finding,
    judge_validity,
    paced,
    with_counters,
    with_summary,
)
from httpdyno.judge.validity import RULES, findings, spoiled_aspects, with_validity
from httpdyno.model import (
    Aspect,
    Counters,
    CpuTime,
    LinkCounters,
    Outcome,
    PathCounters,
    ProgramUse,
    Tally,
    Trial,
    Validity,
)


def test_an_honest_trial_meets_every_rule() -> None:
    assert judge_validity(HONEST, RULES) == (Validity.VALID, None)
    judged = {found.rule.name: found.passed for found in findings(HONEST, RULES)}
    assert judged.pop("link_rate") is None
    assert judged.pop("link_lateness") is None
    assert judged.pop("link_unread") is None
    assert judged.pop("web_ceiling") is None
    assert all(judged.values())
    assert "generator_cpu" not in judged


def test_a_trial_that_failed_has_no_validity() -> None:
    failed = replace(HONEST, outcome=Outcome.CRASHED)
    assert (judge_validity(failed, RULES), findings(failed, RULES)) == ((None, None), ())


BUSY_ENGINE = replace(ENGINE, busy_ns=96 * S // 10)
BUSY_SUBJECT = replace(SUBJECT, busy_ns=8 * S)
STOLEN = replace(SUBJECT, steal_ns=6 * S // 10)


@pytest.mark.parametrize(
    ("trial", "rule", "validity", "number", "reason"),
    [
        (with_counters(engine_cpu_user_ns=8 * S), "origin_cpu", Validity.ORIGIN_LIMITED, 90, "used 90 % of its CPU"),
        (with_counters(origin_waiting_ns=3 * S), "origin_waiting", Validity.DISTURBED, 30, "for 30 % of the time"),
        (with_counters(cpus=(BUSY_ENGINE, SUBJECT)), "origin_cpu_busy", Validity.DISTURBED, 96, "in use for 96 %"),
        (with_counters(lateness_mean_ns=300_000), "origin_lateness", Validity.ORIGIN_LIMITED, 2, "0.30 ms in 10.0 ms"),
        (replace(HONEST, link="rtt=1ms,rate=800kbit"), "link_rate", Validity.LINK_LIMITED, 100, "carried 100 %"),
        (
            with_counters(throttled_ns=2 * S),
            "throttling",
            Validity.DISTURBED,
            20,
            "stopped the trial's programs for 20",
        ),
        (with_counters(cpus=(ENGINE, STOLEN)), "steal", Validity.DISTURBED, 6, "took 6 % of a CPU's time"),
        (
            with_counters(cpus=(ENGINE, BUSY_SUBJECT)),
            "foreign_cpu",
            Validity.DISTURBED,
            20,
            "used 20 % of the subject's",
        ),
        (with_counters(memory_pressure_us=2_000_000), "memory_pressure", Validity.DISTURBED, 20, "for memory for 20 %"),
        (with_counters(io_pressure_us=1_500_000), "io_pressure", Validity.DISTURBED, 15, "for a disk for 15 %"),
        (
            replace(HONEST, tally=Tally(right=90, late=4, wrong_length=6)),
            "wrong_answers",
            Validity.INCORRECT,
            10,
            "10 % of the answers are wrong (10 of 100, most of them wrong_length; at most 0.5 %)",
        ),
        (
            with_counters(throughput=bins(*range(70, 20, -1))),
            "drift",
            Validity.UNSTEADY,
            67,
            "differs from that of the first (-67 %, between -67 and -67 %, after a warm-up of 2 s; at most 10 %)",
        ),
        (replace(HONEST, tally=Tally(unverified=5)), "unverified", Validity.UNVERIFIED, 100, "the internet"),
    ],
    ids=lambda value: value if isinstance(value, str) and "_" in value else "",
)
def test_what_breaks_a_rule_is_found(trial: Trial, rule: str, validity: Validity, number: float, reason: str) -> None:
    found = finding(trial, rule)
    assert found.number == pytest.approx(number, abs=0.5)
    assert found.passed is False
    assert reason in found.text
    assert judge_validity(trial, RULES) == (validity, found.text)


@pytest.mark.parametrize(
    ("tally", "validity"),
    [
        (Tally(), Validity.VALID),
        (Tally(right=995, late=5), Validity.VALID),
        (Tally(right=994, late=6), Validity.INCORRECT),
        (Tally(right=994, late=6, explained=1), Validity.VALID),
        (Tally(late=1, not_reached=10_000), Validity.INCORRECT),
        (Tally(unverified=1, not_reached=1), Validity.UNVERIFIED),
    ],
)
def test_more_than_half_a_percent_of_unexplained_wrong_answers_is_incorrect(tally: Tally, validity: Validity) -> None:
    assert judge_validity(replace(HONEST, tally=tally), RULES)[0] is validity


def test_unverified_comes_before_every_other_validity() -> None:
    drifting = replace(with_counters(throughput=bins(*range(70, 20, -1))), tally=Tally(unverified=1750))
    assert finding(drifting, "drift").passed is False
    assert judge_validity(drifting, RULES)[0] is Validity.UNVERIFIED


def test_what_spoils_the_instrument_comes_before_what_it_then_shows() -> None:
    starved = replace(with_counters(origin_waiting_ns=5 * S), tally=Tally(right=500, false_error=500))
    assert judge_validity(starved, RULES)[0] is Validity.DISTURBED
    disturbed = replace(with_counters(cpus=(ENGINE, BUSY_SUBJECT)), tally=Tally(right=500, false_error=500))
    assert judge_validity(disturbed, RULES)[0] is Validity.DISTURBED
    assert [found.rule.name for found in findings(disturbed, RULES) if found.passed is False] == [
        "foreign_cpu",
        "wrong_answers",
    ]


BUSY = replace(with_counters(cpus=(ENGINE, BUSY_SUBJECT)), tally=Tally(right=900, wrong_length=100, surely_wrong=100))


def test_answers_that_no_noise_makes_wrong_come_before_the_noise_and_all_that_failed_is_said() -> None:
    assert judge_validity(BUSY, RULES) == (
        Validity.INCORRECT,
        "10 % of the answers are wrong (100 of 1000, most of them wrong_length; at most 0.5 %); "
        "also: foreign_cpu 20 % (at most 10 %)",
    )
    # Too few of the others are certain: the machine may have caused them.
    doubtful = replace(BUSY, tally=Tally(right=900, false_error=97, wrong_length=3, surely_wrong=3))
    validity, reason = judge_validity(doubtful, RULES)
    assert validity is Validity.DISTURBED
    assert (reason or "").endswith("; also: wrong_answers 10 % (at most 0.5 %)")


def test_a_record_that_is_older_than_the_question_is_judged_as_it_was() -> None:
    older = replace(BUSY, tally=Tally(right=900, wrong_length=100))
    assert judge_validity(older, RULES)[0] is Validity.DISTURBED


def test_a_stall_at_the_end_does_not_hide_a_saturated_origin() -> None:
    # All but one of the answers came within 2 s; the last one prolonged the trial by 8 s.
    stalled = with_summary(
        with_counters(throughput=bins(*[100] * 10, *[0] * 39, 1), origin_waiting_ns=400 * MS), exhausted_ns=2 * S
    )
    assert finding(stalled, "origin_cpu").number == pytest.approx(100, abs=0.2)
    assert finding(stalled, "origin_waiting").number == pytest.approx(20, abs=0.1)
    # A list that is short for its concurrency has no such moment: the whole trial is measured.
    short = replace(stalled, urls_given=39)
    assert finding(short, "origin_cpu").number == pytest.approx(20)


def test_a_part_of_a_bin_is_a_part_of_its_answers() -> None:
    trial = with_summary(with_counters(throughput=bins(*[0] * 5, 10, 10)), exhausted_ns=S + BIN // 2)
    assert finding(trial, "origin_cpu").number == pytest.approx(100 * 2 * 0.25 / 1.1)


def test_who_shares_a_cpu_with_the_subject_is_counted_once() -> None:
    shared = CpuTime(0, "both", 8 * S, 0, 10 * S, None)
    assert finding(with_counters(cpus=(shared,)), "foreign_cpu").number == 0
    other = replace(shared, busy_ns=10 * S)
    assert finding(with_counters(cpus=(other,)), "foreign_cpu").number == 20
    interrupts = replace(other, interrupt_ns=S)
    assert finding(with_counters(cpus=(interrupts,)), "foreign_cpu").number == 10


def test_a_peer_and_a_link_that_share_the_subjects_cpu_are_no_others() -> None:
    shared = CpuTime(0, "both", 10 * S, 0, 10 * S, None)
    peer = {"peer_cpu_user_ns": S // 2, "peer_cpu_system_ns": S // 2}
    assert finding(with_counters(cpus=(shared,), **peer), "foreign_cpu").number == 10
    link = LinkCounters(cpu=0, cpu_time_ns=S)
    assert finding(with_counters(cpus=(shared,), link=link), "foreign_cpu").number == 10
    assert finding(with_counters(cpus=(shared,), link=replace(link, cpu=1)), "foreign_cpu").number == 20


NOTHING = replace(HONEST, counters=Counters(), figures={}, tally=None)
SHORT = with_summary(
    with_counters(
        wall_ns=900 * MS,
        lateness_count=20,
        cpus=tuple(replace(cpu, window_ns=900 * MS) for cpu in (ENGINE, SUBJECT)),
        throughput=bins(5, 5, 5, 5),
    ),
    exhausted_ns=800 * MS,
)


def test_a_rule_without_its_number_is_not_judged_and_gives_the_reason() -> None:
    for found in findings(NOTHING, RULES):
        assert (found.number, found.passed) == (None, None)
        assert found.text.startswith("not judged: ")
        assert found.text > "not judged: "
    assert judge_validity(NOTHING, RULES) == (Validity.VALID, None)


def test_shares_of_a_very_short_trial_are_not_judged() -> None:
    unjudged = {found.rule.name for found in findings(SHORT, RULES) if found.passed is None}
    assert unjudged == {
        "origin_cpu", "origin_waiting", "origin_cpu_busy", "origin_lateness", "web_ceiling", "link_rate",
        "link_lateness", "link_unread", "steal", "foreign_cpu", "memory_pressure", "io_pressure", "drift",
    }  # fmt: skip
    assert "4 of 30 bins of 200 ms" in finding(SHORT, "drift").text


def test_a_kernel_without_pressure_information_is_named_as_the_reason() -> None:
    found = finding(with_counters(io_pressure_us=None), "io_pressure")
    assert (found.passed, found.text) == (None, "not judged: this kernel has no pressure stall information (PSI)")


def test_a_trial_that_was_refused_keeps_its_reason() -> None:
    refused = replace(
        HONEST, outcome=Outcome.REFUSED, reason="off", validity=Validity.LINK_LIMITED, validity_reason="off"
    )
    assert (judge_validity(refused, RULES), findings(refused, RULES)) == ((Validity.LINK_LIMITED, "off"), ())


def test_every_rule_has_a_name_of_its_own_and_a_sentence_that_can_be_filled_in() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.verdict is not Validity.VALID
        assert rule.reason.format(number="1 %", threshold="2 %", detail="why")


def test_every_validity_but_valid_has_a_rule() -> None:
    assert {rule.verdict for rule in RULES} == set(Validity) - {Validity.VALID, Validity.GENERATOR_LIMITED}


def test_the_verdict_of_a_disturbed_trial_names_the_programs() -> None:
    used = (ProgramUse("cc1plus", 3 * S), ProgramUse("bash", S // 100))
    starved = replace(with_counters(origin_waiting_ns=3 * S), other_programs=used)
    validity, reason = judge_validity(starved, RULES)
    assert validity is Validity.DISTURBED
    # A program that used less than one per cent of a CPU is not named.
    assert "but cc1plus had its CPU" in (reason or "")
    assert "bash" not in (reason or "")
    unknown = with_counters(origin_waiting_ns=3 * S)
    assert "but another program had its CPU" in (judge_validity(unknown, RULES)[1] or "")


@pytest.mark.parametrize(("waited_ns", "number"), [(1_004_000_000, "10.04 %"), (1_040_000_000, "10.4 %")])
def test_a_number_beyond_its_threshold_never_reads_like_the_threshold(waited_ns: int, number: str) -> None:
    found = finding(with_counters(origin_waiting_ns=waited_ns), "origin_waiting")
    assert found.passed is False
    assert number in found.text
    assert number in found.short


def test_a_late_origin_that_other_programs_starved_is_disturbed() -> None:
    late = with_counters(lateness_mean_ns=300_000, origin_waiting_ns=3 * S)
    assert judge_validity(late, RULES)[0] is Validity.DISTURBED
    assert judge_validity(with_counters(lateness_mean_ns=300_000), RULES)[0] is Validity.ORIGIN_LIMITED


LATE = with_counters(lateness_mean_ns=300_000)
PACE_ONLY = [
    with_counters(engine_cpu_user_ns=8 * S),
    with_counters(origin_waiting_ns=3 * S),
    with_counters(cpus=(BUSY_ENGINE, SUBJECT)),
    LATE,
    with_counters(io_pressure_us=1_500_000),
]


@pytest.mark.parametrize("trial", PACE_ONLY)
def test_a_busy_or_late_origin_leaves_the_cpu_time_of_an_answer_standing(trial: Trial) -> None:
    assert spoiled_aspects(with_validity(trial, RULES)) == {Aspect.PACE}


def test_a_program_on_the_cpu_of_the_subject_spoils_its_cpu_time() -> None:
    assert spoiled_aspects(with_validity(with_counters(cpus=(ENGINE, BUSY_SUBJECT)), RULES)) == {
        Aspect.PACE,
        Aspect.CPU,
    }


@pytest.mark.parametrize(
    "trial",
    [
        replace(HONEST, tally=Tally(right=90, wrong_length=10)),
        replace(HONEST, tally=Tally(unverified=5)),
        with_counters(memory_pressure_us=2_000_000),
    ],
)
def test_wrong_answers_and_a_lack_of_memory_spoil_every_figure(trial: Trial) -> None:
    assert spoiled_aspects(with_validity(trial, RULES)) == set(Aspect)


def test_a_verdict_of_version_0_1_spoils_what_its_rule_spoils_today() -> None:
    for verdict in (Validity.ORIGIN_LIMITED, Validity.UNSTEADY):
        assert spoiled_aspects(replace(with_counters(origin_waiting_ns=3 * S), validity=verdict)) == {Aspect.PACE}
    # A verdict that no rule explains spoils everything, and a valid trial has nothing spoiled.
    assert spoiled_aspects(replace(HONEST, validity=Validity.GENERATOR_LIMITED)) == set(Aspect)
    assert spoiled_aspects(with_validity(HONEST, RULES)) == set()


def linked(spec: str, up: PathCounters, down: PathCounters) -> Trial:
    return replace(with_counters(link=LinkCounters(up=up, down=down)), link=spec)


@pytest.mark.parametrize(
    ("spec", "up_bytes", "down_bytes", "number"),
    [
        ("up.rate=1mbit,down.rate=10mbit", 625_000, 1_250_000, 50),
        ("up.rate=1mbit,down.rate=10mbit", 125_000, 11_875_000, 95),
        ("down.rate=10mbit", 100_000_000, 1_250_000, 10),
        ("rate=10mbit,loss=1%", None, None, None),
        ("rtt=40ms", 1, 1, None),
        ("written otherwise", 1, 1, None),
    ],
)
def test_each_direction_of_a_link_has_its_own_rate(
    spec: str, up_bytes: int | None, down_bytes: int | None, number: float | None
) -> None:
    found = finding(linked(spec, PathCounters(bytes=up_bytes), PathCounters(bytes=down_bytes)), "link_rate")
    assert found.number == (None if number is None else pytest.approx(number))
    assert found.passed is (None if number is None else number <= 90)


@pytest.mark.parametrize(
    ("spec", "up_ns", "down_ns", "passed"),
    [
        ("rtt=40ms", 900_000, 1_000_000, True),
        ("rtt=40ms", 1_000_000, 1_100_000, False),
        ("rtt=1ms", 200_000, 250_000, True),
        ("rtt=1ms", 300_000, 250_000, False),
        ("rate=1gbit", 100_000, 100_000, True),
        ("rtt=1ms", None, 1, None),
    ],
)
def test_an_emulator_that_is_late_limits_the_trial(
    spec: str, up_ns: int | None, down_ns: int | None, *, passed: bool | None
) -> None:
    trial = linked(spec, PathCounters(lateness_p99_ns=up_ns), PathCounters(lateness_p99_ns=down_ns))
    found = finding(trial, "link_lateness")
    assert found.passed is passed
    if passed is False:
        assert judge_validity(trial, RULES) == (Validity.LINK_LIMITED, found.text)
        assert f"was itself late, by {(up_ns + down_ns) / 1e6:.2f} ms where " in found.text  # type: ignore[operator]


@pytest.mark.parametrize(
    ("up", "down", "passed"),
    [
        ((1000, 0), (1000, 2), True),
        ((1000, 1), (1000, 2), False),
        ((0, 0), (0, 0), None),
        ((1000, None), (1000, 2), None),
    ],
)
def test_packets_that_the_emulator_did_not_read_limit_the_trial(
    up: tuple[int, int | None], down: tuple[int, int | None], *, passed: bool | None
) -> None:
    ways = [PathCounters(packets=packets, unread=unread) for packets, unread in (up, down)]
    found = finding(linked("rtt=40ms", *ways), "link_unread")
    assert found.passed is passed
    if passed is False:
        assert re.search(r"could not keep up: 0\.1\d? % of the packets", found.text)


DECLINE = (*[60] * 50, *[60 - number for number in range(50)])
FILLING = (*range(100, 50, -2), *[50] * 30)


@pytest.mark.parametrize(
    ("trial", "passed"),
    [
        (paced(*[50, 51] * 50), True),
        (paced(*DECLINE), False),
        (paced(*[50] * 50, *[30] * 50), False),
        # Slow at first: a warm-up of 4 s of 20 s.
        (paced(*[10] * 20, *[50] * 80), True),
        # A compiler's warm-up, up to nearly half of the time; a fall is not a warm-up.
        (paced(*range(10, 50), *[50, 51] * 30), True),
        (paced(*[20] * 40, *[50, 51] * 30), True),
        # Its end is not certain.
        (paced(*range(10, 110)), False),
        # The list was exhausted before it fell off.
        (paced(*DECLINE, exhausted_ns=10 * S), True),
        # In the first 5 s the slots filled with URLs that never answer.
        (paced(*FILLING, max_ns=5 * S), True),
        (paced(*FILLING), False),
        # A start is not a drift.
        (paced(*[0] * 50, *[50] * 50), True),
        (paced(*[0] * 50), None),
        (paced(*[50] * 29), None),
        (with_counters(throughput=()), None),
        # The deadline cut it: there is no last URL.
        (paced(*DECLINE, exhausted_ns=None), False),
    ],
)
def test_a_drift_is_distinguished_from_similar_series(trial: Trial, *, passed: bool | None) -> None:
    assert finding(trial, "drift").passed is passed
