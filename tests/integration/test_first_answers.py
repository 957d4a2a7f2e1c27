"""A room serves only when it is ready: its first answers are the web's, whatever has to be prepared for them."""

import csv
import json
import os
import subprocess
from pathlib import Path

import pytest

from httpdyno.lab.engine import Engine

URLS = 300
IN_FLIGHT = 100
# More than any of these answers takes, and short enough to detect an origin that is a second late.
TIMEOUT_S = 3

Answers = dict[str, str]


def run(argv: list[str], given: str = "", **more: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(argv, input=given, env=os.environ | more, capture_output=True, text=True, check=True)


def due(engine: Engine, timeout_s: float) -> Answers:
    """Return the first URLs of a web that no test looks at otherwise, each with its status, or "error"."""
    web = ["--web", "top-sites", "--seed", "271828"]
    urls = run([str(engine.path), "urls", *web, "--limit", str(URLS)]).stdout
    expected = run([str(engine.path), "expect", *web, "--timeout", str(timeout_s)], urls).stdout
    rows = list(csv.DictReader(expected.splitlines()))
    assert len(rows) == URLS
    return {row["url"]: row["status"] or "error" for row in rows}


def crawl(engine: Engine, folder: Path, urls: list[str], timeout_s: float) -> tuple[Answers, str]:
    """Fetch `urls` in a room that does not know them in advance; return their statuses, and the room's messages."""
    (folder / "urls").write_text("".join(f"{url}\n" for url in urls), encoding="utf-8")
    fetch = f"{engine.path} fetch --concurrency {IN_FLIGHT} --timeout {timeout_s}s < {folder}/urls"
    room = [str(engine.path), "room", "--web", "top-sites", "--seed", "271828", "--report", str(folder / "report.json")]
    ended = run([*room, "--", "sh", "-c", fetch], XDG_CACHE_HOME=str(folder))
    rows = (line.rsplit(",", 4) for line in ended.stdout.splitlines())
    return {url: code if code.isdigit() else "error" for url, code, *_ in rows}, ended.stderr


def test_a_room_answers_as_its_web_says_before_and_after_anything_is_kept(engine: Engine, tmp_path: Path) -> None:
    # Errors are left out: some take as long as a client waits.
    expected = {url: status for url, status in due(engine, 60).items() if status != "error"}
    for made in (True, False):
        answers, said = crawl(engine, tmp_path, list(expected), 60)
        assert answers == expected
        assert ("compressing the pages of the web" in said) == made, said
    kept = {path.name.split("-")[0] for path in (tmp_path / "httpdyno" / "web").iterdir()}
    assert kept == {"gzip", "brotli", "zstd", "leaf"}


@pytest.mark.measured
def test_no_answer_is_missed_for_want_of_preparation(engine: Engine, tmp_path: Path) -> None:
    expected = due(engine, TIMEOUT_S)
    for _ in range(10):
        answers, said = crawl(engine, tmp_path, list(expected), TIMEOUT_S)
        late_ms = json.loads((tmp_path / "report.json").read_text())["origin"]["lateness_ns"]["p99"] / 1e6
        assert answers == expected, f"late by {late_ms} ms at p99; {said}"
