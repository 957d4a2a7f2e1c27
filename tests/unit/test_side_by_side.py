"""Who runs beside whom: each worker its own CPUs, a subject's tests on one of them, measurements apart."""

import pytest

from side_by_side import cpus_of, unit_of

SUBJECTS = ("go-net-http", "go-net-http-server", "native", "node-http")
CLIENTS, SERVERS = "tests/contract/test_client.py", "tests/contract/test_server.py"


@pytest.mark.parametrize(
    ("test", "unit"),
    [
        ("tests/unit/test_lockfiles.py::test_a_lock[native]", "tests/unit/test_lockfiles.py"),
        (f"{CLIENTS}::test_codings_are_decoded[native]", "native"),
        (f"{CLIENTS}::test_codings_are_decoded[go-net-http]", "go-net-http"),
        (f"{CLIENTS}::test_concurrency_is_honoured_and_used[go-net-http-7]", "go-net-http"),
        (f"{SERVERS}::test_a_session_is_not_ended_by_the_server[go-net-http-server]", "go-net-http-server"),
        (f"{SERVERS}::test_sigterm_ends_it_and_leaves_nothing[go-net-http-server-idle]", "go-net-http-server"),
        ("tests/contract/test_timed_calls.py::test_a[node-http-http://timed.test/bytes/111-1]", "node-http"),
        ("tests/contract/test_timed_calls.py::test_a[native-]", "native"),
        (
            "tests/contract/test_published_mistakes.py::test_a[no user agent]",
            "tests/contract/test_published_mistakes.py",
        ),
        ("tests/contract/test_patience.py::test_more_time", "tests/contract/test_patience.py"),
    ],
)
def test_what_stays_together(test: str, unit: str) -> None:
    assert unit_of(test, SUBJECTS) == unit


@pytest.mark.parametrize(
    ("cpus", "expected"),
    [
        ([0], [{0}, {0}]),
        ([0, 1], [{0, 1}, {0, 1}]),
        ([0, 1, 2, 3], [{0, 1}, {1, 2}, {2, 3}, {3, 0}, {0, 1}, {2, 3}]),
        ([2, 5, 7], [{2, 5}, {5, 7}, {7, 2}]),
    ],
)
def test_a_worker_has_two_cpus_where_there_are_two(cpus: list[int], expected: list[set[int]]) -> None:
    assert [cpus_of(worker, cpus) for worker in range(len(expected))] == expected


@pytest.mark.parametrize(
    ("cpus", "expected"), [([0, 1, 2, 3], [{0, 1}, {2, 3}]), ([1, 2, 5, 6, 7], [{1, 2}, {5, 6}]), ([4, 9], [{4, 9}])]
)
def test_a_lane_shares_its_cpus_with_nobody(cpus: list[int], expected: list[set[int]]) -> None:
    assert [cpus_of(lane, cpus, lanes=True) for lane in range(len(expected))] == expected
