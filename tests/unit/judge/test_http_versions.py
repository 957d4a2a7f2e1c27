"""Which versions of HTTP the origin saw of each subject, and when a table says so."""

import pytest

from doubles.trials import trial
from httpdyno.judge.http_versions import asked_version_notes, http_2_share, version_notes
from httpdyno.model import Count, Counters, Outcome, Trial


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
        "HTTP versions differ, and with them what a client has to do: the origin saw "
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
        (["1.1", "1.1"], ("HTTP/1.1 alone was asked for",)),
        (["2"], ("HTTP/2 alone was asked for: a host that does not speak it has to be reported as an error",)),
    ],
)
def test_the_version_that_was_asked_for_is_named(asked: list[str], notes: tuple[str, ...]) -> None:
    assert asked_version_notes([trial("a", 0, http_version=version) for version in asked]) == notes


def test_a_subject_counts_with_the_median_of_its_trials() -> None:
    trials = [spoke("a", share, block) for block, share in enumerate((0, 76, 77))]
    assert version_notes([*trials, spoke("b", 75)]) == ()
