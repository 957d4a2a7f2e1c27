"""A crawl against another machine is judged by that machine's records."""

import os
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from conftest import MakeSubject
from doubles.command_line import CORRECT, Command
from doubles.load import hogs
from doubles.two_machines import AGAINST, PORT, THERE_V6, RunningOrigin
from httpdyno.experiments.registry import definition_of
from httpdyno.judge.verdict import DONE_SLACK_NS
from httpdyno.model import Validity
from httpdyno.runs.showing import build_report
from httpdyno.store import open_run

CPUS = sorted(os.sched_getaffinity(0))

# Claims answers that are right in every figure, at times without any request.
LIES = """
import datetime, sys
for line in sys.stdin:
    now = datetime.datetime.now(datetime.timezone.utc)
    print(f"{line.strip()},200,{now.isoformat()},1.5,100", flush=True)
"""


@pytest.mark.parametrize("against", [AGAINST, f"http://[{THERE_V6}]:{PORT}"])
def test_verdicts_rest_on_what_the_other_machine_saw(
    origin: Callable[..., RunningOrigin], here: Command, urls: Path, tmp_path: Path, against: str
) -> None:
    origin()
    ended = here(
        "bench", "native", "--against", against, "--urls", str(urls), "--repeat", "2", "--format", "json"
    )  # fmt: skip
    assert ended.code == 0, ended.err
    assert f"{against} serves plain, seed 1; " in ended.err
    (row,) = ended.rows
    assert (row["totalUrls"], row["wrong"], row["okReqsPct"]) == (40, 0, 1)
    assert row["verdict"] in CORRECT
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.settings["against"] == against
    for trial in run.records():
        way = trial.counters.against
        assert way is not None
        assert (trial.link, way.url) == (f"against {against}", against)
        # The origin's counts are of this trial alone, without control requests.
        assert (trial.counters.requests, trial.counters.repeated) == (40, 0)
        assert trial.counters.connections is not None
        assert 1 <= trial.counters.connections <= 40
        assert trial.counters.sent_bytes is None
        assert {cpu.role for cpu in trial.counters.cpus or ()} == {"subject", "engine"}
        assert way.rtt_min_ns is not None
        assert way.rtt_p50_ns is not None
        assert way.clock_bound_ns is not None
        assert way.clock_ahead_ns is not None
        assert 0 < way.rtt_min_ns <= way.rtt_p50_ns
        # One machine, one clock: the found offset must be within its bound.
        assert abs(way.clock_ahead_ns) <= way.clock_bound_ns
    asked = run.samples().select(pl.col("url")).collect()["url"]
    assert set(asked) == {f"{against}/bytes/100?n={n}" for n in range(40)}
    page = repr(build_report(run, definition_of("bench")))
    assert f"against {against}" in page
    assert "Other machine" in page


def test_the_webs_own_urls_are_asked_there_and_keep_apart(
    origin: Callable[..., RunningOrigin], here: Command, tmp_path: Path
) -> None:
    origin()
    ended = here("bench", "native", "--against", AGAINST, "--limit", "50", "--repeat", "1", "--format", "json")
    assert ended.code == 0, ended.err
    assert (ended.rows[0]["totalUrls"], ended.rows[0]["wrong"]) == (50, 0)
    (folder,) = (tmp_path / "runs").iterdir()
    asked = open_run(folder).samples().select(pl.col("url").n_unique()).collect().item()
    assert asked == 50


def test_who_never_asked_is_caught(
    origin: Callable[..., RunningOrigin], here: Command, urls: Path, make_subject: MakeSubject, subject_folders: Path
) -> None:
    origin()
    make_subject("liar", LIES)
    ended = here(
        "bench", "liar", "--subjects", str(subject_folders), "--against", AGAINST, "--urls", str(urls),
        "--repeat", "1", "--format", "json",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert (row["wrong"], row["verdict"]) == (40, Validity.INCORRECT)


@pytest.mark.measured
@pytest.mark.skipif(len(CPUS) < 2, reason="origin and subject need a CPU each")
def test_an_origin_without_its_cpu_is_said_to_be_disturbed(
    origin: Callable[..., RunningOrigin], here: Command, tmp_path: Path
) -> None:
    origin()
    # Long enough on a quick machine, too: less than a second is not judged.
    listed = tmp_path / "list"
    listed.write_text("".join(f"{AGAINST}/bytes/100?n={n}\n" for n in range(160_000)), encoding="utf-8")
    with hogs(CPUS[0], 3):
        ended = here(
            "bench", "native", "--against", AGAINST, "--urls", str(listed), "--repeat", "1",
            "--cpus", f"{CPUS[-1]}:{CPUS[-2]}", "--format", "json",
        )  # fmt: skip
    assert ended.code == 0, ended.err
    (row,) = ended.rows
    assert row["verdict"] == Validity.DISTURBED
    # It is not called wrong, except where the origin lost its CPU between an answer and its record, for longer than
    # allowed: that happens at most once in such a time.
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    wrong = run.samples().filter(pl.col("verdict").cast(pl.String) != "right").collect()
    assert set(wrong["verdict"]) <= {"wrong_time"}
    (trial,) = run.records()
    assert trial.counters.wall_ns is not None
    assert wrong.height * DONE_SLACK_NS <= trial.counters.wall_ns
