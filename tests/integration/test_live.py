"""The real command against servers of our own on this machine, as it would ask the real internet."""

import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import httpdyno as package
from conftest import MakeSubject
from doubles.command_line import Command, Ended
from doubles.traces import processes_of

HOSTS = ("127.0.0.1", "127.0.0.2", "127.0.0.3")

FETCHES = """
import http.client, os, sys, threading, time, urllib.request
from datetime import datetime, timezone
lock = threading.Lock()

def fetch(url):
    start, began = datetime.now(timezone.utc), time.monotonic()
    try:
        request = urllib.request.Request(url, headers={"User-Agent": os.environ["USER_AGENT"]})
        with urllib.request.urlopen(request, timeout=float(os.environ["REQUEST_TIMEOUT"])) as answer:
            code, length = answer.status, len(answer.read())
    except Exception as error:
        code, length = type(error).__name__, 0
    took = 1000 * (time.monotonic() - began)
    with lock:
        print(f"{url},{code},{start.isoformat(timespec='microseconds')},{took:.3f},{length}", flush=True)

def work():
    while True:
        with lock_in:
            line = sys.stdin.readline()
        if not line:
            return
        fetch(line.strip())

lock_in = threading.Lock()
threads = [threading.Thread(target=work) for _ in range(int(os.environ["CONCURRENCY"]))]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""
"""A correct client of urllib and threads."""

HANGS = """
import subprocess, sys, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
open("asleep", "w").close()
time.sleep(1000)
"""

Start = Callable[..., "subprocess.Popen[str]"]
NothingLeft = Callable[..., None]


class Site(ThreadingHTTPServer):
    """A server that answers on every address of the loopback, and remembers who asked for what."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("0.0.0.0", 0), Page)
        self.lock = threading.Lock()
        self.paths: Counter[str] = Counter()
        self.user_agents: Counter[str] = Counter()
        self.in_flight: Counter[str] = Counter()
        self.most_in_flight: dict[str, int] = defaultdict(int)

    def urls(self, pages: int, path: str = "page") -> list[str]:
        return [f"http://{host}:{self.server_port}/{path}/{page}" for page in range(pages) for host in HOSTS]


class Page(BaseHTTPRequestHandler):
    """Answers a little late; below /stall never."""

    server: Site

    def do_GET(self) -> None:
        host = self.headers["Host"].partition(":")[0]
        with self.server.lock:
            self.server.paths[self.path] += 1
            self.server.user_agents[self.headers["User-Agent"]] += 1
            self.server.in_flight[host] += 1
            self.server.most_in_flight[host] = max(self.server.most_in_flight[host], self.server.in_flight[host])
        time.sleep(1000 if self.path.startswith("/stall") else 0.01)
        with self.server.lock:
            self.server.in_flight[host] -= 1
        self.send_response(200)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"hello")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[Site]:
    with Site() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def listed(tmp_path: Path, site: Site) -> str:
    """Write a list of ten pages of each of three hosts; give its name."""
    (tmp_path / "urls.txt").write_text("\n".join(site.urls(10)), encoding="utf-8")
    return "urls.txt"


@pytest.fixture
def clients(make_subject: MakeSubject, subject_folders: Path) -> tuple[str, ...]:
    make_subject("one", FETCHES)
    make_subject("two", FETCHES)
    return ("one", "two", "--subjects", str(subject_folders), "--web", "live")


def test_a_bench_of_the_real_internet(
    httpdyno: Command, clients: tuple[str, ...], listed: str, site: Site, tmp_path: Path, nothing_left: NothingLeft
) -> None:
    ended = httpdyno(
        "bench", *clients, "--urls", listed, "--repeat", "2", "--concurrency", "9", "--yes", "--format", "json"
    )
    assert ended.code == 0, ended.err
    for row in ended.rows:
        assert (row["totalUrls"], row["2xx"], row["avgBodyLen"], row["okReqsPct"]) == (30, 30, 5, 1)
        assert (row["wrong"], row["verdict"], row["rank"], row["rightPerSec"]) == (None, "UNVERIFIED", None, None)
        assert row["wireBytes"] is row["connections"] is None
        assert row["time"] > 0
        assert row["cpuUser"] + row["cpuSys"] > 0
        assert row["peakMemory"] > 1_000_000
    assert "this will send 120 requests to 3 hosts of the real internet: 30 URLs in each of 4 trials" in ended.err
    assert sum(site.paths.values()) == 120
    assert set(site.most_in_flight.values()) == {1}, "one at a time to a host, whatever the client's concurrency"
    assert set(site.user_agents) == {f"httpdyno/{package.__version__} (HTTP client benchmark)"}
    (run,) = (tmp_path / "runs").iterdir()
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "UNVERIFIED: made on the real internet, where nobody knows which answers are right" in page
    settings = json.loads((run / "manifest.json").read_text(encoding="utf-8"))["settings"]
    assert (settings["per_host"], settings["user_agent"]) == (1, next(iter(site.user_agents)))
    nothing_left()


@pytest.mark.parametrize(
    ("given", "sent"),
    [
        (("--contact", "me@example.org"), f"httpdyno/{package.__version__} (HTTP client benchmark; +me@example.org)"),
        (("--user-agent", "mine/1.0"), "mine/1.0"),
    ],
)
def test_a_try_says_who_asks(
    httpdyno: Command, clients: tuple[str, ...], listed: str, site: Site, given: tuple[str, ...], sent: str
) -> None:
    ended = httpdyno(
        "try", "one", *clients[2:], "--urls", listed, "--per-host", "3", "--concurrency", "9", "--yes", *given
    )
    assert ended.code == 0, ended.err
    assert len(re.findall(r"\[200\] http://127.0.0.\d:\d+/page/\d : \d+ms", ended.out)) == 30
    assert "UNVERIFIED" in ended.out
    assert set(site.user_agents) == {sent}
    assert 1 < max(site.most_in_flight.values()) <= 3


def test_without_a_terminal_or_agreement_nothing_is_sent(
    httpdyno: Command, clients: tuple[str, ...], listed: str, site: Site, tmp_path: Path
) -> None:
    ended = httpdyno("bench", *clients, "--urls", listed)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "there is no terminal to ask at; give --yes to agree" in ended.err
    assert not site.paths
    assert not (tmp_path / "runs").exists()


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._own, other = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())", *arguments],
            cwd=folder,
            env={**environment, "TERM": "dumb"},
            stdin=other,
            stdout=subprocess.PIPE,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self.seen = ""

    def until(self, text: str) -> None:
        """Read what is shown until a text is."""
        deadline = time.monotonic() + 60
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            assert self.process.poll() is None, self.seen
            self._read()

    def type(self, text: bytes) -> None:
        os.write(self._own, text)

    def end(self) -> int:
        """Wait for the command, reading what it still shows."""
        deadline = time.monotonic() + 60
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.seen
            self._read()
        while self._read():
            pass
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self._own)

    def _read(self) -> bool:
        if not select.select([self._own], [], [], 0.1)[0]:
            return False
        try:
            self.seen += os.read(self._own, 4096).decode()
        except OSError:  # nobody is at its other end any more
            return False
        return True


@pytest.fixture
def at_terminal(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def begin(*arguments: str) -> Terminal:
        opened.append(Terminal(list(arguments), tmp_path, environment))
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"\x04"])
def test_who_does_not_agree_sends_nothing(
    at_terminal: Callable[..., Terminal],
    clients: tuple[str, ...],
    listed: str,
    site: Site,
    tmp_path: Path,
    answer: bytes,
) -> None:
    terminal = at_terminal("bench", *clients, "--urls", listed, "--repeat", "1")
    terminal.until("Continue? [y/N] ")
    assert "this will send 60 requests to 3 hosts of the real internet" in terminal.seen
    assert "1 at a time to a host; --contact says how you can be reached" in terminal.seen
    terminal.type(answer)
    assert terminal.end() == 130
    assert "not begun: nothing was sent" in terminal.seen
    assert not site.paths
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_at_the_question(at_terminal: Callable[..., Terminal], clients: tuple[str, ...], listed: str) -> None:
    terminal = at_terminal("bench", *clients, "--urls", listed)
    terminal.until("Continue? [y/N] ")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "interrupted while the question was open" in terminal.seen


def test_who_agrees_is_measured(
    at_terminal: Callable[..., Terminal], clients: tuple[str, ...], listed: str, site: Site
) -> None:
    terminal = at_terminal("try", "one", *clients[2:], "--urls", listed, "--limit", "6")
    terminal.until("Continue? [y/N] ")
    terminal.type(b"y\n")
    assert terminal.end() == 0
    assert sum(site.paths.values()) == 6


def test_the_deadline_ends_a_stalled_crawl(
    httpdyno: Command, clients: tuple[str, ...], site: Site, tmp_path: Path, nothing_left: NothingLeft
) -> None:
    (tmp_path / "stalls.txt").write_text("\n".join(site.urls(2, "stall")), encoding="utf-8")
    began = time.monotonic()
    ended = httpdyno(
        "bench", "one", *clients[2:], "--urls", "stalls.txt", "--repeat", "1", "--yes", "--duration", "12",
        "--timeout", "60", "--format", "json",
    )  # fmt: skip
    assert time.monotonic() - began < 55
    assert sum(site.paths.values()) == 3, "the others wait for hosts that never answer"
    assert re.search(r"one: hung: printed nothing in 1\d\.\d s", ended.err)
    assert [row["verdict"] for row in json.loads(ended.out)] == ["hung"]
    nothing_left()


@pytest.fixture
def hanging(
    make_subject: MakeSubject, subject_folders: Path, start: Start, listed: str, tmp_path: Path
) -> "subprocess.Popen[str]":
    """Start a run whose first trial does not end, and give it back when that has begun."""
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
    deadline = time.monotonic() + 60
    while not any(builds.glob("hangs-*/folder/asleep")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
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
    assert ended.code == 130
    assert "Traceback" not in ended.err
    assert "(partial)" in ended.err
    nothing_left()


def test_sigkill_leaves_nothing(
    hanging: "subprocess.Popen[str]", wait_for_end: Callable[[object], Ended], nothing_left: NothingLeft
) -> None:
    hanging.kill()
    assert wait_for_end(hanging).code == -signal.SIGKILL
    nothing_left()


def test_a_run_goes_on_when_it_may(
    httpdyno: Command, start: Start, wait_for_end: Callable[[object], Ended], make_subject: MakeSubject,
    subject_folders: Path, listed: str, site: Site, tmp_path: Path,
) -> None:  # fmt: skip
    # The first trial ends by itself; the second waits until it is interrupted, unless it is told not to.
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
        "--yes", "--concurrency", "2",
    )  # fmt: skip
    deadline = time.monotonic() + 60
    marks = tmp_path / "cache" / "httpdyno" / "builds"
    while not any(len(path.read_text()) == 2 for path in marks.glob("twice-*/folder/marks")):
        assert begun.poll() is None, begun.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
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


def test_a_run_in_the_background_was_agreed_to(
    httpdyno: Command, clients: tuple[str, ...], listed: str, site: Site, tmp_path: Path, nothing_left: NothingLeft
) -> None:
    ended = httpdyno("bench", "one", *clients[2:], "--urls", listed, "--repeat", "1", "--yes", "--detach")
    assert ended.code == 0, ended.err
    run = tmp_path / ended.out.strip()
    deadline = time.monotonic() + 60
    while json.loads((run / "manifest.json").read_text(encoding="utf-8"))["state"] != "complete":
        assert time.monotonic() < deadline, (run / "output.txt").read_text(encoding="utf-8")
        time.sleep(0.1)
    while processes_of(tmp_path):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert sum(site.paths.values()) == 30
    nothing_left()
