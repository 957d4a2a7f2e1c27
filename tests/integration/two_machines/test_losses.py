"""A measuring machine may die, and so may the origin: the origin is free again."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from conftest import MakeSubject
from doubles.command_line import Command
from doubles.two_machines import AGAINST, RunningOrigin
from httpdyno.lab.engine import Engine
from httpdyno.model import Outcome, Validity
from httpdyno.store import open_run

PATIENCE_S = 300

# Sends no request the first time, until it is ended; later it works.
WAITS_ONCE = """
import datetime, os, sys, time, urllib.request
if not os.path.exists({flag!r}):
    open({flag!r}, "w").close()
    time.sleep(1000)
for line in sys.stdin:
    began, now = time.monotonic(), datetime.datetime.now(datetime.timezone.utc)
    with urllib.request.urlopen(line.strip(), timeout=60) as answer:
        length = len(answer.read())
    took = (time.monotonic() - began) * 1000
    print(f"{{line.strip()}},200,{{now.isoformat()}},{{took}},{{length}}", flush=True)
"""

StartHere = Callable[..., "subprocess.Popen[str]"]


def test_one_measures_at_a_time_and_who_dies_holds_nothing(
    origin: Callable[..., RunningOrigin], start_here: StartHere, here: Command, engine: Engine, tmp_path: Path
) -> None:
    origin()
    room = ["room", "--web", "plain", "--against", AGAINST, "--", "sh", "-c", f"touch {tmp_path}/begun; sleep 100"]
    first = start_here(*room, program=[str(engine.path)])
    wait_for((tmp_path / "begun").exists)
    second = start_here(*room[:-3], "true", program=[str(engine.path)])
    _, err = second.communicate(timeout=PATIENCE_S)
    assert second.returncode == 125
    assert "is busy with a trial from 10.66.7.1, for " in err
    assert "wait until that has ended" in err
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    deadline = time.monotonic() + PATIENCE_S
    while True:
        ended = here("try", "native", "--against", AGAINST, "--limit", "5", "--format", "json")
        if ended.code == 0 or time.monotonic() > deadline:
            break
    assert (ended.code, ended.rows[0]["wrong"]) == (0, 0), ended.err


def test_an_origin_that_dies_fails_its_trial_and_the_run_goes_on_when_it_is_back(
    origin: Callable[..., RunningOrigin],
    start_here: StartHere,
    here: Command,
    urls: Path,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    nothing_left: Callable[..., None],
) -> None:
    running = origin()
    flag = tmp_path / "flag"
    make_subject("waits", WAITS_ONCE.format(flag=str(flag)))
    command = start_here(
        "bench", "waits", "--subjects", str(subject_folders), "--against", AGAINST, "--urls", str(urls),
        "--repeat", "3",
    )  # fmt: skip
    wait_for(flag.exists, command)
    running.kill()
    _, err = command.communicate(timeout=PATIENCE_S)
    assert command.returncode == 3, err
    assert "refuses connections; start an origin there" in err
    assert "Traceback" not in err
    (folder,) = (tmp_path / "runs").iterdir()
    before = open_run(folder)
    assert before.manifest.state == "partial"
    (lost,) = before.records()
    assert (lost.outcome, lost.validity) == (Outcome.REFUSED, Validity.ORIGIN_LIMITED)
    assert lost.reason is not None
    assert "was lost: it closed the connection" in lost.reason
    origin()
    ended = here("bench", "--resume", "latest", "--format", "json")
    assert ended.code == 0, ended.err
    run = open_run(folder)
    assert run.manifest.state == "complete"
    assert [trial.outcome for trial in run.records()] == [Outcome.REFUSED, Outcome.OK, Outcome.OK]
    assert json.loads(ended.out)[0]["wrong"] == 0
    nothing_left()


def wait_for(condition: Callable[[], bool], process: "subprocess.Popen[str] | None" = None) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert process is None or process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
