"""Queries to the engine before a trial."""

import signal
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.meanwhile import as_soon_as
from httpdyno.errors import Interrupted
from httpdyno.judge.validity import RULES
from httpdyno.lab.client_trial import CRAWL
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import LocalExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.planned_time import PlannedTime, planned_time
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import LIVE, Condition, Outcome, TrialPlan, UrlSeries, Validity, Workload
from httpdyno.subjects.build import build_subjects
from httpdyno.subjects.catalogue import read_subject

CONDITION = Condition("bench", "plain", Workload(()), seed=1)


@pytest.fixture
def executor(stand_in_engine: Path) -> Iterator[LocalExecutor]:
    """A lab without subjects, with a list of two URLs."""
    with ScratchFile() as urls, Interruption() as interruption:
        urls.file.write(b"https://a.example/\nhttps://b.example/\n")
        urls.file.flush()
        yield LocalExecutor(Engine(stand_in_engine), Pinning(), interruption, urls=urls)


def test_the_engine_is_queried_once_for_each_condition(
    executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    assert executor.planned_time(CONDITION) == planned_time(np.full(2, 0.001))
    assert executor.planned_time(CONDITION) == planned_time(np.full(2, 0.001))
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def test_a_signal_ends_the_question_at_once(
    executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "silent")
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))

    def signal_that_interrupts_no_read() -> None:
        # In a thread of its own: as if the signal came just before the main thread waits for the engine.
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    # The engine would go on for ever.
    with (
        as_soon_as((tmp_path / "log").exists, signal_that_interrupts_no_read),
        pytest.raises(Interrupted, match="interrupted while the answers of the web were being computed"),
    ):
        executor.planned_time(CONDITION)


def urls_of(executor: LocalExecutor, condition: Condition) -> int | None:
    planned = executor.planned_time(condition)
    return planned and planned.urls


def test_each_series_of_urls_in_use_is_computed_once(
    executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))

    def asked() -> int:
        return len((tmp_path / "log").read_text().splitlines())

    def series(size: int, count: int = 3) -> Condition:
        return replace(CONDITION, workload=Workload(UrlSeries(f"http://a.example/bytes/{size}?n=", count)))

    assert urls_of(executor, series(1)) == 3
    assert urls_of(executor, series(1)) == 3
    assert asked() == 1
    assert executor.planned_time(series(1, count=4)) == planned_time(np.full(4, 0.001))
    assert asked() == 2
    # A shorter list is a prefix of a known one.
    assert executor.planned_time(series(1, count=2)) == PlannedTime(total_s=0.002, longest_s=0.001, urls=2)
    assert urls_of(executor, series(1, count=4)) == 4
    assert asked() == 2
    assert urls_of(executor, CONDITION) == 2
    for size in range(2, 10):
        executor.planned_time(series(size))
    assert urls_of(executor, CONDITION) == 2
    assert asked() == 11
    # Hundreds of long lists would fill memory: those not used for a while are dropped.
    assert urls_of(executor, series(2)) == 3
    assert asked() == 11
    assert urls_of(executor, series(1)) == 3
    assert asked() == 12


def test_answers_of_the_real_internet_are_counted_and_not_judged(
    stand_in_engine: Path, make_subject: MakeSubject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    # The engine omits some output in line mode; the stand-in does not.
    subject = read_subject(make_subject("one", ANSWERS_ALL.replace("sys.stdin", "filter(str.strip, sys.stdin)")))
    builds = build_subjects([subject], tmp_path / "cache")
    live = replace(CONDITION, web=LIVE)
    with ScratchFile() as urls, Interruption() as interruption:
        urls.file.write(b"http://a.example/1\n\n  http://a.example/2 \r\nhttp://a.example/3\nhttp://b.example/\xff,x\n")
        urls.file.flush()
        executor = LocalExecutor(Engine(stand_in_engine), Pinning(), interruption, None, builds, urls=urls)
        assert executor.planned_time(live) is None
        judged = executor.run(TrialPlan(0, 0, 0, subject, live), CRAWL, RULES)
    trial = judged.trial
    assert (trial.outcome, trial.validity, trial.urls_given) == (Outcome.OK, Validity.UNVERIFIED, 4)
    assert trial.tally is not None
    assert (trial.tally.unverified, trial.tally.wrong) == (4, 0)
    assert trial.summary is not None
    assert (trial.summary.urls, trial.summary.status_2xx, trial.summary.right_per_s) == (4, 4, None)
    assert set(judged.samples["verdict"].to_list()) == {"unverified"}
    assert "http://b.example/\ufffd,x" in judged.samples["url"].to_list()
    assert [line.split('"')[1] for line in (tmp_path / "log").read_text().splitlines()] == ["room"]
