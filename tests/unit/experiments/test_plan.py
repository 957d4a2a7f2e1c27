"""The plan of a run: a list, or a search."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doubles.plans import following
from doubles.trials import trial
from httpdyno.errors import InvalidValue
from httpdyno.experiments.plan import ListedPlan, NextTrial, RepeatingPlan, SearchPlan, TimeBudget, schedule
from httpdyno.experiments.restoring import restored
from httpdyno.experiments.tune.plan import Tune
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


def subject(name: str) -> Subject:
    return Subject(id=name, kind=SubjectKind.CLIENT, language="C", method="m", folder=Path("/nowhere"), run_argv=("x",))


def repeating_plan(names: str, blocks: int, budget: TimeBudget | None = None) -> RepeatingPlan:
    """Plan a number of blocks of subjects with one letter each."""
    condition = Condition("bench", "plain", Workload(()))
    return RepeatingPlan(
        schedule([subject(name) for name in names], [condition], repeat=blocks, seed=1),
        disturbed=lambda one: one.validity is Validity.UNSTEADY,
        figure=lambda one: one.summary.right_per_s if one.summary else None,
        budget=budget,
    )


Attempt = tuple[int, str, int]
"""A block, a subject, and which of its trials in that block it is, from 0."""


def repeating(plan: RepeatingPlan, disturbed: set[Attempt], unavailable: str = "") -> list[Trial]:
    """Run a plan in which other programs disturb some attempts; subject a is the slowest, b the next."""
    seen: list[Trial] = []
    for planned in following(plan, seen):
        name = planned.subject.id
        attempt = sum((one.block, one.subject) == (planned.block, name) for one in seen)
        validity = Validity.UNSTEADY if (planned.block, name, attempt) in disturbed else Validity.VALID
        one = replace(made(planned, right_per_s=10.0 * (1 + ord(name) - ord("a"))), validity=validity)
        if name in unavailable:
            one = replace(trial(name, planned.block, outcome=Outcome.UNAVAILABLE), trial=planned.number)
            one = replace(one, position=planned.position, condition=planned.condition.name)
        seen.append(one)
    return seen


def three_times(block: int, name: str) -> set[Attempt]:
    return {(block, name, attempt) for attempt in range(3)}


def added(plan: RepeatingPlan, seen: Sequence[Trial]) -> list[tuple[int, str]]:
    """Return block and subject of the trials that were not planned, in their order."""
    first: set[tuple[int, str]] = set()
    found = []
    for one in seen:
        place = (one.block, one.subject)
        if place in first or one.block > plan.trials[-1].block:
            found.append(place)
        first.add(place)
    return found


def test_a_list_without_a_disturbed_trial_has_no_repeats() -> None:
    plan = repeating_plan("ab", 3)
    seen = repeating(plan, set())
    assert [(one.trial, one.block, one.position, one.subject) for one in seen] == [
        (one.number, one.block, one.position, one.subject.id) for one in plan.trials
    ]
    assert len(seen) == plan.most == 6


def test_a_disturbed_trial_is_repeated_at_once_in_its_block() -> None:
    plan = repeating_plan("abc", 4)
    second = plan.trials[4].subject.id
    seen = repeating(plan, {(1, second, 0)})
    assert [one.subject for one in seen if one.block == 1].count(second) == 2
    assert (seen[4].subject, seen[5].subject, seen[5].block) == (second, second, 1)
    assert [one.trial for one in seen] == list(range(13))
    for block in range(4):
        assert [one.position for one in seen if one.block == block] == list(range(4 if block == 1 else 3))
    assert max(one.block for one in seen) == 3


@pytest.mark.parametrize(
    ("names", "blocks", "disturbed", "expected"),
    [
        # Repeated until it is undisturbed, twice at most.
        ("abc", 4, {(0, "a", 0)}, [(0, "a")]),
        ("abc", 4, {(0, "a", 0), (0, "a", 1)}, [(0, "a"), (0, "a")]),
        # Still disturbed: a closing block with all that it is compared with, once.
        ("abc", 4, three_times(0, "a"), [(0, "a"), (0, "a"), *((4, name) for name in "abc")]),
        ("abc", 4, {*three_times(0, "a"), (4, "a", 0)}, [(0, "a"), (0, "a"), *((4, name) for name in "abc")]),
        ("abcd", 6, three_times(1, "a") | three_times(3, "d"), [(1, "a")] * 2 + [(3, "d")] * 2 + [
            (6, name) for name in "abcd"]),
        # Too little is left for a whole one: the neighbours in the order of their medians.
        ("abcdef", 2, three_times(0, "a"), [(0, "a"), (0, "a"), *((2, name) for name in "abcd")]),
        ("abcdefgh", 1, three_times(0, "a"), [(0, "a"), (0, "a"), (1, "a"), (1, "b")]),
        ("abcdefgh", 1, three_times(0, "h"), [(0, "h"), (0, "h"), (1, "h"), (1, "g")]),
        ("abcdefghij", 1, three_times(0, "e"), [(0, "e"), (0, "e"), *((1, name) for name in "def")]),
        # Too few repeats are left for a pair: no closing block.
        ("abcdef", 1, three_times(0, "a"), [(0, "a"), (0, "a")]),
        ("ab", 1, three_times(0, "a"), [(0, "a")]),
        # A single subject is compared with none, and may use its closing trial for its median.
        ("a", 6, three_times(2, "a"), [(2, "a"), (2, "a"), (6, "a")]),
        ("a", 1, three_times(0, "a"), []),
    ],
)  # fmt: skip
def test_what_is_added_to_a_list(
    names: str, blocks: int, disturbed: set[Attempt], expected: list[tuple[int, str]]
) -> None:
    plan = repeating_plan(names, blocks)
    found = added(plan, repeating(plan, disturbed))
    # The order within a closing block is random.
    assert [place for place in found if place[0] < blocks] == [place for place in expected if place[0] < blocks]
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize(
    ("names", "blocks", "limit_s", "disturbed", "blocks_run"),
    [
        # Each trial takes 10 s.
        ("ab", 6, 120, set[Attempt](), 6),
        ("ab", 6, 119, set[Attempt](), 5),
        ("ab", 6, 80, set[Attempt](), 4),
        # The first three blocks run however long they take.
        ("ab", 6, 1, set[Attempt](), 3),
        ("ab", 2, 1, set[Attempt](), 2),
        # Repeats take time, too.
        ("ab", 6, 120, {(0, "a", 0)}, 5),
        ("ab", 6, 100, three_times(0, "a"), 4),
    ],
)
def test_blocks_that_would_end_after_the_time_budget_are_left_out(
    names: str, blocks: int, limit_s: float, disturbed: set[Attempt], blocks_run: int
) -> None:
    plan = repeating_plan(names, blocks, TimeBudget(limit_s, lambda _: 10.0))
    seen = repeating(plan, disturbed)
    for block in range(blocks_run):
        assert {one.subject for one in seen if one.block == block} == set(names)
    assert {one.block for one in seen} == set(range(blocks_run))
    assert plan.unplanned(seen) is None
    # Stopped anywhere and resumed, the plan goes on in the same way.
    for count in range(len(seen) - 1):
        following_trial = plan.next(seen[:count])
        assert following_trial
        assert (following_trial.block, following_trial.subject.id) == (seen[count].block, seen[count].subject)


@pytest.mark.parametrize(
    ("blocks", "limit_s", "closing"),
    [
        # Each trial takes 10 s: 12 or 16 of the list, 2 repeats, 4 in the closing block.
        (3, 180, True),
        (3, 179, True),
        (4, 220, True),
        # Three undisturbed blocks are enough where the time is over.
        (4, 219, False),
    ],
)
def test_a_late_closing_block_is_for_subjects_with_too_few_blocks(blocks: int, limit_s: float, closing: bool) -> None:
    plan = repeating_plan("abcd", blocks, TimeBudget(limit_s, lambda _: 10.0))
    seen = repeating(plan, three_times(0, "a"))
    assert {one.subject for one in seen if one.block == blocks} == (set("abcd") if closing else set())
    assert plan.unplanned(seen) is None


@pytest.mark.parametrize(
    ("limit_s", "expected_s", "finished", "left_s"),
    [
        # 12 trials in 6 blocks; those that have ended took 10 s each.
        (200, 10, 0, 120),
        (100, 10, 0, 100),
        # The first three blocks run anyway.
        (100, 30, 0, 180),
        (100, 30, 2, 120),
        (100, 10, 2, 80),
        # The fourth has begun.
        (80, 10, 7, 10),
        (80, 10, 8, 0),
        (1, 10, 6, 0),
    ],
)
def test_the_time_that_is_left_is_within_the_budget(
    limit_s: float, expected_s: float, finished: int, left_s: float
) -> None:
    seen = repeating(repeating_plan("ab", 6), set())[:finished]
    plan = repeating_plan("ab", 6, TimeBudget(limit_s, lambda _: 10.0))
    assert plan.left_s(seen, lambda _: expected_s) == left_s


def test_the_time_that_is_left_is_unknown_when_that_of_one_trial_is() -> None:
    for plan in (repeating_plan("ab", 2, TimeBudget(1, lambda _: 10.0)), LISTED):
        assert plan.left_s([], lambda one: None if one.block else 1.0) is None
        assert plan.left_s([], lambda _: 2.0) == 2.0 * plan.most


def test_a_block_that_has_begun_is_finished_after_the_time_budget() -> None:
    def took_s(one: Trial) -> float:
        return 1000.0 if one.block == 3 else 10.0

    seen = repeating(repeating_plan("abc", 6, TimeBudget(180, took_s)), set())
    assert [one.block for one in seen].count(3) == 3
    assert max(one.block for one in seen) == 3


def test_a_disturbance_that_lasts_is_not_answered_with_repeats() -> None:
    plan = repeating_plan("abc", 6)
    everything = {(block, name, attempt) for block in range(7) for name in "abc" for attempt in range(3)}
    # Two subjects twice; then the list, and no closing block.
    seen = repeating(plan, everything)
    assert [one.block for one in seen] == [0] * 7 + [1] * 3 + [2] * 3 + [3] * 3 + [4] * 3 + [5] * 3
    # Once a trial is undisturbed, repeats begin again.
    ended = {place for place in everything if place[0] != 2 and place != (4, "a", 1)}
    blocks = [one.block for one in repeating(plan, ended)]
    assert blocks.count(0) == 7
    assert blocks.count(1) == blocks.count(2) == 3
    assert blocks.count(3) == 7


def test_a_subject_without_a_figure_has_no_part_in_a_closing_block() -> None:
    plan = repeating_plan("abc", 4)
    seen = repeating(plan, three_times(0, "a"), unavailable="c")
    assert {one.subject for one in seen if one.block == 4} == {"a", "b"}


def test_the_subjects_that_lack_the_most_blocks_come_first() -> None:
    plan = repeating_plan("abcd", 5)
    lacking = three_times(0, "c") | three_times(1, "c") | three_times(2, "a") | three_times(3, "b")
    seen = repeating(plan, lacking)
    # Eight of ten repeats are used up in the blocks: two are left for three subjects.
    assert {one.subject for one in seen if one.block == 5} == {"a", "c"}


_attempts = st.tuples(st.integers(0, 5), st.sampled_from("abcd"), st.integers(0, 2))


@given(st.integers(1, 4), st.integers(0, 5), st.sets(_attempts))
def test_a_plan_with_repeats_keeps_its_promises(count: int, blocks: int, disturbed: set[Attempt]) -> None:
    names = "abcd"[:count]
    plan = repeating_plan(names, max(blocks, 1))
    seen = repeating(plan, disturbed)

    assert [one.trial for one in seen] == list(range(len(seen)))
    assert len(seen) - plan.most <= plan.most // 2
    assert max(one.block for one in seen) <= max(blocks, 1)
    by_block = {block: [one for one in seen if one.block == block] for block in {one.block for one in seen}}
    for block, trials in by_block.items():
        assert [one.position for one in trials] == list(range(len(trials)))
        for name in names:
            own = [one for one in trials if one.subject == name]
            assert len(own) <= (3 if block < max(blocks, 1) else 1)
            assert all(one.validity is Validity.UNSTEADY for one in own[:-1])
    listed = [(one.block, one.subject.id) for one in plan.trials]
    assert list(dict.fromkeys((one.block, one.subject) for one in seen))[: len(listed)] == listed
    # A run that was stopped anywhere goes on as it would have gone.
    assert plan.unplanned(seen[::-1]) is None
    for stopped in range(len(seen)):
        following_one = plan.next(seen[:stopped])
        assert following_one is not None
        assert (following_one.number, following_one.subject.id) == (stopped, seen[stopped].subject)
        assert following_one.added == bool(following_one.why)
        assert (
            len({(one.block, one.subject) for one in seen[:stopped] if one.block < max(blocks, 1)})
            + len(plan.left(seen[:stopped]))
            == plan.most
        )


def test_a_trial_that_the_plan_would_not_make_is_found() -> None:
    plan = repeating_plan("ab", 3)
    seen = repeating(plan, {(1, "a", 0)})
    again = next(one for place, one in enumerate(seen) if one.block == 1 and seen[place - 1].subject == one.subject)
    other = replace(again, subject="b")
    assert plan.unplanned([other if one is again else one for one in seen]) is other


def test_a_run_whose_repeats_had_blocks_of_their_own_is_continued_or_refused_by_name() -> None:
    """Up to version 0.1.0 repeats came in blocks after the list."""
    plan = repeating_plan("ab", 3)
    whole = repeating(plan, set())
    assert plan.unplanned(whole[:4]) is None
    disturbed = [replace(one, validity=Validity.UNSTEADY) if one.trial == 2 else one for one in whole]
    assert plan.unplanned(disturbed) is disturbed[3]
    appended = [*disturbed, replace(disturbed[2], trial=6, block=3, position=0, validity=Validity.VALID)]
    assert plan.unplanned(appended) is disturbed[3]


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
    assert len(plan.left(whole)) == 8, "only the search knows that it has ended"
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


def test_a_search_is_restored_from_its_manifest() -> None:
    assert restored(Tune, {**TUNE.settings(), "more": 1}, TUNE.webs(), Path("/urls")) == TUNE


@pytest.mark.parametrize("deadline_s", [0, -1.0])
def test_a_search_that_no_trial_can_belong_to_is_refused(deadline_s: float) -> None:
    with pytest.raises(InvalidValue, match="duration"):
        Tune(file=Path("/urls"), deadline_s=deadline_s)
