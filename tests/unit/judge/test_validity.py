"""The validity of a trial by its answers."""

import pytest

from httpdyno.judge import correctness
from httpdyno.model import Tally, Validity


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
    assert correctness(tally)[0] is validity


def test_incorrect_says_what_most_of_it_is() -> None:
    assert correctness(Tally(right=90, late=4, wrong_length=6)) == (
        Validity.INCORRECT,
        "10 of 100 answers are wrong (10.0 %), most of them wrong_length",
    )
