"""A trial on the machine's own network: real processes and the real engine, but no network traffic."""

import json
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from httpdyno.judge import Expectations
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.observer import Progress, Silence
from httpdyno.lab.room import Command, RoomSpec
from httpdyno.lab.run_room import run_room
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.model import Condition, Counters, Workload, counters_from_report

ECHO = """
import sys
for line in sys.stdin:
    print(f"{line.strip()},200,2026-11-21T10:00:00Z,1.5,13", flush=True)
"""
HOLDS_TWO = """
import itertools, sys
first = sys.stdin.readline().strip()
second = sys.stdin.readline().strip()
print(first, second, file=sys.stderr)
for line in itertools.chain((first, second), map(str.strip, sys.stdin)):
    print(f"{line},200,2026-11-21T10:00:00Z,1.5,13", flush=True)
"""
SURROUNDINGS = """
import json, os, pathlib
print(json.dumps({
    "network": os.stat("/proc/self/ns/net").st_ino,
    "processes": [int(name) for name in os.listdir("/proc") if name.isdigit()],
    "resolver": pathlib.Path("/etc/resolv.conf").read_text(),
    "certificates": sorted(os.listdir("/etc/ssl/certs")) if os.path.isdir("/etc/ssl/certs") else [],
    "cpus": sorted(os.sched_getaffinity(0)),
    "environment": dict(os.environ),
}))
"""

Run = Callable[..., TrialFiles]


class Watcher:
    """Records its input."""

    wants_output = True

    def __init__(self) -> None:
        self.printed = b""
        self.news: list[Progress] = []

    def expected(self, expectations: Expectations) -> None:
        raise AssertionError(expectations)

    def progress(self, progress: Progress) -> None:
        self.news.append(progress)

    def output(self, piece: bytes) -> None:
        self.printed += piece

    def silent(self, silence: Silence) -> None:
        raise AssertionError(silence)


@pytest.fixture
def run(engine: Engine, tmp_path: Path) -> Iterator[Run]:
    """Run a program as a client: its URLs, and fields of the condition."""
    with ExitStack() as opened:
        interruption = opened.enter_context(Interruption())

        def begin(program: str, urls: list[bytes], observer: Watcher | None = None, **fields: object) -> TrialFiles:
            condition = Condition("bench", "live", Workload((), timeout_s=60), **fields)  # type: ignore[arg-type]
            listed = opened.enter_context(ScratchFile())
            listed.file.write(b"".join(b" " + url + b"\r\n\n" for url in urls))
            listed.file.flush()
            command = Command((sys.executable, "-S", "-c", program), tmp_path, {"A": "1"}, (Path("/etc/hosts"),))
            spec = RoomSpec(command, condition)
            output = run_room(engine.path, spec, listed, interruption, observer)
            return opened.enter_context(output)

        yield begin


def test_a_client_gets_its_list_and_is_counted(run: Run) -> None:
    watcher = Watcher()
    urls = [b"http://h%d.example/%d" % (n % 5, n) for n in range(100)]
    output = run(ECHO, urls, watcher)
    printed = output.stdout.read_text().splitlines()
    assert Counter(line.partition(",")[0].encode() for line in printed) == Counter(urls)
    assert watcher.printed.decode().splitlines() == printed
    last = watcher.news[-1]
    assert (last.phase, last.requests, last.requests_expected) == ("done", 100, 100)
    assert output.report["fed"] == {"per_host": 1, "lines": 100, "owed": 0, "withheld": None}
    counters = counters_from_report(output.report)
    assert counters.exit_code == 0
    assert (counters.cpu_user_ns or 0) + (counters.cpu_system_ns or 0) > 0
    absent = Counters()
    for name in ("web_digest", "connections", "requests", "sent_bytes", "origin_congestion_control", "link"):
        assert getattr(counters, name) == getattr(absent, name), name


def test_all_but_the_network_is_a_rooms(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    seen = json.loads(run(SURROUNDINGS, []).stdout.read_text())
    assert seen["network"] == os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116
    assert len(seen["processes"]) == 2, "the room's first process, and itself"
    assert seen["resolver"] == Path("/etc/resolv.conf").read_text(encoding="utf-8")
    certificates = Path("/etc/ssl/certs")
    assert seen["certificates"] == (sorted(os.listdir(certificates)) if certificates.is_dir() else [])  # noqa: PTH208
    assert seen["cpus"] == [max(os.sched_getaffinity(0))]
    of_runtimes = {"DENO_NO_UPDATE_CHECK", "DENO_TLS_CA_STORE", "DOTNET_CLI_TELEMETRY_OPTOUT", "LC_CTYPE"}
    assert set(seen["environment"]) - of_runtimes == {"A", "HOME", "LANG", "PATH", "TMPDIR", "TZ"}
    assert not Path(seen["environment"]["HOME"]).exists()


@pytest.mark.parametrize(("per_host", "first"), [(1, "http://a/1 http://b/1\n"), (2, "http://a/1 http://a/2\n")])
def test_a_host_is_asked_so_many_at_a_time(run: Run, per_host: int, first: str) -> None:
    output = run(HOLDS_TWO, [b"http://a/1", b"http://a/2", b"http://b/1", b"http://a/3"], per_host=per_host)
    assert output.stderr.read_text() == first
    assert len(output.stdout.read_text().splitlines()) == 4


def test_an_interval_is_kept(run: Run) -> None:
    output = run(ECHO, [b"http://a/%d" % n for n in range(4)], per_host_interval_s=0.05)
    assert len(output.stdout.read_text().splitlines()) == 4
    assert output.report["subject"]["wall_ns"] >= 150_000_000


@pytest.mark.parametrize(
    ("program", "outcome", "code"),
    [
        ("import sys; sys.exit(7)", "exited", 7),
        ("import os; os.kill(os.getpid(), 9)", "signaled", None),
        ("import os; os.close(0); os.close(1)", "exited", 0),
    ],
)
def test_every_end_of_a_client_has_its_outcome(run: Run, program: str, outcome: str, code: int | None) -> None:
    urls = [b"http://a/%d" % n for n in range(100_000)]
    report = run(program, urls, per_host=100_000).report
    assert (report["outcome"], report["subject"]["exit_code"]) == (outcome, code)


def test_who_keeps_lines_owes_their_answers(run: Run) -> None:
    closes = "import os, sys\nsys.stdin.readline()\nos.close(0)"
    fed = run(closes, [b"http://a/1", b"http://a/2"]).report["fed"]
    assert fed == {"per_host": 1, "lines": 1, "owed": 1, "withheld": None}
