"""Distribution of tests: each worker has a CPU of its own, and one worker runs all tests of a subject."""

import pytest

from side_by_side import cpu_of, unit_of

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
        ("tests/contract/test_memory.py::test_flat", "tests/contract/test_memory.py"),
    ],
)
def test_what_stays_together(test: str, unit: str) -> None:
    assert unit_of(test, SUBJECTS) == unit


@pytest.mark.parametrize(("cpus", "expected"), [([0], [0, 0]), ([0, 1], [0, 1, 0]), ([2, 5, 7], [2, 5, 7, 2])])
def test_a_worker_has_a_cpu_of_its_own(cpus: list[int], expected: list[int]) -> None:
    assert [cpu_of(worker, cpus) for worker in range(len(expected))] == expected
