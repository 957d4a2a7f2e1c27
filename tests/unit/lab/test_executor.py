"""What the executor of rooms asks the engine before it runs a trial."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from httpdyno.errors import Interrupted
from httpdyno.lab.engine import Engine
from httpdyno.lab.executor import RoomExecutor
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.planned_time import PlannedTime
from httpdyno.lab.room import Machine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, Workload

CONDITION = Condition("bench", "plain", Workload(()), seed=1)


@pytest.fixture
def executor(stand_in_engine: Path) -> Iterator[RoomExecutor]:
    """An executor of nothing, with a list of two URLs."""
    with ScratchFile() as urls, Interruption() as interruption:
        urls.file.write(b"https://a.example/\nhttps://b.example/\n")
        urls.file.flush()
        yield RoomExecutor(Engine(stand_in_engine), {}, urls, Machine(), interruption)


def test_the_engine_is_asked_once_for_each_condition(
    executor: RoomExecutor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    assert executor.planned_time(CONDITION) == PlannedTime(total_s=0.002, longest_s=0.001)
    assert executor.planned_time(CONDITION) == PlannedTime(total_s=0.002, longest_s=0.001)
    assert len((tmp_path / "log").read_text().splitlines()) == 1


def test_a_signal_ends_the_question_at_once(executor: RoomExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "silent")
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGTERM))
    timer.start()
    began = time.monotonic()
    with pytest.raises(Interrupted, match="interrupted while the web was being asked what each URL answers"):
        executor.planned_time(CONDITION)
    timer.join()
    assert time.monotonic() - began < 20
