"""A stopped run resumes with its remaining trials: real engine, real rooms."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.command_line import Command, Ended
from httpdyno.store import Run, holder_of, open_run

from .conftest import wait_until, wait_while_it_runs

# Sleeps for ever the first time, as if the machine had been switched off; later it answers.
SLEEPS_ONCE = """
import os, sys, time
if not os.path.exists({flag!r}):
    open({flag!r}, "w").close()
    time.sleep(1000)
"""
FAILS_TO_BUILD_ONCE = '[build]\nargv = ["sh", "-c", "test -e {flag} || {{ touch {flag}; sleep 1000; }}"]'

Start = Callable[..., "subprocess.Popen[str]"]
WaitForEnd = Callable[[object], Ended]


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path, tmp_path: Path) -> list[str]:
    """A bench of two clients, of which one sleeps in its first trial."""
    make_subject("quick", ANSWERS_ALL)
    make_subject("once", SLEEPS_ONCE.format(flag=str(tmp_path / "flag")) + ANSWERS_ALL)
    return [
        "bench", "quick", "once", "--subjects", str(subject_folders), "--web", "plain", "--limit", "5",
        "--repeat", "2",
    ]  # fmt: skip


def only_run(folder: Path) -> Path:
    (run,) = (folder / "runs").iterdir()
    return run


def check_whole(run: Run) -> None:
    assert run.manifest.state == "complete"
    trials = run.records()
    assert [trial.trial for trial in trials] == [0, 1, 2, 3]
    assert [(trial.block, trial.position) for trial in trials] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for block in (0, 1):
        assert {trial.subject for trial in trials if trial.block == block} == {"quick", "once"}
    assert run.samples().collect().height == 20


# SIGTERM stops the run in the background, below.
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on(
    given: list[str],
    start: Start,
    wait_for_end: WaitForEnd,
    httpdyno: Command,
    tmp_path: Path,
    number: signal.Signals,
    nothing_left: Callable[..., None],
) -> None:
    command = start(*given)
    wait_while_it_runs(command, (tmp_path / "flag").exists)
    folder = only_run(tmp_path)
    assert holder_of(folder) is not None
    command.send_signal(number)
    code = wait_for_end(command).code
    assert code == (-signal.SIGKILL if number is signal.SIGKILL else 130)
    assert holder_of(folder) is None
    before = open_run(folder)
    assert before.manifest.state == "partial"
    ended = httpdyno("bench", "--resume", "latest", "--format", "json")
    assert ended.code == 0, ended.err
    assert {row["totalUrls"] for row in ended.rows} == {5}
    run = open_run(folder)
    check_whole(run)
    assert run.records()[: len(before.trials)] == before.records()
    again = httpdyno("bench", "--resume", "latest")
    assert (again.code, again.out) == (2, "")
    nothing_left(swept=number is signal.SIGKILL)


def test_a_run_that_was_killed_while_it_was_being_built_goes_on(
    make_subject: MakeSubject, subject_folders: Path, start: Start, httpdyno: Command, tmp_path: Path
) -> None:
    make_subject("slow", ANSWERS_ALL, more=FAILS_TO_BUILD_ONCE.format(flag=tmp_path / "flag"))
    command = start(
        "bench", "slow", "--subjects", str(subject_folders), "--web", "plain", "--limit", "5", "--repeat", "1"
    )
    wait_while_it_runs(command, (tmp_path / "flag").exists)
    command.kill()
    command.wait()
    assert open_run(only_run(tmp_path)).manifest.state == "partial"
    ended = httpdyno("bench", "--resume", "latest", "--format", "json")
    assert ended.code == 0, ended.err
    run = open_run(only_run(tmp_path))
    assert (run.manifest.state, len(run.trials)) == ("complete", 1)


def test_a_run_in_the_background_outlives_the_session_that_began_it(
    given: list[str], httpdyno: Command, tmp_path: Path, nothing_left: Callable[..., None]
) -> None:
    (tmp_path / "flag").touch()
    ended = httpdyno(*given, "--detach")
    assert ended.code == 0, ended.err
    folder = tmp_path / ended.out.strip()
    assert folder == only_run(tmp_path)
    wait_until(lambda: holder_of(folder) is None, (folder / "output.txt").read_text)
    check_whole(open_run(folder))
    output = folder / "output.txt"
    wait_until(lambda: "httpdyno: run: " in output.read_text(), output.read_text)
    nothing_left()


def test_a_run_in_the_background_that_is_stopped_leaves_nothing(
    given: list[str], httpdyno: Command, tmp_path: Path, nothing_left: Callable[..., None]
) -> None:
    ended = httpdyno(*given, "--detach")
    folder = tmp_path / ended.out.strip()
    wait_until((tmp_path / "flag").exists, (folder / "output.txt").read_text)
    holder = holder_of(folder)
    assert holder is not None
    subprocess.run(["kill", str(holder)], check=True)
    wait_until(lambda: holder_of(folder) is None, (folder / "output.txt").read_text)
    nothing_left()
    assert httpdyno("bench", "--resume", folder.name).code == 0
    check_whole(open_run(folder))
