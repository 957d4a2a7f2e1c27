"""A trial without a room: real processes, but nobody on a network."""

import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doubles.meanwhile import as_soon_as
from doubles.traces import processes_of
from httpdyno.errors import EngineFailed, Interrupted
from httpdyno.lab import live_client, live_supervisor, live_trial
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.live_trial import LiveOutput, run_live_trial
from httpdyno.lab.progress import Progress
from httpdyno.lab.room import Command, Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, Workload, counters_from_report

ECHO = """
import os, sys
for line in sys.stdin:
    print(f"{line.strip()},200,2026-11-21T10:00:00Z,1.5,13", flush=True)
"""
SEEN = """
import os, re, time
def naps_of_supervisor():
    with open(f"/proc/{os.getppid()}/status") as status:
        return int(re.search(r"^voluntary_ctxt_switches:\\s*(\\d+)", status.read(), re.MULTILINE)[1])
began = naps_of_supervisor()
while naps_of_supervisor() < began + 2:
    time.sleep(0.005)
"""
"""Goes on when the supervisor has read its memory once at least, as it does between two of its pauses."""
ASLEEP = """
import subprocess, sys, time
subprocess.Popen(["sleep", "1000"], start_new_session=True)
open(sys.argv[1], "w").close()
time.sleep(1000)
"""
DEADLINES_S = (0.5, 5.0, 60.0)
"""What a busy machine does not start within the first one it starts within the last."""

Run = Callable[..., LiveOutput]


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
    files: list[LiveOutput | ScratchFile] = []

    def begin(
        program: str, urls: list[bytes], *arguments: str, observer: Watcher | None = None, **fields: object
    ) -> LiveOutput:
        values = {"deadline_s": 300.0, "per_host": 1, **fields}
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


def outcome(evidence: LiveOutput) -> tuple[object, object]:
    counters_from_report(evidence.report)
    return evidence.report["outcome"], evidence.report["subject"]["exit_code"]


def test_a_client_gets_its_list_and_is_counted(run: Run) -> None:
    watcher = Watcher()
    before = os.sched_getaffinity(0)
    urls = [b"http://h%d.example/%d" % (n % 5, n) for n in range(100)]
    evidence = run(SEEN + ECHO, urls, observer=watcher)
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
    busy = "import time\nwhile time.process_time() < 0.3: pass"
    evidence = run(f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {busy!r}])", [])
    assert outcome(evidence) == ("exited", 0)
    subject = evidence.report["subject"]
    assert subject["cpu_user_ns"] + subject["cpu_system_ns"] >= 290_000_000


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
    evidence = run(ECHO, [b"http://a/%d" % n for n in range(4)], per_host_interval_s=0.05)
    assert len(evidence.stdout.read_text().splitlines()) == 4
    assert time.monotonic() - began >= 0.15


def test_an_answer_that_never_comes_ends_the_list(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_client, "_START_S", 0.1)
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


def run_until_ready(run: Run, program: str, ready: Path, urls: list[bytes] | None = None) -> tuple[LiveOutput, float]:
    """Run a client that never ends until one deadline is late enough for it to say that it is ready; return that, too.

    The clients of these tests say so when they have done what the deadline is to find: one that has not begun proves
    nothing, and how long that takes is the machine's affair.
    """
    for deadline_s in DEADLINES_S:
        evidence = run(program, urls or [], str(ready), deadline_s=deadline_s)
        if ready.exists():
            return evidence, deadline_s
    pytest.fail(f"not ready within {deadline_s} s")


@pytest.fixture
def grace_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Set how long a client may take to end once it was asked to: the supervisor is a program of its own."""

    def change(seconds: float) -> None:
        text = Path(live_supervisor.__file__).read_text(encoding="utf-8")
        was = f"GRACE_S: Final = {live_supervisor.GRACE_S}\n"
        assert was in text
        changed = tmp_path / "supervisor.py"
        changed.write_text(text.replace(was, f"GRACE_S: Final = {seconds}\n"), encoding="utf-8")
        monkeypatch.setattr(live_supervisor, "__file__", str(changed))
        monkeypatch.setattr(live_trial, "GRACE_S", seconds + 300)

    return change


def test_the_deadline_ends_everything(run: Run, tmp_path: Path) -> None:
    # Of the thousand seconds that it would sleep.
    evidence, _ = run_until_ready(run, ASLEEP, tmp_path / "asleep")
    assert evidence.report["outcome"] == "deadline"
    assert processes_of(tmp_path) == []


def test_who_ignores_sigterm_is_killed_after_a_while(
    run: Run, tmp_path: Path, grace_s: Callable[[float], None]
) -> None:
    assert live_supervisor.GRACE_S == 2
    grace_s(0.2)
    # Who has not said yet what it ignores dies of it.
    stubborn = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + ASLEEP
    evidence, deadline_s = run_until_ready(run, stubborn, tmp_path / "asleep")
    assert evidence.report["outcome"] == "deadline"
    assert evidence.report["subject"]["signal"] == 9
    assert evidence.report["subject"]["wall_ns"] >= (deadline_s + 0.2) * 1e9
    assert processes_of(tmp_path) == []


def test_who_sums_up_at_sigterm_is_read_to_the_end(run: Run, tmp_path: Path, grace_s: Callable[[float], None]) -> None:
    grace_s(300)
    sums_up = """
import signal, sys, time
def last(*_):
    print("http://a/,200,2026-11-21T10:00:00Z,1.5,13", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, last)
open(sys.argv[1], "w").close()
time.sleep(1000)
"""
    evidence, _ = run_until_ready(run, sums_up, tmp_path / "ready", [b"http://a/"])
    assert outcome(evidence) == ("deadline", 0)
    assert evidence.stdout.read_text().startswith("http://a/,200")


@pytest.mark.parametrize("signals", [1, 2])
def test_an_interruption_ends_everything(run: Run, tmp_path: Path, interruption: Interruption, signals: int) -> None:
    def stop() -> None:
        for _ in range(signals):
            interruption.request()

    asleep = tmp_path / "asleep"
    with as_soon_as(asleep.exists, stop), pytest.raises(Interrupted, match="interrupted during a trial"):
        run(ASLEEP, [], str(asleep))
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
    while processes_of(tmp_path):  # who stays for ever is ended by the time limit of the tests
        time.sleep(0.01)
    assert list((tmp_path / "tmp").iterdir()) == []
