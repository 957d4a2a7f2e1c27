"""The order of shards, their nodes, and what follows from a failure."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.cluster.placement import MOST_ATTEMPTS, Placement, Verdict, numbered


def test_the_largest_shards_start_first_on_the_nodes_with_the_most_free_slots() -> None:
    placement = Placement({1: 10, 2: 30, 3: 20, 4: 5}, {"a": 1, "b": 2})
    assert [placement.next() for _ in range(4)] == [(2, "b"), (3, "a"), (1, "b"), None]
    assert placement.end(3, 0, "") is Verdict.DONE
    assert placement.next() == (4, "a")
    assert not placement.is_ended


def test_a_failed_shard_starts_next_and_on_another_node() -> None:
    placement = Placement({1: 30, 2: 20, 3: 10}, {"a": 1, "b": 1})
    assert [placement.next(), placement.next()] == [(1, "a"), (2, "b")]
    assert placement.end(1, None, "lost") is Verdict.AGAIN
    # Only the node on which it failed is free: another shard goes there.
    assert placement.next() == (3, "a")
    placement.end(2, 0, "")
    assert placement.next() == (1, "b")


def test_a_failed_shard_stays_on_the_only_node() -> None:
    placement = Placement({1: 1}, {"a": 1})
    for attempt in range(1, MOST_ATTEMPTS + 1):
        assert placement.next() == (1, "a")
        verdict = placement.end(1, 4, "full")
        assert verdict is (Verdict.GIVEN_UP if attempt == MOST_ATTEMPTS else Verdict.AGAIN)
    assert placement.next() is None
    assert placement.is_ended
    assert placement.given_up == [1]
    assert [failure.line for failure in placement.failures[1]] == ["full"] * MOST_ATTEMPTS


@pytest.mark.parametrize("exit_code", [2, 127])
def test_a_wrong_command_is_a_mistake_at_its_first_start_only(exit_code: int) -> None:
    placement = Placement({1: 1}, {"a": 1})
    placement.next()
    assert placement.end(1, exit_code, "--x: unknown option") is Verdict.MISTAKE
    placement = Placement({1: 1}, {"a": 1})
    placement.next()
    placement.end(1, None, "lost")
    placement.next()
    # An attempt on a lost node has the lock of the shard.
    assert placement.end(1, exit_code, "another httpdyno fetch has shard 1") is Verdict.AGAIN


def test_no_node_is_no_start() -> None:
    placement = Placement({1: 1}, {"a": 1})
    placement.use_nodes({})
    assert placement.next() is None
    placement.use_nodes({"b": 1})
    assert placement.next() == (1, "b")


@given(
    urls=st.dictionaries(st.integers(1, 30), st.integers(0, 100), min_size=1),
    slots=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3), min_size=1),
    codes=st.lists(st.sampled_from([0, 0, 0, 1, 4, None]), min_size=1),
)
def test_each_shard_ends_once_and_no_node_has_more_than_its_slots(
    urls: dict[int, int], slots: dict[str, int], codes: list[int | None]
) -> None:
    placement = Placement(urls, slots)
    starts = 0
    while not placement.is_ended:
        while placement.next() is not None:
            starts += 1
        used = Counter(placement.running.values())
        assert placement.running
        assert all(used[node] <= count for node, count in slots.items())
        placement.end(min(placement.running), codes[starts % len(codes)], "")
        starts += 1
    assert sorted([*placement.done, *placement.given_up]) == sorted(urls)


def test_numbers_of_shards_are_written_in_their_order() -> None:
    assert numbered([3]) == "shard 3"
    assert numbered([7, 3]) == "shards 3, 7"
    assert numbered(range(1, 21)) == "shards 1, 2, 3, 4, 5, 6, 7, 8 and 12 more"
