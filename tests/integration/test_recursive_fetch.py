"""A recursive fetch by a program of Debian finds the pages of a host that the web says are there."""

import csv
import shutil
import subprocess
from pathlib import Path

import pytest

from httpdyno.lab.engine import Engine

PATIENCE_S = 300.0
HOSTS = ("gakise.jp", "nakogo.com", "bakero.com")
"""Hosts of the web `wild` without a fault, an oddity or a redirect, whose robots.txt forbids some of their pages.
The first rule that matches is the longest, since wget takes the first."""


def crawl_truth(engine: Engine, url: str, *more: str) -> list[dict[str, str]]:
    """Return the rows of `expect --links`."""
    argv = [str(engine.path), "expect", "--web", "wild", "--links", *more]
    asked = subprocess.run(argv, input=f"{url}\n", capture_output=True, text=True, check=True, timeout=PATIENCE_S)
    return list(csv.DictReader(asked.stdout.splitlines()))


def arrived(rows: list[dict[str, str]]) -> set[str]:
    """Return the URLs that reach the origin."""
    return {row["url"] for row in rows if row["arrives"] == "1"}


@pytest.mark.parametrize("obeys", [True, False], ids=["robots", "no robots"])
@pytest.mark.parametrize("host", HOSTS)
def test_wget_finds_the_pages_of_a_host(host: str, obeys: bool, engine: Engine, tmp_path: Path) -> None:
    if (wget := shutil.which("wget")) is None:
        pytest.skip("no wget here; as root: apt-get install wget")
    home = f"https://{host}/"
    every = crawl_truth(engine, home)
    due = crawl_truth(engine, home, "--capable", "robots") if obeys else every
    forbidden = {row["url"] for row in due if row["cause"] == "disallowed"}
    assert bool(forbidden) == obeys
    assert {row["status"] for row in every} >= {"200", "404"}
    argv = [
        wget,
        "--no-config",
        "-r",
        "-l",
        "inf",
        "-nv",
        "--tries=1",
        "-e",
        f"robots={'on' if obeys else 'off'}",
        home,
    ]
    room = [str(engine.path), "room", "--web", "wild", "--arrivals", str(tmp_path / "arrivals.csv"), "--", *argv]
    ran = subprocess.run(
        room,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        cwd=tmp_path,
    )
    # It ends with 8 since some pages are missing.
    assert ran.returncode == 8, ran.stderr
    with (tmp_path / "arrivals.csv").open(newline="") as rows:
        asked = [row["url"] for row in csv.DictReader(rows)]
    assert len(asked) == len(set(asked))
    assert set(asked) - {f"{home}robots.txt"} == arrived(due)
