"""A trial without a room: real processes, but nobody on a network."""

import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doubles.traces import processes_of
from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.lab import live_client
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.live_trial import LiveEvidence, run_live_trial
from httpdyno.lab.progress import Progress
from httpdyno.lab.room import Command, Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, Workload, counters_from_report

ECHO = """
import os, sys
for line in sys.stdin:
    print(f"{line.strip()},200,2026-11-21T10:00:00Z,1.5,13", flush=True)
"""
ASLEEP = """
import subprocess, sys, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
open(sys.argv[1], "w").close()
time.sleep(1000)
"""

Run = Callable[..., LiveEvidence]


class Watcher:
    """Notes what it is shown."""

    wants_output = True

    def __init__(self) -> None:
        self.printed = b""
        self.news: list[Progress] = []

    def progress(self, progress: Progress) -> None:
        self.news.append(progress)

    def output(self, piece: bytes) -> None:
        self.printed += piece


@pytest.fixture
def interruption() -> Iterator[Interruption]:
    with Interruption() as entered:
        yield entered


@pytest.fixture
def run(tmp_path: Path, interruption: Interruption) -> Iterator[Run]:
    """Run a program as a client: its URLs, the arguments of its script, and fields of the condition."""
    files: list[LiveEvidence | ScratchFile] = []

    def begin(
        program: str, urls: list[bytes], *arguments: str, observer: Watcher | None = None, **fields: object
    ) -> LiveEvidence:
        values = {"deadline_s": 30.0, "per_host": 1, **fields}
        workload = Workload((), timeout_s=float(str(values.pop("timeout_s", 5.0))))
        condition = Condition("bench", "live", workload, **values)  # type: ignore[arg-type]
        listed = ScratchFile()
        files.append(listed)
        listed.file.write(b"".join(url + b"\n" for url in urls))
        listed.file.flush()
        command = Command((sys.executable, "-c", program, *arguments), tmp_path, {"PATH": os.environ["PATH"], "A": "1"})
        evidence = run_live_trial(condition, Pinning(), command, listed, interruption, observer)
        files.append(evidence)
        return evidence

    yield begin
    for file in files:
        file.close()


def outcome(evidence: LiveEvidence) -> tuple[object, object]:
    counters_from_report(evidence.report)
    return evidence.report["outcome"], evidence.report["subject"]["exit_code"]


def test_a_client_gets_its_list_and_is_counted(run: Run) -> None:
    watcher = Watcher()
    before = os.sched_getaffinity(0)
    urls = [b"http://h%d.example/%d" % (n % 5, n) for n in range(100)]
    evidence = run(ECHO, urls, observer=watcher)
    assert outcome(evidence) == ("exited", 0)
    printed = evidence.stdout.read_text().splitlines()
    assert Counter(line.partition(",")[0].encode() for line in printed) == Counter(urls)
    assert watcher.printed.decode().splitlines() == printed
    last = watcher.news[-1]
    assert (last.phase, last.requests, last.requests_expected) == ("done", 100, 100)
    counters = counters_from_report(evidence.report)
    assert counters.cpu_user_ns is not None
    assert counters.cpu_system_ns is not None
    assert counters.cpu_user_ns + counters.cpu_system_ns > 0
    assert counters.peak_memory_bytes is not None
    assert counters.peak_memory_bytes > 1_000_000
    assert counters.started_at_ns is not None
    assert counters.ended_at_ns is not None
    assert counters.ended_at_ns > counters.started_at_ns
    assert counters.accounting == "rusage"
    assert evidence.withheld is None
    assert os.sched_getaffinity(0) == before


def test_children_of_the_client_count(run: Run) -> None:
    busy = "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'sum(range(20_000_000))'])"
    evidence = run(busy, [])
    assert outcome(evidence) == ("exited", 0)
    assert evidence.report["subject"]["cpu_user_ns"] > 50_000_000


def test_the_client_is_pinned_and_its_environment_is_clean(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example")
    evidence = run("import os\nprint(os.sched_getaffinity(0), sorted(os.environ), os.environ['HOME'], sep='|')", [])
    cpus, names, home = evidence.stdout.read_text().strip().split("|")
    assert cpus == str({max(os.sched_getaffinity(0))})
    of_runtimes = {"DENO_NO_UPDATE_CHECK", "DENO_TLS_CA_STORE", "DOTNET_CLI_TELEMETRY_OPTOUT", "LC_CTYPE"}
    assert set(eval(names)) - of_runtimes == {"A", "HOME", "LANG", "PATH", "TMPDIR", "TZ"}
    assert not Path(home).exists()


def test_a_host_is_asked_one_at_a_time(run: Run) -> None:
    holds_two = """
import itertools, sys
first = sys.stdin.readline().strip()
second = sys.stdin.readline().strip()
print(first, second, file=sys.stderr)
for line in itertools.chain((first, second), map(str.strip, sys.stdin)):
    print(f"{line},200,2026-11-21T10:00:00Z,1.5,13", flush=True)
"""
    evidence = run(holds_two, [b"http://a/1", b"http://a/2", b"http://b/1", b"http://a/3"])
    assert evidence.stderr.read_text() == "http://a/1 http://b/1\n"
    assert len(evidence.stdout.read_text().splitlines()) == 4


def test_an_interval_is_kept(run: Run) -> None:
    began = time.monotonic()
    evidence = run(ECHO, [b"http://a/%d" % n for n in range(4)], per_host_interval_s=0.2)
    assert len(evidence.stdout.read_text().splitlines()) == 4
    assert time.monotonic() - began >= 0.6


def test_an_answer_that_never_comes_ends_the_list(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_client, "_START_S", 0.3)
    forgets = "import sys\nfor line in sys.stdin: pass\nprint('bye', file=sys.stderr)"
    evidence = run(forgets, [b"http://a/1", b"http://a/2", b"http://b/1"], timeout_s=0.05)
    assert outcome(evidence) == ("exited", 0)
    assert evidence.stderr.read_text() == "bye\n"
    assert evidence.withheld is not None
    assert "while it owed 2 answers; their hosts were asked for nothing more" in evidence.withheld


@pytest.mark.parametrize(
    ("program", "ending", "code"),
    [
        ("import sys; sys.exit(7)", "exited", 7),
        ("import os; os.kill(os.getpid(), 9)", "signaled", None),
        ("import os; os.close(0); os.close(1)", "exited", 0),
    ],
)
def test_however_a_client_ends_it_is_told(run: Run, program: str, ending: str, code: int | None) -> None:
    evidence = run(program, [b"http://a/%d" % n for n in range(100_000)], per_host=100_000)
    assert outcome(evidence) == (ending, code)


def test_a_program_that_is_not_there(interruption: Interruption, tmp_path: Path) -> None:
    condition = Condition("bench", "live", Workload(()))
    command = Command(("/no/such/program",), tmp_path, {})
    with ScratchFile() as urls, run_live_trial(condition, Pinning(), command, urls, interruption) as evidence:
        assert evidence.report["outcome"] == "failed_to_start"
        assert "/no/such/program" in evidence.report["reason"]


def test_the_deadline_ends_everything(run: Run, tmp_path: Path) -> None:
    began = time.monotonic()
    evidence = run(ASLEEP, [], str(tmp_path / "asleep"), deadline_s=0.5)
    assert evidence.report["outcome"] == "deadline"
    # Of the thousand seconds that it would sleep.
    assert time.monotonic() - began < 300
    assert processes_of(tmp_path) == []


def test_who_ignores_sigterm_is_killed_two_seconds_later(run: Run, tmp_path: Path) -> None:
    stubborn = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ASLEEP
    # Long enough for a busy machine to start it: who has not said yet what it ignores, dies of it.
    evidence = run(stubborn, [], str(tmp_path / "asleep"), deadline_s=4.0)
    assert evidence.report["outcome"] == "deadline"
    assert evidence.report["subject"]["signal"] == 9
    assert 5.9e9 <= evidence.report["subject"]["wall_ns"] < 300e9
    assert processes_of(tmp_path) == []


def test_who_sums_up_at_sigterm_is_read_to_the_end(run: Run) -> None:
    sums_up = """
import signal, sys, time
def last(*_):
    print("http://a/,200,2026-11-21T10:00:00Z,1.5,13", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, last)
time.sleep(1000)
"""
    evidence = run(sums_up, [b"http://a/"], deadline_s=4.0)
    assert outcome(evidence) == ("deadline", 0)
    assert evidence.stdout.read_text().startswith("http://a/,200")


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interruption_ends_everything(run: Run, tmp_path: Path, interruption: Interruption, signals: int) -> None:
    def stop() -> None:
        while not (tmp_path / "asleep").exists():
            time.sleep(0.01)
        for _ in range(signals):
            interruption.request()

    thread = threading.Thread(target=stop)
    thread.start()
    with pytest.raises(Interrupted, match="interrupted during a trial"):
        run(ASLEEP, [], str(tmp_path / "asleep"))
    thread.join()
    assert processes_of(tmp_path) == []


def test_a_supervisor_that_dies_is_one_line(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    kills_its_parent = """
import os, subprocess, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
os.kill(os.getppid(), 9)
time.sleep(1000)
"""
    with pytest.raises(EngineFailed, match="the trial left no report"):
        run(kills_its_parent, [])
    deadline = time.monotonic() + 120
    while processes_of(tmp_path):
        assert time.monotonic() < deadline, processes_of(tmp_path)
    assert list((tmp_path / "tmp").iterdir()) == []
