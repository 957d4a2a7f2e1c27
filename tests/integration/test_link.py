"""Crawls over a link: its parameters are stored, its measured values recorded, and an impossible one refused."""

import json
import sys
from html import unescape
from pathlib import Path

import polars as pl
import pytest

from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.model import Outcome, Validity
from httpdyno.store import open_run

RTT_NS = 40_000_000
pytestmark = pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="links need /dev/net/tun: modprobe tun")


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


@pytest.fixture
def urls(tmp_path: Path) -> Path:
    path = tmp_path / "urls"
    path.write_text("".join(f"http://host{number}.test/plain\n" for number in range(40)), encoding="utf-8")
    return path


ASKS_TWICE = """
import time, urllib.request
for number in range(2):
    began = time.monotonic_ns()
    assert urllib.request.urlopen(f"http://host{number}.test/plain").read() == b"Hello, World!"
    print(time.monotonic_ns() - began)
"""


def test_no_answer_is_faster_than_its_link(httpdyno: Command, tmp_path: Path) -> None:
    # The quality of the link is not checked: a busy machine may not reach it.
    link = ("--link", "rtt=40ms,down.rate=20mbit", "--link-check", "off", "--link-seed", "3")
    program = ("--", sys.executable, "-I", "-S", "-c", ASKS_TWICE)
    ended = httpdyno("room", "--web", "plain", *link, "--report", "report.json", *program)
    assert ended.code == 0, ended.err
    # Name, connection, request: three round trips at least.
    times = [int(line) for line in ended.out.split()]
    assert len(times) == 2
    assert min(times) >= 3 * RTT_NS
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert report["link"]["spec"] == "rtt=40ms,down.rate=20mbit,queue=100ms"
    assert report["link"]["seed"] == 3
    assert min(report["link"][way]["packets"] for way in ("up", "down")) >= 2 * 3


def test_a_link_that_cannot_be_had_is_refused_and_nothing_is_measured(here: Command, tmp_path: Path) -> None:
    ended = here("capacity", "native", "--size", "0", "--rps", "20", "--link-rate", "1000gbit", "--format", "json")
    assert ended.code == 3
    (row,) = ended.rows
    assert row["verdict"] == "refused"
    assert "the link is not as requested" in row["why_not"]
    assert "Traceback" not in ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    (trial,) = open_run(folder).records()
    assert (trial.outcome, trial.validity) == (Outcome.REFUSED, Validity.LINK_LIMITED)
    assert trial.validity_reason
    assert trial.reason == trial.validity_reason
    assert len(trial.reason.splitlines()) == 1
    assert trial.counters.wall_ns is None, "the subject was not started"


@pytest.mark.measured
def test_what_a_link_was_stands_in_its_run(httpdyno: Command, urls: Path, tmp_path: Path) -> None:
    arguments = [
        "--web",
        "plain",
        "--urls",
        str(urls),
        "--quick",
        "--link",
        "rtt=40ms,down.rate=20mbit",
        "--link-seed",
        "3",
    ]
    ended = httpdyno("bench", "native", *arguments, "--format", "json")
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.settings["link"] == "rtt=40ms,down.rate=20mbit,queue=100ms"
    (trial,) = run.records()
    link = trial.counters.link
    assert link is not None, ended.err
    assert link.rtt_p50_ns is not None
    assert (link.seed, link.up.goodput_bits_per_s) == (3, None)
    assert link.rtt_p50_ns >= RTT_NS
    page = unescape((folder / "report.html").read_text(encoding="utf-8"))
    assert "What the link was" in page
    assert "rtt=40ms,down.rate=20mbit,queue=100ms" in page
    assert (ended.code, link.verdict, trial.outcome) == (0, "held", Outcome.OK)
    # Name, connection, request: three round trips at least.
    shortest = run.samples().select(pl.col("duration_ns").min()).collect().item()
    assert shortest >= 3 * RTT_NS
    assert link.down.packets is not None
    assert link.down.packets >= 40
    assert link.up.lateness_p99_ns is not None


@pytest.mark.measured
def test_a_crawl_over_a_link_that_cannot_be_had_is_refused(httpdyno: Command, urls: Path) -> None:
    ended = httpdyno("bench", "native", "--web", "plain", "--urls", str(urls), "--quick", "--link", "rate=1tbit")
    assert ended.code == 3
    assert "LINK_LIMITED" in ended.out
    assert "Traceback" not in ended.err
    again = httpdyno("try", "native", "--web", "plain", "--urls", str(urls), "--link", "rate=1tbit")
    assert (again.code, again.out.count("[200]")) == (3, 0)
