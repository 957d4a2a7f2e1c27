"""A stopped crawl of the real internet leaves nothing, and can be resumed."""

import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command, Ended
from doubles.fetching_client import FETCHES
from doubles.loopback_site import Site

from ..conftest import wait_while_it_runs

HANGS = """
import subprocess, sys, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
open("asleep", "w").close()
time.sleep(1000)
"""

Start = Callable[..., "subprocess.Popen[str]"]
NothingLeft = Callable[..., None]


@pytest.fixture
def hanging(
    make_subject: MakeSubject, subject_folders: Path, start: Start, listed: str, tmp_path: Path
) -> "subprocess.Popen[str]":
    """Start a run whose first trial does not end, and return it when that has begun."""
    make_subject("hangs", HANGS)
    process = start(
        "bench",
        "hangs",
        "--subjects",
        str(subject_folders),
        "--web",
        "live",
        "--urls",
        listed,
        "--repeat",
        "2",
        "--yes",
    )
    builds = tmp_path / "cache" / "httpdyno" / "builds"
    wait_while_it_runs(process, lambda: any(builds.glob("hangs-*/folder/asleep")))
    return process


@pytest.mark.parametrize("signals", [(signal.SIGINT,), (signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_a_signal_leaves_nothing(
    hanging: "subprocess.Popen[str]",
    wait_for_end: Callable[[object], Ended],
    nothing_left: NothingLeft,
    signals: tuple[signal.Signals, ...],
) -> None:
    for number in signals:
        hanging.send_signal(number)
    ended = wait_for_end(hanging)
    assert ended.code == 128 + signals[0]
    assert "Traceback" not in ended.err
    assert "(partial)" in ended.err
    # The second one kills the engine outright.
    nothing_left(swept=len(signals) == 2)


def test_sigkill_leaves_nothing(
    hanging: "subprocess.Popen[str]", wait_for_end: Callable[[object], Ended], nothing_left: NothingLeft
) -> None:
    hanging.kill()
    assert wait_for_end(hanging).code == -signal.SIGKILL
    nothing_left(swept=True)


def test_a_run_goes_on_when_it_may(
    httpdyno: Command, start: Start, wait_for_end: Callable[[object], Ended], make_subject: MakeSubject,
    subject_folders: Path, listed: str, site: Site, tmp_path: Path,
) -> None:  # fmt: skip
    # The first trial ends by itself; the second waits until it is interrupted, unless it is configured otherwise.
    make_subject("twice", f"""
import os, pathlib, time
marks = pathlib.Path("marks")
with marks.open("a") as file:
    file.write("x")
while len(marks.read_text()) == 2:
    time.sleep(0.05)
{FETCHES}""")  # fmt: skip
    begun = start(
        "bench", "twice", "--subjects", str(subject_folders), "--web", "live", "--urls", listed, "--repeat", "2",
        "--yes", "--concurrency", "2", "--timeout", "60",
    )  # fmt: skip
    builds = tmp_path / "cache" / "httpdyno" / "builds"
    wait_while_it_runs(begun, lambda: any(path.read_text() == "xx" for path in builds.glob("twice-*/folder/marks")))
    begun.send_signal(signal.SIGINT)
    assert wait_for_end(begun).code == 130
    refused = httpdyno("bench", "--resume", "latest")
    assert refused.code == 2
    assert "give --yes to agree" in refused.err
    resumed = httpdyno("bench", "--resume", "latest", "--yes", "--format", "json")
    assert resumed.code == 0, resumed.err
    assert "this will send 30 requests to 3 hosts of the real internet: 30 URLs in 1 trial" in resumed.err
    assert sum(site.paths.values()) == 60
    assert [row["verdict"] for row in resumed.rows] == ["UNVERIFIED"]
