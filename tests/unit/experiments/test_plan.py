"""What a run consists of: a list, or a search."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.plans import following
from doubles.trials import trial
from httpdyno.errors import InvalidValue
from httpdyno.experiments.plan import ListedPlan, NextTrial, RepeatingPlan, SearchPlan
from httpdyno.experiments.restoring import restored
from httpdyno.experiments.schedule import schedule
from httpdyno.experiments.tune.tune import Tune
from httpdyno.model import Condition, Outcome, Subject, SubjectKind, Trial, TrialPlan, Validity, Workload

SUBJECTS = [
    Subject(id=name, kind=SubjectKind.CLIENT, language="C", method="m", folder=Path("/nowhere"), run_argv=("x",))
    for name in ("one", "two")
]
LISTED = ListedPlan(schedule(SUBJECTS, [Condition("bench", "plain", Workload(()))], repeat=3, seed=1))


def made(plan: TrialPlan, right_per_s: float = 10.0) -> Trial:
    return trial(
        plan.subject.id,
        plan.block,
        right_per_s,
        trial=plan.number,
        position=plan.position,
        condition=plan.condition.name,
        concurrency=plan.concurrency,
    )


def carry_out(plan: ListedPlan | RepeatingPlan | SearchPlan, seen: list[Trial]) -> list[Trial]:
    for next_trial in following(plan, seen):
        seen.append(made(next_trial, right_per_s=min(next_trial.concurrency, 40)))
    return seen


@given(st.integers(0, 6))
def test_a_list_goes_on_where_it_was_left(finished: int) -> None:
    whole = carry_out(LISTED, [])

    assert carry_out(LISTED, whole[:finished]) == whole
    assert [one.trial for one in whole] == list(range(LISTED.most))
    assert LISTED.unplanned(whole[:finished]) is None
    assert len(LISTED.left(whole[:finished])) == 6 - finished


def test_a_trial_that_is_not_in_the_list_is_found() -> None:
    foreign = trial("three", 0, 1.0)

    assert LISTED.unplanned([foreign]) is foreign


def repeating(spoiled: set[int]) -> tuple[RepeatingPlan, list[Trial]]:
    """Carry out a list of which the trials of some numbers are spoiled."""
    plan = RepeatingPlan(LISTED, lambda one: one.validity is Validity.UNSTEADY)
    seen: list[Trial] = []
    for planned in following(plan, seen):
        unsteady = Validity.UNSTEADY if planned.number in spoiled else Validity.VALID
        seen.append(replace(made(planned), validity=unsteady))
    return plan, seen


def test_without_a_spoiled_trial_a_list_ends_where_it_would() -> None:
    plan, seen = repeating(set())
    assert len(seen) == plan.most == 6


def test_whoever_was_disturbed_runs_again_in_a_block_of_its_own() -> None:
    plan, seen = repeating({2})
    spoiled, (*_, again) = seen[2], seen
    assert (len(seen), again.subject, again.block, again.position) == (7, spoiled.subject, 3, 0)
    assert plan.unplanned(seen) is None
    assert plan.left(seen) == []


def test_those_who_were_disturbed_together_run_again_together() -> None:
    _, seen = repeating({2, 3})
    assert {one.subject for one in seen[6:]} == {"one", "two"}
    assert [(one.block, one.position) for one in seen[6:]] == [(3, 0), (3, 1)]


@given(st.sets(st.integers(0, 12)))
def test_at_most_half_as_many_run_again_and_nobody_who_has_as_many_as_planned(spoiled: set[int]) -> None:
    plan, seen = repeating(spoiled)
    assert len(seen) <= 9
    for name in ("one", "two"):
        again = [one for one in seen[6:] if one.subject == name]
        good = sum(one.validity is Validity.VALID for one in seen if one.subject == name)
        assert good <= 3
        assert not again or any(one.validity is Validity.UNSTEADY for one in seen[:6] if one.subject == name)
    assert plan.unplanned(seen[::-1]) is None


def test_a_trial_that_would_not_run_again_is_found() -> None:
    plan, seen = repeating({2})
    other = replace(seen[-1], subject="one" if seen[-1].subject == "two" else "two")
    assert plan.unplanned([*seen[:-1], other]) is other


def counting_up(_subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
    number = len(seen)
    return NextTrial(Condition("tune", "plain", Workload(()), name=f"{number}"), "because") if number < 4 else None


def test_a_search_chooses_by_what_is_there() -> None:
    plan = SearchPlan((SUBJECTS[0],), Condition("tune", "plain", Workload(())), 12, counting_up)

    whole = carry_out(plan, [])

    assert [one.condition for one in whole] == ["0", "1", "2", "3"]
    assert [(one.trial, one.block, one.position) for one in whole] == [(n, n, 0) for n in range(4)]
    assert [plan.unplanned(whole[:count]) for count in range(5)] == [None] * 5
    assert plan.unplanned(whole[1:]) is whole[1]
    assert len(plan.left(whole)) == 8, "nobody knows that it has come to its end but the search"
    first = plan.next([])
    assert first is not None
    assert first.why == "because"


def test_a_search_has_no_more_trials_than_it_may() -> None:
    plan = SearchPlan((SUBJECTS[0],), Condition("tune", "plain", Workload(())), 2, counting_up)

    assert len(carry_out(plan, [])) == 2


def counting_to_its_own(subject: Subject, seen: Sequence[Trial]) -> NextTrial | None:
    ends = {"one": 2, "two": 4}[subject.id]
    assert all(one.subject == subject.id for one in seen)
    condition = Condition("tune", "plain", Workload(()), name=f"{len(seen)}")
    return NextTrial(condition, "because") if len(seen) < ends else None


def test_several_subjects_search_in_rounds_until_each_has_come_to_its_end() -> None:
    plan = SearchPlan(tuple(SUBJECTS), Condition("tune", "plain", Workload(())), 20, counting_to_its_own, seed=3)

    whole = carry_out(plan, [])

    assert [(one.block, one.position) for one in whole] == [(0, 0), (0, 1), (1, 0), (1, 1), (2, 0), (3, 0)]
    assert [{one.subject for one in whole if one.block == block} for block in range(4)] == [
        {"one", "two"},
        {"one", "two"},
        {"two"},
        {"two"},
    ]
    assert [one.condition for one in whole if one.subject == "two"] == ["0", "1", "2", "3"]
    for count in range(len(whole) + 1):
        assert carry_out(plan, whole[:count]) == whole
        assert plan.unplanned(whole[:count]) is None
    assert {one.subject.id for one in plan.left([])} == {"one", "two"}


TUNE = Tune(file=Path("/urls"), web="plain", web_digest="d")


def test_a_search_for_a_concurrency_goes_on_as_if_it_had_not_been_stopped() -> None:
    plan = TUNE.plan(SUBJECTS[:1])
    whole = carry_out(plan, [])

    assert plan.most == 12
    assert plan.open
    for count in range(len(whole)):
        assert carry_out(plan, whole[:count]) == whole
        assert plan.unplanned(whole[:count]) is None


def test_all_trials_of_a_search_have_the_same_web_and_list() -> None:
    plan = TUNE.plan(SUBJECTS[:1])
    planned: list[TrialPlan] = []
    seen: list[Trial] = []
    for next_trial in following(plan, seen):
        planned.append(next_trial)
        seen.append(made(next_trial))

    assert len({(one.condition.web, one.condition.seed, one.condition.workload) for one in planned}) == 1
    assert {one.condition.name for one in planned} == {f"{one.concurrency} in flight" for one in planned}


def test_a_subject_that_is_not_available_is_tried_once() -> None:
    plan = TUNE.plan(SUBJECTS[:1])

    assert plan.next([]) is not None
    assert plan.next([trial("one", 0, outcome=Outcome.UNAVAILABLE)]) is None


def test_each_subject_has_a_search_of_its_own_and_they_take_turns() -> None:
    plan = TUNE.plan(SUBJECTS)
    whole = carry_out(plan, [])

    assert plan.most == 24
    first = [one for one in whole if one.block == 0]
    assert {one.subject for one in first} == {"one", "two"}
    for subject in SUBJECTS:
        alone = carry_out(TUNE.plan([subject]), [])
        assert [one.condition for one in whole if one.subject == subject.id] == [one.condition for one in alone]
    for count in range(len(whole)):
        assert carry_out(plan, whole[:count]) == whole


def test_a_search_is_made_again_from_what_its_manifest_says() -> None:
    assert restored(Tune, {**TUNE.settings(), "more": 1}, TUNE.webs(), Path("/urls")) == TUNE


@pytest.mark.parametrize("deadline_s", [0, -1.0])
def test_a_search_that_no_trial_can_belong_to_is_refused(deadline_s: float) -> None:
    with pytest.raises(InvalidValue, match="duration"):
        Tune(file=Path("/urls"), deadline_s=deadline_s)
