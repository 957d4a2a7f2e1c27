"""`tune` with the real engine: a client's concurrency is found, kept and used; a search that is stopped says so."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from doubles.command_line import CORRECT, Command, Ended
from httpdyno.store import open_run

from .conftest import wait_while_it_runs

SLEEPS_ABOVE_ONE = """
import os, time
if os.environ["CONCURRENCY"] != "1":
    open("asleep", "w").close()
    time.sleep(1000)
"""


@pytest.mark.measured
def test_a_real_client_is_tuned_and_measured_with_what_was_found(httpdyno: Command, tmp_path: Path) -> None:
    given = ["rust-reqwest", "--web", "plain", "--limit", "1200", "--timeout", "1"]

    ended = httpdyno("tune", *given, "--format", "json")

    assert ended.code == 0, ended.err
    (chosen,) = [row for row in ended.rows if row["chosen"]]
    assert chosen["right_per_s"] > 0
    assert chosen["right_per_s_low"] < chosen["right_per_s"] < chosen["right_per_s_high"]
    assert 5 <= sum(row["trials"] for row in ended.rows) <= 12
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.state == "complete"
    trials = run.records()
    assert {trial.urls_given for trial in trials} == {1200}
    assert {trial.condition for trial in trials} == {f"{trial.concurrency} in flight" for trial in trials}
    (kept,) = (tmp_path / "cache" / "httpdyno" / "tuned").iterdir()
    assert json.loads(kept.read_text())["found"]["concurrency"] == chosen["concurrency"]
    page = (folder / "report.html").read_text()
    assert 'id="chart-tune"' in page
    assert f"chosen: {chosen['concurrency']}" in page

    bench = httpdyno("bench", *given, "--concurrency", "auto", "--repeat", "1", "--format", "json")

    assert bench.code == 0, bench.err
    assert bench.rows[0]["concurrency"] == chosen["concurrency"]
    assert bench.rows[0]["verdict"] in CORRECT


def test_a_search_that_is_stopped_keeps_its_trials_and_says_so(
    start: Callable[..., "subprocess.Popen[str]"],
    wait_for_end: Callable[[object], Ended],
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
) -> None:
    make_subject("sleeps", SLEEPS_ABOVE_ONE + ANSWERS_ALL, concurrency=3)
    builds = tmp_path / "cache" / "httpdyno" / "builds"
    process = start(
        "tune", "sleeps", "--subjects", str(subject_folders), "--web", "plain", "--limit", "50", "--duration", "1000"
    )
    wait_while_it_runs(process, lambda: any(builds.glob("sleeps-*/folder/asleep")))

    process.send_signal(signal.SIGINT)
    ended = wait_for_end(process)

    assert ended.code == 130
    assert "the search was interrupted: its result is not saved" in ended.err
    assert re.search(r"run: runs/\S+-tune \(partial\); continue with: httpdyno tune --resume runs/", ended.err)
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.state == "partial"
    assert [trial.concurrency for trial in run.records()] == [1]
    assert not (tmp_path / "cache" / "httpdyno" / "tuned").exists()


def test_a_client_is_measured_at_the_concurrency_that_two_trials_found(httpdyno: Command, tmp_path: Path) -> None:
    given = ("--web", "plain", "--limit", "400", "--repeat", "1", "--no-again")
    ended = httpdyno("bench", "native", *given, "--saturate", "--format", "json")
    assert ended.code == 0, ended.err
    found = re.search(r"native: ([0-9,]+) in flight: ", ended.err)
    assert found, ended.err
    assert ended.rows[0]["concurrency"] == int(found[1].replace(",", "")) <= 100
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    # The trials of the search are not part of the run, and a resumed run continues where it stopped.
    assert len(run.records()) == 1
    assert run.manifest.settings["saturate"] is True
