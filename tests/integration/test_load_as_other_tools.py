"""`httpdyno load --as TOOL`: command lines of other tools, against a server that counts their requests."""

import json
import os
import shlex
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from httpdyno.lab.engine import Engine

PATIENCE_S = 300
OWN_AGENT = "httpdyno/"


def counts_of_origin(engine: Engine, folder: Path, words: list[str]) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Run the command line of a tool, then what it was translated to; return both rows, and the counts of the server.

    ``URL`` stands for the address of the server.
    """
    counts = folder / "counts.json"
    argv: list[str | Path] = [engine.path, "origin", "--web", "plain", "--listen", "127.0.0.1:0", "--report", counts]
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as origin:
        assert origin.stderr
        url = f"{origin.stderr.readline().split()[-1].rstrip('/')}/plain"
        words = [word.replace("URL", url) for word in words]
        first = load(engine, folder, ["--no-store", "--format", "json", *words])
        (line,) = (line for line in first.stderr.splitlines() if "the same as: " in line)
        command, verb, *translated = shlex.split(line.partition("the same as: ")[2])
        assert (command, verb) == ("httpdyno", "load")
        again = load(engine, folder, translated)
        assert "the same as" not in again.stderr
        origin.send_signal(signal.SIGTERM)
        origin.wait(PATIENCE_S)
    rows = [row for ended in (first, again) for row in json.loads(ended.stdout)]
    return rows, json.loads(counts.read_text(encoding="utf-8"))["origin"]


def load(engine: Engine, folder: Path, words: list[str]) -> "subprocess.CompletedProcess[str]":
    ended = subprocess.run(
        [engine.path, "load", *words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended


@pytest.mark.parametrize(
    ("words", "requests", "connections", "agent"),
    [
        ("--as hey -- -n 120 -c 4 -t 60 -U probe/1 URL", 120, 4, "probe/1"),
        ("--as oha -- -n 120 -c 3 -t 60s --no-tui -H User-Agent:probe/2 URL", 120, 3, "probe/2"),
        ("--as ab -- -n 120 -c 4 -k -s 60 URL", 120, 4, OWN_AGENT),
        ("--as ab -- -n 40 -c 2 -s 60 URL", 40, 40, OWN_AGENT),
    ],
    ids=["hey", "oha", "ab", "ab without -k"],
)
def test_the_server_gets_as_many_requests_as_the_command_line_says(
    engine: Engine, tmp_path: Path, words: str, requests: int, connections: int, agent: str
) -> None:
    rows, seen = counts_of_origin(engine, tmp_path, words.split())
    assert [(row["sent"], row["requests"], row["errors"]) for row in rows] == [(requests, requests, 0)] * 2
    assert (seen["requests"], seen["connections"]) == (2 * requests, 2 * connections)
    (name,) = seen["user_agents"]
    assert name.startswith(agent)


def test_the_server_gets_the_requests_of_a_rate_of_wrk(engine: Engine, tmp_path: Path) -> None:
    words = "--as wrk -- -t2 -c2 -d1s -R150 --timeout 60s --latency URL"
    rows, seen = counts_of_origin(engine, tmp_path, words.split())
    # On a busy machine the last ones of the second are in flight at its end, or were never sent.
    for row in rows:
        assert row["requests"] + row["errors"] + row["censored"] + row["unsent"] == 150
        assert row["errors"] == 0
    assert 0 < sum(row["requests"] for row in rows) <= seen["requests"] <= sum(row["sent"] for row in rows)
    assert seen["connections"] <= 2 * 2
