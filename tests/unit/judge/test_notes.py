"""Notes on the trials of a subject and on versions of HTTP."""

from dataclasses import replace

import pytest

from doubles.honest_trial import HONEST, S
from doubles.trials import trial, trials_of
from httpdyno.experiments.service.figures import ServiceSummary
from httpdyno.experiments.service.judge import SERVICE_RULES
from httpdyno.judge import trial_notes
from httpdyno.judge.notes import (
    asked_version_notes,
    http_2_share,
    missing_notes,
    unlimited_notes,
    unverified_notes,
    version_notes,
)
from httpdyno.judge.validity import RULES, broken_names, spoiled_aspects, with_validity
from httpdyno.model import Aspect, Count, Counters, Outcome, Tally, Trial, Validity


def invalid(block: int, validity: Validity, reason: str, *rules: str) -> Trial:
    """A trial that breaks these rules, or of a record that does not name them."""
    return trial("a", block, validity=validity, validity_reason=reason, broken_rules=rules or None)


def test_trials_that_break_the_same_rule_are_one_line() -> None:
    limited = [
        invalid(block, Validity.ORIGIN_LIMITED, f"{who} was busy for {share} %", "origin_cpu")
        for block, (who, share) in enumerate((("it", "69"), ("another", "7.5"), ("it", "12")))
    ]
    crashed = trial("a", 4, outcome=Outcome.CRASHED, validity=None, reason="killed by SIGSEGV")
    assert trial_notes([*limited, crashed]) == (
        "ORIGIN_LIMITED: it was busy for 69 %, or similar (3 of 4 trials)",
        "crashed: killed by SIGSEGV (1 of 4 trials)",
    )


def test_trials_that_break_other_rules_stay_apart() -> None:
    trials = [
        invalid(0, Validity.ORIGIN_LIMITED, "late by 3 ms", "origin_lateness"),
        invalid(1, Validity.ORIGIN_LIMITED, "busy for 3 %", "origin_cpu"),
        invalid(2, Validity.UNSTEADY, "busy for 3 %", "drift"),
        invalid(3, Validity.UNSTEADY, "busy for 3 %", "drift"),
    ]
    assert trial_notes(trials) == (
        "ORIGIN_LIMITED: late by 3 ms (1 of 4 trials)",
        "ORIGIN_LIMITED: busy for 3 % (1 of 4 trials)",
        "UNSTEADY: busy for 3 % (2 of 4 trials)",
    )
    assert trial_notes(trials[:1]) == ("ORIGIN_LIMITED: late by 3 ms",)


def test_what_else_was_found_parts_no_reasons() -> None:
    trials = [
        invalid(0, Validity.INCORRECT, "9 % are wrong; also: foreign_cpu 27 %", "wrong_answers", "foreign_cpu"),
        invalid(1, Validity.INCORRECT, "9 % are wrong; also: drift 12 %, steal 6 %", "wrong_answers", "drift", "steal"),
    ]
    assert trial_notes(trials) == ("INCORRECT: 9 % are wrong; also: foreign_cpu 27 %, or similar (2 of 2 trials)",)


def test_the_rules_of_an_experiment_part_its_trials() -> None:
    late, busy = ServiceSummary(answers=100, errors=0), ServiceSummary(answers=100, errors=0)
    late = replace(late, send_lag_p99_ns=3_000_000, overhead_p99_ns=20e6)
    busy = replace(busy, generator_cpu_ns=9 * S, generator_wall_ns=10 * S)
    trials = [with_validity(HONEST.having(summary), SERVICE_RULES) for summary in (late, busy, busy)]
    assert [trial.broken_rules for trial in trials] == [("generator_late",), ("generator_cpu",), ("generator_cpu",)]
    notes = trial_notes(trials)
    assert [note.rpartition(" (")[2] for note in notes] == ["1 of 3 trials)", "2 of 3 trials)"]
    assert all(spoiled_aspects(trial) == set(Aspect) for trial in trials)
    # The same rules by their names and, in a record that does not have them, by its verdict.
    assert trial_notes([replace(trial, broken_rules=None) for trial in trials[1:]]) == trial_notes(trials[1:])


def test_a_record_without_the_names_of_rules_is_shown_like_one_with_them() -> None:
    busy = replace(HONEST, counters=replace(HONEST.counters, engine_cpu_user_ns=9 * S))
    crossed = replace(HONEST, tally=Tally(right=90, wrong_length=10))
    named = [with_validity(one, RULES) for one in (HONEST, busy, busy, crossed)]
    older = [replace(one, broken_rules=None) for one in named]
    assert [one.broken_rules for one in named] == [(), ("origin_cpu",), ("origin_cpu",), ("wrong_answers",)]
    assert trial_notes(older) == trial_notes(named)
    assert len(trial_notes(named)) == 2
    assert [spoiled_aspects(one) for one in older] == [spoiled_aspects(one) for one in named]
    # One rule has another verdict than the stored one: nothing explains it.
    assert broken_names(replace(older[1], validity=Validity.LINK_LIMITED)) == ()


@pytest.mark.parametrize(
    ("counters", "lines"),
    [
        ((Counters(signal=11), Counters(signal=11)), 1),
        ((Counters(signal=9), Counters(signal=9, out_of_memory=True)), 2),
        ((Counters(exit_code=1), Counters(exit_code=2)), 2),
    ],
)
def test_the_end_of_the_process_distinguishes_failures(counters: tuple[Counters, ...], lines: int) -> None:
    failed = [
        trial("a", block, outcome=Outcome.CRASHED, validity=None, reason=f"ended: {block}", counters=one)
        for block, one in enumerate(counters)
    ]
    assert len(trial_notes(failed)) == lines


def test_trials_that_went_well_need_no_words() -> None:
    assert trial_notes(trials_of("a", [1.0, 2.0])) == ()


def test_answers_that_could_not_be_checked_are_named_once_for_the_table() -> None:
    live = [
        trial(
            *(subject, block),
            validity=Validity.UNVERIFIED,
            validity_reason="no truth is known",
            tally=Tally(unverified=3),
        )
        for subject in "ab"
        for block in range(2)
    ]
    assert trial_notes(live) == ()
    assert unverified_notes(live) == ("UNVERIFIED: no truth is known; no client is ranked",)
    assert unverified_notes(trials_of("a", [1.0])) == ()
    # Trials whose experiment checks nothing, as those of tools, break no rule.
    assert unverified_notes([replace(one, broken_rules=()) for one in live]) == ()


def test_a_memory_limit_without_effect_is_noted_once_with_its_reason() -> None:
    def with_limit(reason: str | None) -> Counters:
        by = None if reason else "cgroup-v2"
        return Counters(memory_limit_bytes=2**31, memory_limit_enforced_by=by, memory_limit_reason=reason)

    unlimited = [
        trial(subject, block, counters=with_limit(f"/group/httpdyno-{block}: Permission denied"))
        for subject in "ab"
        for block in range(2)
    ]
    reason = "/group/httpdyno-0: Permission denied; see: httpdyno doctor"
    assert unlimited_notes(unlimited) == (f"memory was not limited to 2.0 GiB: {reason}",)
    limited = trial("a", 2, counters=with_limit(None))
    assert unlimited_notes([*unlimited, limited, trial("a", 3)]) == (
        f"memory was not limited to 2.0 GiB in 4 of 5 trials: {reason}",
    )
    assert unlimited_notes([limited, trial("a", 3)]) == ()


def test_several_subjects_without_packages_get_one_note_with_the_remedy() -> None:
    def without(subject: str, reason: str) -> Trial:
        return trial(subject, 0, outcome=Outcome.UNAVAILABLE, validity=None, reason=reason)

    lacking = [replace(without(name, "needs it"), install_command=f"apt-get install {name}") for name in "ab"]
    nowhere = without("c", "c: no package has it")
    assert missing_notes([*lacking, *lacking, nowhere, trial("d", 0)]) == (
        "2 lack packages; to install them first, add --install",
    )
    assert missing_notes([lacking[0], nowhere]) == ()


def spoke(subject: str, of_http_2: int, block: int = 0, **changes: object) -> Trial:
    """A trial of a hundred requests."""
    counts = (Count("1.1", 100 - of_http_2), Count("2", of_http_2))
    return trial(subject, block, counters=Counters(http_versions=counts), **changes)


@pytest.mark.parametrize(
    ("versions", "share"),
    [
        ((Count("1.1", 24), Count("2", 76)), 0.76),
        ((Count("1.0", 1), Count("1.1", 1)), 0.0),
        ((Count("2", 3),), 1.0),
        ((), None),
        (None, None),
    ],
)
def test_the_share_is_of_all_requests(versions: tuple[Count, ...] | None, share: float | None) -> None:
    assert http_2_share(trial("x", 0, counters=Counters(http_versions=versions))) == share


def test_subjects_that_spoke_another_version_are_named() -> None:
    trials = [spoke("a", 76), spoke("b", 73), spoke("c", 0), spoke("d", 0)]
    assert version_notes(trials) == (
        "HTTP versions differ, and so does the work of a client: the origin saw "
        "HTTP/2 in 73 to 76 % of the requests of C a, C b; no HTTP/2 of C c, C d",
    )


def test_two_copies_of_a_client_are_two_subjects() -> None:
    trials = [spoke("a", 76, method="client"), spoke("a-copy", 0, method="client")]
    (note,) = version_notes(trials)
    assert note.endswith("HTTP/2 in 76 % of the requests of C client (a); no HTTP/2 of C client (a-copy)")


@pytest.mark.parametrize(
    "trials",
    [
        [],
        [spoke("a", 76), spoke("b", 74)],
        [spoke("a", 0), spoke("b", 0)],
        [spoke("a", 76), spoke("b", 0, outcome=Outcome.CRASHED)],
        [spoke("a", 76), trial("b", 0)],
    ],
)
def test_there_is_nothing_to_say_where_they_are_alike_or_not_known(trials: list[Trial]) -> None:
    assert version_notes(trials) == ()


@pytest.mark.parametrize(
    ("asked", "notes"),
    [
        ([], ()),
        (["", ""], ()),
        (["1.1", "1.1"], ("clients were set to HTTP/1.1",)),
        (["2"], ("clients were set to HTTP/2: a host without it must be reported as an error",)),
    ],
)
def test_the_requested_version_is_named(asked: list[str], notes: tuple[str, ...]) -> None:
    assert asked_version_notes([trial("a", 0, http_version=version) for version in asked]) == notes


def test_a_subject_counts_with_the_median_of_its_trials() -> None:
    trials = [spoke("a", share, block) for block, share in enumerate((0, 76, 77))]
    assert version_notes([*trials, spoke("b", 75)]) == ()
