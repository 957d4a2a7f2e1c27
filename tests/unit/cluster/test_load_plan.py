"""The words of a load for its generators and its merge, its start, and its seconds."""

import pytest

from httpdyno.cluster.command_line import refuse_options
from httpdyno.cluster.load_plan import REFUSED, START_LEAD_S, RunningSeconds, read_words, start_lead_s, step_words
from httpdyno.errors import UsageError


def test_limits_and_formats_go_to_the_merge() -> None:
    words = ["http://a/", "--cluster=local:3", "--rate", "9", "--fail-if", "p99 > 5ms", "--fail-if=errors > 1%"]
    more = ["--format", "json", "--report", "r", "--out", "o", "--clock-bound", "5ms", "-q"]
    plan = read_words([*words, *more])
    assert plan.cluster == "local:3"
    assert plan.engine == ["http://a/", "--rate", "9", "--clock-bound", "5ms"]
    limits = ["--fail-if", "p99 > 5ms", "--fail-if", "errors > 1%"]
    assert plan.merge == [*limits, "--format", "json", "--report", "r", "--clock-bound", "5ms"]
    assert (plan.out, plan.is_quiet) == ("o", True)
    assert plan.search is None
    assert not read_words(["http://a/"]).is_quiet


def test_the_steps_of_a_search_are_chosen_in_one_place() -> None:
    words = ["http://a/", "-k", "--cluster", "auto", "--find", "p99 < 5ms", "--find-for=60s", "-c50", "--seed", "3"]
    plan = read_words([*words, "--no-store", "--timeout", "2s", "-q"])
    assert plan.engine == ["http://a/", "-k", "--timeout", "2s", "--count-for", "p99 < 5ms"]
    assert plan.search == [word for word in [*words, "--no-store", "--timeout", "2s", "-q"] if word not in words[2:4]]
    step = {"rate": "1.500", "duration": "2s", "warm_up": "0s", "connections": 7, "arrivals": "poisson", "seed": 5}
    assert step_words(step) == [
        *("--rate", "1.500", "--duration", "2s", "--warm-up", "0s", "--connections", "7", "--arrivals", "poisson"),
        *("--seed", "5"),
    ]
    assert step_words({**step, "seed": None})[-2:] == ["--arrivals", "poisson"]


@pytest.mark.parametrize("words", [["--urls", "-"], ["--format", "ndjson"], ["--format=ndjson"]])
def test_what_nodes_cannot_do_is_refused(words: list[str]) -> None:
    with pytest.raises(UsageError, match="conflicts with --cluster"):
        read_words(["http://a/", *words])


@pytest.mark.parametrize("option", sorted(REFUSED))
def test_options_of_one_generator_are_refused_with_the_cure(option: str) -> None:
    with pytest.raises(UsageError, match=f"^{option} conflicts with --cluster: .+"):
        refuse_options(["http://a/", f"{option}=x"], REFUSED)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ([], START_LEAD_S),
        (["--connections-rate", "16/s"], START_LEAD_S + 4),
        (["-c", "500", "--connections-rate=100"], START_LEAD_S + 5),
        (["-c500", "--connections-rate", "x"], START_LEAD_S),
        (["--connections-rate", "0/s"], START_LEAD_S),
    ],
)
def test_the_start_waits_for_connections(words: list[str], expected: float) -> None:
    assert start_lead_s(words) == expected


def second(start_s: int, phase: str = "load", **counts: int) -> dict[str, object]:
    return {"phase": phase, "start_s": start_s, "end_s": start_s + 1.0, "rps": 0, "errors": 0, "in_flight": 0, **counts}


def test_a_second_is_shown_once_all_generators_have_it() -> None:
    seconds = RunningSeconds(2)
    assert seconds.add(1, second(0, rps=1000)) is None
    assert seconds.add(1, second(1, rps=5)) is None
    assert seconds.add(2, second(0, phase="warm-up", rps=7)) is None
    line = seconds.add(2, second(0, rps=500, errors=2, in_flight=3))
    assert line == "1 s: 1,500 requests/s from 2 generators, 2 errors, 3 in flight"
    assert seconds.add(2, second(1)) == "2 s: 5 requests/s from 2 generators, 0 errors, 0 in flight"


def test_a_generator_is_silent_when_it_is_far_behind_another() -> None:
    seconds = RunningSeconds(3)
    assert seconds.silent([1, 2, 3]) is None
    for end_s in range(1, 41):
        for generator in (1, 2) if end_s > 5 else (1, 2, 3):
            seconds.add(generator, second(end_s - 1))
        assert seconds.silent([1, 2, 3]) == (3 if end_s > 35 else None), end_s
    # One that has ended is not silent, and one that never reported is behind the start.
    assert seconds.silent([1, 2]) is None
    assert RunningSeconds(2).silent([1, 2]) is None
