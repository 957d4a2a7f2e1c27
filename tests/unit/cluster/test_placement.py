"""The order of shards, their nodes, and what follows from a failure."""

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from httpdyno.cluster.placement import LONG_S, MOST_ATTEMPTS, Placement, ShardKey, Verdict, numbered


def placement_of(urls: Mapping[int, int], slots: Mapping[str, int]) -> Placement:
    return Placement({ShardKey(number): count for number, count in urls.items()}, dict(slots))


def key(number: int, part: int = 0) -> ShardKey:
    return ShardKey(number, part)


def test_the_largest_shards_start_first_on_the_nodes_with_the_most_free_slots() -> None:
    placement = placement_of({1: 10, 2: 30, 3: 20, 4: 5}, {"a": 1, "b": 2})
    assert [placement.next() for _ in range(4)] == [(key(2), "b"), (key(3), "a"), (key(1), "b"), None]
    assert placement.end(key(3), 0, "") is Verdict.DONE
    assert placement.next() == (key(4), "a")
    assert not placement.is_ended


def test_a_failed_shard_starts_next_and_on_another_node() -> None:
    placement = placement_of({1: 30, 2: 20, 3: 10}, {"a": 1, "b": 1})
    assert [placement.next(), placement.next()] == [(key(1), "a"), (key(2), "b")]
    assert placement.end(key(1), None, "lost") is Verdict.AGAIN
    # Only the node on which it failed is free: another shard goes there.
    assert placement.next() == (key(3), "a")
    placement.end(key(2), 0, "")
    assert placement.next() == (key(1), "b")


def test_a_failed_shard_stays_on_the_only_node() -> None:
    placement = placement_of({1: 1}, {"a": 1})
    for attempt in range(1, MOST_ATTEMPTS + 1):
        assert placement.next() == (key(1), "a")
        verdict = placement.end(key(1), 4, "full")
        assert verdict is (Verdict.GIVEN_UP if attempt == MOST_ATTEMPTS else Verdict.AGAIN)
    assert placement.next() is None
    assert placement.is_ended
    assert placement.given_up == [key(1)]
    assert [failure.line for failure in placement.failures[key(1)]] == ["full"] * MOST_ATTEMPTS


@pytest.mark.parametrize("exit_code", [2, 127])
def test_a_wrong_command_is_a_mistake_at_its_first_start_only(exit_code: int) -> None:
    placement = placement_of({1: 1}, {"a": 1})
    placement.next()
    assert placement.end(key(1), exit_code, "--x: unknown option") is Verdict.MISTAKE
    placement = placement_of({1: 1}, {"a": 1})
    placement.next()
    placement.end(key(1), None, "lost")
    placement.next()
    # An attempt on a lost node has the lock of the shard.
    assert placement.end(key(1), exit_code, "another httpdyno fetch has shard 1") is Verdict.AGAIN


def test_no_node_is_no_start() -> None:
    placement = placement_of({1: 1}, {"a": 1})
    placement.use_nodes({})
    assert placement.next() is None
    placement.use_nodes({"b": 1})
    assert placement.next() == (key(1), "b")


@given(
    urls=st.dictionaries(st.integers(1, 30), st.integers(0, 100), min_size=1),
    slots=st.dictionaries(st.sampled_from("abcd"), st.integers(1, 3), min_size=1),
    codes=st.lists(st.sampled_from([0, 0, 0, 1, 4, None]), min_size=1),
)
def test_each_shard_ends_once_and_no_node_has_more_than_its_slots(
    urls: dict[int, int], slots: dict[str, int], codes: list[int | None]
) -> None:
    placement = placement_of(urls, slots)
    starts = 0
    while not placement.is_ended:
        while placement.next() is not None:
            starts += 1
        used = Counter(placement.running.values())
        assert placement.running
        assert all(used[node] <= count for node, count in slots.items())
        placement.end(min(placement.running), codes[starts % len(codes)], "")
        starts += 1
    assert sorted([*placement.done, *placement.given_up]) == sorted(map(key, urls))


def test_free_slots_take_a_part_of_the_shard_that_would_keep_them_waiting_longest() -> None:
    placement = placement_of({1: 5000, 2: 4000, 3: 100}, {"a": 1, "b": 1})
    assert [placement.next(), placement.next()] == [(key(1), "a"), (key(2), "b")]
    remaining_s = {key(1): LONG_S, key(2): 10 * LONG_S}
    assert placement.straggler(remaining_s, {}) is None, "no slot is free"
    placement.use_nodes({"a": 1, "b": 1, "c": 1})
    assert placement.straggler(remaining_s, {}) is None, "another shard waits for the slot"
    assert placement.next() == (key(3), "c")
    placement.end(key(3), 0, "")
    assert placement.straggler(remaining_s, {}) == key(2)
    assert placement.straggler(remaining_s, {key(2)}) == key(1), "one is stopped already"
    assert placement.straggler({key(1): LONG_S - 1}, {key(2)}) is None, "the other one ends soon"
    placement.divide(key(2), {1: 1500, 2: 1400})
    placement.end(key(2), 0, "")
    assert placement.urls[key(2)] == 1100
    assert [placement.next(), placement.next()] == [(key(2, 1), "b"), (key(2, 2), "c")]
    placement.end(key(1), 0, "")
    assert placement.straggler({key(2, 1): 10 * LONG_S}, {}) is None, "a rest is not divided again"
    for part in (1, 2):
        assert not placement.is_ended
        placement.end(key(2, part), 0, "")
    assert placement.is_ended


def test_numbers_of_shards_are_written_in_their_order() -> None:
    assert numbered([key(3)]) == "shard 3"
    assert numbered([key(10), key(3, 2), key(3)]) == "shards 3, 3.2, 10"
    assert numbered([key(number) for number in range(1, 21)]) == "shards 1, 2, 3, 4, 5, 6, 7, 8 and 12 more"
