"""A place in which commands run one after another, and the checks after a kill."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from doubles.traces import Traces, look_before, processes_of, traces_of
from endurance.verbs import Verb, prove_server, write_subjects
from httpdyno.errors import HttpdynoError
from httpdyno.lab.engine import Engine
from httpdyno.lab.trial_files import sweep
from httpdyno.store import open_run
from httpdyno.subjects.cache import program_path

START = (sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())")
PATIENCE_S = 600.0
"""On a busy machine everything takes many times as long; a hang lasts for ever."""
SETTLED_WITHIN_S = 60.0
URLS = 3_000
CRASHED = re.compile(r"Traceback|panicked at", re.MULTILINE)
REFUSED = 2
"""The status of an invalid command line: such a command has run nothing that could be killed."""


class Lane:
    """A folder with a cache, a `$TMPDIR` and a folder of runs of its own."""

    def __init__(self, folder: Path, engine: Engine, origin: str, verbs: Sequence[Verb]) -> None:
        self.folder = folder
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.engine = engine
        self.closed = False
        self.before = look_before()
        self.devices = devices()
        self.environment = {
            **{name: os.environ[name] for name in ("HOME", "LANG") if name in os.environ},
            "PATH": program_path(),
            "HTTPDYNO_ENGINE": str(engine.path),
            "XDG_CACHE_HOME": str(folder / "cache"),
            "TMPDIR": str(self.temporary),
            "COLUMNS": "200",
        }
        write_subjects(folder / "subjects")
        (folder / "urls").write_text("".join(f"{origin}/plain?{number}\n" for number in range(URLS)))
        self.words = {
            "subjects": str(folder / "subjects"),
            "origin": origin,
            "sleeps": "sleep 1000 & sleep 1",
            "sql": "SELECT * FROM samples",
            "kept": "kept",
            "run": "",
        }
        if any("serves" in verb.argv for verb in verbs):
            self.made("subjects", "build", "serves", "--subjects", self.words["subjects"])
            prove_server(folder / "subjects", folder / "cache" / "httpdyno", engine)
        if any({"{run}", "{kept}"}.intersection(verb.argv) for verb in verbs):
            asked = ["--web", "plain", "--limit", "50", "--concurrency", "5", "--repeat", "2", "--out", "kept"]
            self.made("bench", "asks", "native", "--subjects", self.words["subjects"], *asked)
            (run,) = (folder / "kept").iterdir()
            self.words["run"] = str(run)

    def start(self, *argv: str, stdin: str | None = None) -> "subprocess.Popen[str]":
        """Start `httpdyno` in a process group of its own; in a lane that is closed, end the thread."""
        if self.closed:
            raise SystemExit
        # A file, not a pipe: it is read after the command ends, and a full pipe would block the command.
        with (
            (self.folder / (stdin or "/dev/null")).open() as given,
            (self.folder / "out").open("w") as out,
            (self.folder / "err").open("w") as err,
        ):
            return subprocess.Popen(
                [*START, *argv], cwd=self.folder, env=self.environment, stdin=given, stdout=out, stderr=err,
                text=True, process_group=0,
            )  # fmt: skip

    def begin(self, verb: Verb) -> "subprocess.Popen[str]":
        """Start a verb without its earlier results."""
        for made in ("runs", "pages", "journal"):
            shutil.rmtree(self.folder / made, ignore_errors=True)
        (self.folder / "journal").unlink(missing_ok=True)
        if verb.is_cold:
            for build in (self.folder / "cache" / "httpdyno" / "builds").glob("asks*"):
                if build.is_dir():
                    shutil.rmtree(build)
        return self.start(*(word.format(**self.words) for word in verb.argv), stdin=verb.stdin)

    def said(self) -> str:
        """Return the standard error of the last command."""
        return (self.folder / "err").read_text(encoding="utf-8", errors="replace")

    def status_of(self, *argv: str, stdin: str | None = None) -> int:
        """Run a command; return its status, which is that of SIGKILL when it does not end."""
        command = self.start(*argv, stdin=stdin)
        try:
            return command.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            command.kill()
            return command.wait()

    def made(self, *argv: str) -> None:
        """Run a command that must succeed."""
        if code := self.status_of(*argv):
            raise RuntimeError(f"{' '.join(argv)}: status {code}: {self.said()}")

    def left(self) -> Traces:
        """List the leftovers after a time to end; a room removes those that SIGKILL always leaves."""
        deadline = time.monotonic() + SETTLED_WITHIN_S
        while (traces := self._traces()) != Traces() and time.monotonic() < deadline:
            if not traces.processes:
                sweep(self.temporary)
            if not traces.processes and traces.control_groups:
                self.made("room", "--web", "plain", "--", "true")
            time.sleep(0.05)
        return traces

    def _traces(self) -> Traces:
        return traces_of(self.folder, self.temporary, self.before)

    def torn(self, verb: Verb, *, goes_on: bool) -> list[str]:
        """Name the defects in files of the killed command."""
        found = []
        runs = self.folder / "runs"
        for run in sorted(runs.iterdir()) if runs.exists() else []:
            if run.name.startswith("."):
                # Killed before it had a manifest: it does not count as a run, and the next run removes it.
                continue
            try:
                opened = open_run(run)
                opened.records()
                opened.samples().collect()
            except HttpdynoError as error:
                found.append(f"run does not open: {error}")
                continue
            code = self.status_of("report", str(run))
            said = self.said()
            if CRASHED.search(said) or (code and opened.trials):
                found.append(f"report: status {code}: {said.strip().splitlines()[-1:]}")
            if goes_on and verb.goes_on and opened.manifest.state == "partial":
                found += self._resumed(verb, run)
        if runs.exists() and goes_on and self.status_of("runs", "--out", str(runs)):
            found.append(f"runs: {self.said()}")
        if verb.name == "fetch" and goes_on and self.status_of(*verb.argv, stdin=verb.stdin):
            found.append(f"fetch --resume: {self.said()}")
        if verb.name in ("report", "compare", "runs", "query") and self.status_of("report", self.words["run"]):
            found.append(f"the run that was read is broken: {self.said()}")
        return found

    def _resumed(self, verb: Verb, run: Path) -> list[str]:
        code = self.status_of(verb.argv[0], "--resume", str(run))
        state = open_run(run).manifest.state
        # On a busy machine there may be no result (3), but the run is complete.
        if code not in (0, 3) or state != "complete" or CRASHED.search(self.said()):
            return [f"--resume: status {code}, {state}: {self.said().strip().splitlines()[-1:]}"]
        return []

    def new_devices(self) -> frozenset[str]:
        """Name the network devices of the machine that were not there before."""
        return devices() - self.devices

    def processes(self) -> list[int]:
        """List the living processes of the lane's commands."""
        return processes_of(self.folder)

    def close(self) -> None:
        """Kill the lane's processes, and start no others."""
        self.closed = True
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


def devices() -> frozenset[str]:
    """Name the machine's network devices."""
    return frozenset(path.name for path in Path("/sys/class/net").iterdir())
