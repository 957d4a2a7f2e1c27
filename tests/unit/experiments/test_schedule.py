"""The order of trials."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.errors import InvalidValue
from httpdyno.experiments.crawl.plan import Crawl
from httpdyno.experiments.plan import schedule, usual_repeat
from httpdyno.experiments.restoring import restored
from httpdyno.model import Condition, Link, Subject, SubjectKind, Workload
from httpdyno.store import WebIdentity

CONDITION = Condition("crawl", "plain", Workload(()))


def subjects(count: int) -> list[Subject]:
    return [
        Subject(
            id=f"s{number}",
            kind=SubjectKind.CLIENT,
            language="C",
            method="m",
            folder=Path("/nowhere"),
            run_argv=("x",),
        )
        for number in range(count)
    ]


@given(st.integers(1, 8), st.integers(1, 3), st.integers(1, 6), st.integers(0, 2**32))
def test_every_subject_runs_once_a_block(many: int, conditions: int, repeat: int, seed: int) -> None:
    grid = [Condition("crawl", f"web{number}", Workload(())) for number in range(conditions)]
    plans = schedule(subjects(many), grid, repeat=repeat, seed=seed)
    assert [plan.number for plan in plans] == list(range(many * conditions * repeat))
    for block in range(conditions * repeat):
        inside = [plan for plan in plans if plan.block == block]
        assert sorted(plan.subject.id for plan in inside) == sorted(subject.id for subject in subjects(many))
        assert [plan.position for plan in inside] == list(range(many))
        assert {plan.condition for plan in inside} == {grid[block % conditions]}


@given(st.integers(1, 8), st.integers(1, 3), st.integers(1, 6), st.integers(0, 2**32))
def test_every_subject_runs_as_often_as_every_other_under_every_condition(
    many: int, conditions: int, repeat: int, seed: int
) -> None:
    grid = [Condition("crawl", f"web{number}", Workload(())) for number in range(conditions)]
    plans = schedule(subjects(many), grid, repeat=repeat, seed=seed)
    counts = Counter((plan.subject.id, plan.condition.web) for plan in plans)
    assert set(counts.values()) == {repeat}
    assert len(counts) == many * conditions


@given(st.permutations(subjects(6)), st.integers(0, 2**32))
def test_the_order_in_which_subjects_are_named_decides_nothing(named: list[Subject], seed: int) -> None:
    usual = schedule(subjects(6), [CONDITION], repeat=3, seed=seed)
    assert schedule(named, [CONDITION], repeat=3, seed=seed) == usual


def test_every_subject_has_every_position_about_as_often() -> None:
    places = Counter(
        (plan.subject.id, plan.position) for plan in schedule(subjects(4), [CONDITION], repeat=1000, seed=1)
    )
    # 250 expected, standard deviation 14: five of them either way.
    assert len(places) == 16
    assert all(180 < count < 320 for count in places.values())


def test_the_seed_decides_the_order_for_ever() -> None:
    order = [plan.subject.id for plan in schedule(subjects(4), [CONDITION], repeat=2, seed=1)]
    assert order == [plan.subject.id for plan in schedule(subjects(4), [CONDITION], repeat=2, seed=1)]
    assert order == ["s0", "s1", "s2", "s3", "s3", "s2", "s0", "s1"]


def test_orders_differ_from_block_to_block_and_seed_to_seed() -> None:
    orders = {
        tuple(
            plan.subject.id for plan in schedule(subjects(4), [CONDITION], repeat=50, seed=seed) if plan.block == block
        )
        for seed in range(5)
        for block in range(50)
    }
    # 250 draws of 24 orders: a missing one has a chance of 1 in 1,700.
    assert len(orders) == 24


def test_nothing_to_repeat_is_refused() -> None:
    with pytest.raises(InvalidValue, match="repeat must be 1 or more, not 0"):
        schedule(subjects(1), [CONDITION], repeat=0, seed=1)


def test_a_crawl_is_one_condition() -> None:
    crawl = Crawl(file=Path("/urls"), web="plain", seed=5, concurrency=7, deadline_s=60, web_digest="d")
    (condition,) = crawl.conditions()
    assert (condition.experiment, condition.web, condition.seed, condition.deadline_s) == ("bench", "plain", 5, 60)
    plans = schedule(subjects(2), crawl.conditions(), repeat=3, seed=crawl.seed)
    assert len(plans) == 6
    assert {plan.concurrency for plan in plans} == {7}
    assert crawl.webs() == (WebIdentity("plain", 5, "d"),)


def test_a_crawl_over_a_link_is_made_again_from_its_settings() -> None:
    crawl = Crawl(file=Path("/urls"), link="rtt=40ms,loss=1%", link_seed=5)
    assert restored(Crawl, crawl.settings(), crawl.webs(), Path("/urls")) == crawl
    assert (crawl.condition.link, crawl.condition.link_seed) == (Link.parse("rtt=40ms,loss=1%"), 5)


@pytest.mark.parametrize(
    ("available", "quick", "repeat"), [(0, False, 5), (1, False, 5), (5, False, 5), (6, False, 7), (6, True, 1)]
)
def test_more_subjects_are_repeated_more_often(available: int, quick: bool, repeat: int) -> None:
    assert usual_repeat(available, quick=quick) == repeat
