"""Which trials count, and which subjects may be ranked by them."""

from typing import Any

import pytest

from doubles.trials import trial, trials_of
from httpdyno.judge import rankable, rankable_trials
from httpdyno.model import Outcome, Trial, Validity

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
def test_so_is_one_trial_that_is_incorrect_or_that_nobody_can_verify(validity: Validity) -> None:
    assert not rankable(five(validity=validity))
    assert rankable_trials([trial("a", 0, 1, validity=validity)]) == ()


def test_an_interruption_is_not_the_subjects_fault() -> None:
    assert rankable(five(outcome=Outcome.INTERRUPTED, validity=None))


def test_no_trials_are_nothing_to_believe() -> None:
    assert not rankable([])
