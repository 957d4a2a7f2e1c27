"""The reservations of a run's figures."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from doubles.trials import trial
from httpdyno.model import Counters
from httpdyno.report.sections.reservation import reservations
from httpdyno.store import Machine, Manifest


def texts(
    settings: Mapping[str, int | float | bool], *, finished: int, planned: int = 4, counters: Counters | None = None
) -> list[str]:
    manifest = Manifest(
        "bench", ("httpdyno",), "0.1.0", datetime(2024, 1, 1, tzinfo=UTC), Machine("Linux", "6", "x"), planned,
        settings=settings,
    )  # fmt: skip
    trials = [trial("a", block, counters=counters or Counters()) for block in range(finished)]
    return [note.text for note in reservations(manifest, trials)]


@pytest.mark.parametrize("settings", [{}, {"quick": False, "repeat": 1}])
def test_a_whole_run_has_none(settings: Mapping[str, int | bool]) -> None:
    assert texts(settings, finished=4) == []


def test_a_first_look_states_how_often_each_subject_ran() -> None:
    once = "a first look (--quick): each subject ran once; differences may be chance"
    assert texts({"quick": True, "repeat": 1}, finished=4) == [once]
    (twice,) = texts({"quick": True, "repeat": 2}, finished=4)
    assert twice == "a first look (--quick): each subject ran 2 times; differences may be chance"


def test_a_run_that_was_stopped_states_how_many_trials_it_has() -> None:
    assert texts({}, finished=3) == ["not whole: 3 of 4 trials"]
    assert len(texts({"quick": True, "repeat": 1}, finished=3)) == 2


def test_a_run_whose_time_was_over_states_how_many_blocks_it_has() -> None:
    settings = {"repeat": 6, "time_budget_s": 540.0}
    left_out = "4 of 6 blocks: further blocks did not fit into 9 min; --repeat 6 runs all"
    assert texts(settings, finished=4) == [left_out]
    assert texts(settings, finished=6, planned=6) == []
    # A closing block comes after the planned ones.
    assert texts(settings | {"repeat": 3}, finished=4) == []
    assert texts(settings, finished=4, planned=6) == ["not whole: 4 of 6 trials"]


def test_a_run_without_its_memory_limit_states_that_once() -> None:
    counters = Counters(memory_limit_bytes=2**30, memory_limit_reason="no controller")
    unlimited = "memory was not limited to 1.0 GiB: no controller; see: httpdyno doctor"
    assert texts({}, finished=4, counters=counters) == [unlimited]
    assert texts({}, finished=3, counters=counters) == [unlimited, "not whole: 3 of 4 trials"]
