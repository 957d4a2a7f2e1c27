"""A run that ends early, in any way, leaves only its finished trials."""

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.command_line import Ended
from doubles.traces import parent_of, pid_in_room, processes_of
from httpdyno.experiments.plan import schedule
from httpdyno.model import Condition, Subject, Workload
from httpdyno.store import open_run
from httpdyno.subjects.catalogue import read_subject

from .conftest import wait_while_it_runs

# With a child in a session of its own, like a browser: killing the subject's process group would not be enough.
SLEEPS = """
import subprocess, sys, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
print("https://a.example/,200,2026-11-21T10:00:00.000000+00:00,1.5,13", flush=True)
open("asleep", "w").close()
time.sleep(1000)
"""

SLEEPS_ONCE = """
import os, sys, time
for line in sys.stdin:
    print(f"{line.strip()},200,2026-11-21T10:00:00.000000+00:00,1.5,13", flush=True)
    if not os.path.exists("asleep"):
        open("asleep", "w").close()
        time.sleep(1000)
"""

CONDITIONS = [Condition("bench", "plain", Workload(()))]

Running = tuple["subprocess.Popen[str]", Path]


@pytest.fixture
def running(
    make_subject: MakeSubject, subject_folders: Path, start: Callable[..., "subprocess.Popen[str]"], tmp_path: Path
) -> Running:
    """Start a bench of two clients, and return it when the first has finished and the second sleeps."""
    subjects = [read_subject(make_subject("quick", ANSWERS_ALL)), read_subject(make_subject("sleeps", SLEEPS))]
    process = start(
        "bench", "quick", "sleeps", "--subjects", str(subject_folders), "--web", "plain", "--limit", "5",
        "--seed", str(seed_with_quick_first(subjects)),
    )  # fmt: skip
    builds = tmp_path / "cache" / "httpdyno" / "builds"
    wait_while_it_runs(process, lambda: any(builds.glob("sleeps-*/folder/asleep")))
    return process, tmp_path


def seed_with_quick_first(subjects: list[Subject]) -> int:
    plans = ((seed, schedule(subjects, CONDITIONS, repeat=1, seed=seed)) for seed in range(100))
    return next(seed for seed, plan in plans if plan[0].subject.id == "quick")


def check_kept(folder: Path) -> None:
    (run,) = (folder / "runs").iterdir()
    opened = open_run(run)
    assert opened.manifest.state == "partial"
    assert [trial.subject for trial in opened.records()] == ["quick"]
    assert opened.samples().collect().height == 5


def engine_of(folder: Path, command: int) -> int:
    """Find the engine: the child of the command that is outside of rooms."""
    (engine,) = [process for process in processes_of(folder) if parent_of(process) == command]
    return engine


# SIGINT is in test_resume.py.
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_finished_trials(
    running: Running, number: signal.Signals, wait_for_end: Callable[[object], Ended], nothing_left: Callable[..., None]
) -> None:
    command, folder = running
    command.send_signal(number)
    ended = wait_for_end(command)
    assert ended.code == 128 + number
    assert "quick" in ended.out
    assert "sleeps" not in ended.out
    assert "(partial)" in ended.err
    assert "Traceback" not in ended.err
    check_kept(folder)
    nothing_left()


def test_ctrl_c_twice_does_not_wait(
    running: Running, wait_for_end: Callable[[object], Ended], nothing_left: Callable[..., None]
) -> None:
    command, folder = running
    command.send_signal(signal.SIGINT)
    command.send_signal(signal.SIGINT)
    assert wait_for_end(command).code == 130
    check_kept(folder)
    # The second one kills the engine outright.
    nothing_left(swept=True)


def test_sigkill_of_the_command_leaves_nothing(
    running: Running, wait_for_end: Callable[[object], Ended], nothing_left: Callable[..., None]
) -> None:
    command, folder = running
    command.kill()
    assert wait_for_end(command).code == -signal.SIGKILL
    nothing_left(swept=True)
    check_kept(folder)


def test_sigkill_of_the_engine_is_one_line(
    running: Running, wait_for_end: Callable[[object], Ended], nothing_left: Callable[..., None]
) -> None:
    command, folder = running
    os.kill(engine_of(folder, command.pid), signal.SIGKILL)
    ended = wait_for_end(command)
    assert ended.code == 3
    assert ended.err.splitlines()[-1].startswith("httpdyno: the engine failed: ended with exit status -9")
    assert "Traceback" not in ended.err
    check_kept(folder)
    nothing_left(swept=True)


def test_sigkill_of_the_first_process_of_the_room_is_one_line(
    running: Running, wait_for_end: Callable[[object], Ended], nothing_left: Callable[..., None]
) -> None:
    command, folder = running
    (first,) = [process for process in processes_of(folder) if pid_in_room(process) == 1]
    os.kill(first, signal.SIGKILL)
    ended = wait_for_end(command)
    assert ended.code == 3
    assert "the room's first process ended unexpectedly" in ended.err.splitlines()[-1]
    check_kept(folder)
    nothing_left()


def test_a_signal_during_builds_ends_them(
    make_subject: MakeSubject,
    subject_folders: Path,
    start: Callable[..., "subprocess.Popen[str]"],
    wait_for_end: Callable[[object], Ended],
    nothing_left: Callable[..., None],
    tmp_path: Path,
) -> None:
    make_subject("slow", more='[build]\nargv = ["sh", "-c", "touch begun; sleep 1000"]')
    command = start("bench", "slow", "--subjects", str(subject_folders), "--web", "plain", "--limit", "5")
    wait_while_it_runs(command, lambda: any((tmp_path / "cache").rglob("begun")))
    command.send_signal(signal.SIGINT)
    ended = wait_for_end(command)
    assert ended.code == 130
    assert ended.err.splitlines()[-1] == "httpdyno: interrupted while building subjects"
    assert not any((tmp_path / "runs").iterdir())
    nothing_left()


def test_what_had_ended_of_a_try_is_kept_when_it_is_stopped(
    make_subject: MakeSubject,
    subject_folders: Path,
    start: Callable[..., "subprocess.Popen[str]"],
    tmp_path: Path,
    wait_for_end: Callable[[object], Ended],
    nothing_left: Callable[..., None],
) -> None:
    make_subject("sleeps", SLEEPS_ONCE)
    command = start("try", "sleeps", "--subjects", str(subject_folders), "--web", "plain", "--limit", "5")
    builds = tmp_path / "cache" / "httpdyno" / "builds"
    wait_while_it_runs(command, lambda: any(builds.glob("sleeps-*/folder/asleep")))
    command.send_signal(signal.SIGINT)
    ended = wait_for_end(command)
    assert ended.code == 130
    assert "sleeps: interrupted: 1 of 5 URLs had ended\n" in ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    assert (
        f"run: runs/{folder.name} (partial); continue with: httpdyno bench --resume runs/{folder.name}\n" in ended.err
    )
    run = open_run(folder)
    assert (run.manifest.state, [trial.outcome for trial in run.records()]) == ("partial", ["interrupted"])
    assert run.samples().collect()["line"].drop_nulls().to_list() == [1]
    nothing_left()
    # A stopped trial is repeated from its beginning.
    again = wait_for_end(start("bench", "--resume", str(folder)))
    assert again.code == 0, again.err
    run = open_run(folder)
    assert (run.manifest.state, [trial.outcome for trial in run.records()]) == ("complete", ["ok"])
    assert run.samples().collect()["line"].drop_nulls().to_list() == [1, 2, 3, 4, 5]
