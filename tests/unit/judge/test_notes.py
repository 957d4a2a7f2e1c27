"""What is said about the trials of a subject: one line for each reason."""

from doubles.trials import trial, trials_of
from httpdyno.judge import trial_notes
from httpdyno.judge.notes import missing_notes, unlimited_notes, unverified_notes
from httpdyno.model import Counters, Outcome, Trial, Validity


def test_reasons_that_differ_in_their_numbers_only_are_one_line() -> None:
    limited = [
        trial("a", block, validity=Validity.ORIGIN_LIMITED, validity_reason=f"busy for {share} % (at most 5 %)")
        for block, share in enumerate(("69", "7.5", "12"))
    ]
    crashed = trial("a", 4, outcome=Outcome.CRASHED, validity=None, reason="killed by SIGSEGV")
    assert trial_notes([*limited, crashed]) == (
        "ORIGIN_LIMITED: busy for 69 % (at most 5 %), or similar (3 of 4 trials)",
        "crashed: killed by SIGSEGV (1 of 4 trials)",
    )


def test_reasons_of_other_words_or_verdicts_stay_apart() -> None:
    trials = [
        trial("a", 0, validity=Validity.ORIGIN_LIMITED, validity_reason="late by 3 ms"),
        trial("a", 1, validity=Validity.ORIGIN_LIMITED, validity_reason="busy for 3 %"),
        trial("a", 2, validity=Validity.UNSTEADY, validity_reason="busy for 3 %"),
        trial("a", 3, validity=Validity.UNSTEADY, validity_reason="busy for 3 %"),
    ]
    assert trial_notes(trials) == (
        "ORIGIN_LIMITED: late by 3 ms (1 of 4 trials)",
        "ORIGIN_LIMITED: busy for 3 % (1 of 4 trials)",
        "UNSTEADY: busy for 3 % (2 of 4 trials)",
    )
    assert trial_notes(trials[:1]) == ("ORIGIN_LIMITED: late by 3 ms",)


def test_what_else_was_found_parts_no_reasons() -> None:
    trials = [
        trial("a", 0, validity=Validity.INCORRECT, validity_reason="9 % are wrong; also: foreign_cpu 27 %"),
        trial("a", 1, validity=Validity.INCORRECT, validity_reason="9 % are wrong; also: drift 12 %, steal 6 %"),
    ]
    assert trial_notes(trials) == ("INCORRECT: 9 % are wrong; also: foreign_cpu 27 %, or similar (2 of 2 trials)",)


def test_trials_that_went_well_need_no_words() -> None:
    assert trial_notes(trials_of("a", [1.0, 2.0])) == ()


def test_answers_that_could_not_be_checked_are_named_once_for_the_table() -> None:
    live = [
        trial(subject, block, validity=Validity.UNVERIFIED, validity_reason="no truth is known")
        for subject in "ab"
        for block in range(2)
    ]
    assert trial_notes(live) == ()
    assert unverified_notes(live) == ("UNVERIFIED: no truth is known; no client is ranked",)
    assert unverified_notes(trials_of("a", [1.0])) == ()


def test_a_limit_of_memory_that_nobody_keeps_is_told_once_for_all_with_its_reason() -> None:
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


def test_several_that_lack_what_a_package_has_are_told_how_to_get_it_at_once() -> None:
    def without(subject: str, reason: str) -> Trial:
        return trial(subject, 0, outcome=Outcome.UNAVAILABLE, validity=None, reason=reason)

    lacking = [without(name, f"{name}: needs it, found none; install it with: apt-get install {name}") for name in "ab"]
    nowhere = without("c", "c: no package has it")
    assert missing_notes([*lacking, *lacking, nowhere, trial("d", 0)]) == (
        "2 lack what a package has: the same command with --install brings it first",
    )
    assert missing_notes([lacking[0], nowhere]) == ()
