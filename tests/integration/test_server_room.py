"""Servers in a room, as its subject and as its peer: real ones that serve, keep silent, die, do not end, leak."""

import json
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doubles.command_line import Command, Ended

from .conftest import wait_until

SERVER = """
import os, resource, signal, socket, sys, time
kind = sys.argv[1]
kept = []
if kind == "silent":
    time.sleep(1000)
if kind == "broken":
    sys.exit("there is no module of that name")
if kind == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if kind == "leaks":
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
listening = socket.create_server((os.environ["HOST"], int(os.environ["PORT"])))
while True:
    connection = listening.accept()[0]
    if not connection.recv(1000):
        continue
    if kind == "dies":
        print("now it ends", flush=True)
        os._exit(3)
    if kind == "leaks":
        kept += [os.dup(0) for _ in range(50)]
    connection.sendall(b"HTTP/1.1 200 OK\\r\\ncontent-length: 5\\r\\nconnection: close\\r\\n\\r\\nhello")
    connection.close()
"""

DRIVER = """
import os, sys, time, urllib.request
# Memory and descriptors are looked at ten times a second: a second is time enough on a busy machine, too.
times, rests = int(sys.argv[1]), set(map(int, sys.argv[2:]))
for number in range(times):
    time.sleep(number in rests)
    print(urllib.request.urlopen(os.environ["SERVER_URL"]).read().decode(), flush=True)
"""

SLEEPS = "import time; open('driving', 'w').close(); time.sleep(1000)"

# Answers lines in pairs; a third one that arrives early would be a mistake of the feeder.
PAIRS = """
import select, sys, os
for _ in range(3):
    pair = b""
    while pair.count(b"\\n") < 2:
        pair += os.read(0, 1000)
    early = select.select([0], [], [], 0.05)[0]
    print("early" if early else "first", pair.split()[0].decode(), sep=",", flush=True)
    print("second", pair.split()[1].decode(), sep=",", flush=True)
"""

Driven = Callable[..., tuple[Ended, dict[str, Any]]]


@pytest.fixture
def drive(httpdyno: Command, tmp_path: Path) -> Driven:
    """Let a driver send a number of requests to a server of some kind, with pauses before some.

    Returns the end of the room and its report.
    """

    def run(
        kind: str, *, times: int = 1, rests: tuple[int, ...] = (), options: tuple[str, ...] = ()
    ) -> tuple[Ended, dict[str, Any]]:
        driver = [sys.executable, "-c", DRIVER, str(times), *map(str, rests)]
        done = httpdyno(
            "room", "--driver", shlex.join(driver), *options,
            "--report", "report.json", "--stderr", "server.txt", "--", sys.executable, "-c", SERVER, kind,
        )  # fmt: skip
        return done, json.loads((tmp_path / "report.json").read_text())

    return run


def test_a_server_is_driven_and_asked_to_end(drive: Driven, nothing_left: Callable[[], None]) -> None:
    ended, report = drive("serves", times=2)
    assert (ended.code, ended.out) == (0, "hello\nhello\n"), ended.err
    assert (report["outcome"], report["server"]["state"]) == ("ok", "served")
    assert report["driver"]["exit_code"] == 0
    assert report["server"]["ready_ns"] <= report["driver"]["started_ns"]
    assert report["subject"]["signal"] == signal.SIGTERM
    nothing_left()


@pytest.mark.parametrize(
    ("kind", "outcome", "reason"),
    [
        ("silent", "never_listened", "the server accepted no connection at 198.18.0.2:8080 within 1s"),
        ("broken", "died", "(exit code 1) before it accepted a connection; it printed last: there is no module of"),
        ("dies", "died", "the server ended by itself (exit code 3)"),
    ],
)
def test_a_server_that_fails_has_a_name_for_it_and_the_evidence(
    drive: Driven, nothing_left: Callable[[], None], kind: str, outcome: str, reason: str
) -> None:
    # A command that ends by itself must not count as a silent one, on a busy machine either.
    patience = "1s" if kind == "silent" else "60s"
    ended, report = drive(kind, options=("--ready-timeout", patience))
    assert ended.code == 0, ended.err
    assert report["outcome"] == report["server"]["state"] == outcome
    assert reason in report["reason"]
    assert reason in ended.err
    nothing_left()


def test_a_server_that_does_not_end_outlives_its_driver(drive: Driven, nothing_left: Callable[[], None]) -> None:
    _, report = drive("deaf")
    assert (report["outcome"], report["server"]["state"]) == ("ok", "outlived")
    assert report["subject"]["signal"] == signal.SIGKILL
    assert report["server"]["ended_after_ns"] >= 2_000_000_000
    nothing_left()


def test_a_server_that_leaks_descriptors_shows_it(drive: Driven) -> None:
    _, report = drive("leaks", times=10, rests=(0, 3))
    server = report["server"]
    # The sixth request has no descriptor left; the driver sees it fail.
    assert server["state"] == "died"
    assert report["subject"]["exit_code"] == 1
    assert server["descriptor_limit"] == 256
    counts = [count for _, count in server["descriptors"]]
    assert counts[0] < 50 < max(counts)
    assert 50 < server["most_descriptors_of_one_process"] <= 256


def test_an_interruption_leaves_neither_server_nor_driver(
    start: Callable[..., "subprocess.Popen[str]"],
    wait_for_end: Callable[["subprocess.Popen[str]"], Ended],
    nothing_left: Callable[[], None],
    tmp_path: Path,
) -> None:
    driver = shlex.join([sys.executable, "-c", SLEEPS])
    process = start("room", "--driver", driver, "--", sys.executable, "-c", SERVER, "serves")
    driving = tmp_path / "driving"
    wait_until(lambda: driving.exists() or process.poll() is not None, lambda: "the driver does not begin")
    process.send_signal(signal.SIGINT)
    assert wait_for_end(process).code == 130
    nothing_left()


def test_a_server_plays_the_peer_and_lines_come_in_batches(
    httpdyno: Command, tmp_path: Path, nothing_left: Callable[[], None]
) -> None:
    (tmp_path / "lines").write_text("".join(f"{number}\n" for number in range(6)))
    asks = (
        "import urllib.request; print(urllib.request.urlopen('http://peer.example:8080/').read().decode(), flush=True)"
    )
    peer = ("--peer", shlex.join([sys.executable, "-c", SERVER, "serves"]), "--peer-port", "8080")
    done = httpdyno(
        "room", *peer, "--stdin", "lines", "--stdout", "printed", "--batch", "2", "--report", "report.json", "--",
        sys.executable, "-c", f"{PAIRS}\n{asks}",
    )  # fmt: skip
    assert done.code == 0, done.err
    printed = (tmp_path / "printed").read_text().split()
    assert printed == ["first,0", "second,1", "first,2", "second,3", "first,4", "second,5", "hello"]
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["fed"] == {"batch": 2, "lines": 6, "batches": 3}
    assert report["peer"]["ready_ns"] > 0
    assert report["receive_steering"] == {"asked": False, "done": False, "reason": None}
    nothing_left()


def test_a_peer_that_dies_meanwhile_fails_the_trial_and_not_the_command(
    httpdyno: Command, tmp_path: Path, nothing_left: Callable[[], None]
) -> None:
    ask = """
import os, sys, time, urllib.request
def arguments(process): return open(f"/proc/{process}/cmdline", "rb").read()
(peer,) = (one for one in os.listdir("/proc") if one.isdigit() and arguments(one).endswith(b"\\0dies\\0"))
try:
    urllib.request.urlopen("http://peer.example:8080/")
except OSError:
    while os.path.exists(f"/proc/{peer}"):
        time.sleep(0.01)
    sys.exit(7)
"""
    done = httpdyno(
        "room", "--peer", shlex.join([sys.executable, "-c", SERVER, "dies"]), "--peer-port", "8080",
        "--peer-output", "peer.txt", "--report", "report.json", "--", sys.executable, "-c", ask,
    )  # fmt: skip
    report = json.loads((tmp_path / "report.json").read_text())
    assert (done.code, report["outcome"]) == (125, "peer_failed")
    assert report["reason"] == "the peer program ended during the trial (exit code 3); it printed last: now it ends"
    assert report["reason"] in done.err
    assert report["subject"]["exit_code"] == 7
    nothing_left()


@pytest.mark.parametrize(("kind", "reason"), [("broken", "there is no module"), ("silent", "within 500ms")])
def test_a_peer_that_is_not_ready_fails_the_trial(
    httpdyno: Command, tmp_path: Path, nothing_left: Callable[[], None], kind: str, reason: str
) -> None:
    patience = "500ms" if kind == "silent" else "60s"
    done = httpdyno(
        "room", "--peer", shlex.join([sys.executable, "-c", SERVER, kind]), "--peer-port", "8080",
        "--peer-ready-timeout", patience, "--peer-output", "peer.txt", "--report", "report.json",
        "--", "touch", "started",
    )  # fmt: skip
    report = json.loads((tmp_path / "report.json").read_text())
    assert (done.code, report["outcome"]) == (125, "peer_failed")
    assert reason in report["reason"]
    assert not (tmp_path / "started").exists()
    nothing_left()
