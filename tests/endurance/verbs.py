"""The verbs that are killed, each as a command of some seconds, with the subjects they need."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from endurance.victims import PARTS, Part
from httpdyno.lab.conformance import write_proof
from httpdyno.lab.engine import Engine
from httpdyno.subjects.build import build_place
from httpdyno.subjects.catalogue import read_subject

ROOT = Path(__file__).parents[2]
BAD_SERVERS = ROOT / "tests" / "fixtures" / "bad-servers" / "main.py"
DOCUMENT = ROOT / "subjects" / "servers" / "flask-dev" / "document.json"

# Fetches one URL after the other, and has a child in a session of its own, like a browser.
ASKS = """
import datetime, subprocess, sys, time, urllib.error, urllib.request
subprocess.Popen(["sleep", "1000"], start_new_session=True)
for line in sys.stdin:
    url = line.strip()
    started, began = datetime.datetime.now(datetime.timezone.utc), time.perf_counter()
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:
            code, length = answer.status, len(answer.read())
    except urllib.error.HTTPError as error:
        code, length = error.code, len(error.read())
    except OSError:
        code, length = "Failed", 0
    took_ms = (time.perf_counter() - began) * 1000
    print(f"{url},{code},{started.isoformat()},{took_ms:.3f},{length}", flush=True)
"""
CLIENT = """\
kind = "client"
language = "Python"
method = "{name}"
concurrency = 1
[needs]
python3 = ">=3.11"
[run]
argv = ["python3", "main.py"]
"""
BUILD = '[build]\nargv = ["sh", "-c", "sleep 1; touch built"]\n'
SERVER = """\
kind = "server"
language = "Python"
method = "serves"
[run]
argv = ["python3", "main.py"]
environment = { BAD = "good" }
[capabilities]
endpoints = ["plain", "json", "workloads"]
"""


@dataclass(frozen=True, slots=True)
class Verb:
    """A command line; the place fills in ``{...}``."""

    argv: tuple[str, ...]
    goes_on: bool = False
    """It makes a run that `--resume` completes."""
    stdin: str | None = None
    """A file of the place."""
    ends: bool = True
    """It ends by itself."""
    is_cold: bool = False
    """Its builds are removed before."""
    parts: tuple[Part, ...] = PARTS
    """The parts that live in it for longer than a moment."""

    @property
    def name(self) -> str:
        """The verb, as users call it."""
        if "live" in self.argv:
            return f"{self.argv[0]} live"
        return " ".join(self.argv[: 2 if self.argv[0] == "subjects" else 1])


def _verb(line: str, **more: object) -> Verb:
    return Verb(tuple(line.split()), **more)  # type: ignore[arg-type]


VERBS = (
    _verb("bench asks native --subjects {subjects} --web plain --limit 300 --concurrency 50 --repeat 2", goes_on=True),
    _verb(
        "bench asks --subjects {subjects} --web live --urls urls --limit 60 --yes --repeat 1",
        parts=("command", "subject"),
    ),
    _verb("try asks --subjects {subjects} --web plain --limit 200"),
    _verb("tune asks --subjects {subjects} --web plain --limit 60 --duration 1", goes_on=True),
    _verb(
        "capacity asks --subjects {subjects} --rps 20 --concurrency 1 --duration 1s --size 0,10KiB --rtt 0,20ms",
        goes_on=True,
    ),
    _verb("cost native --web wrong-documents --documents 60 --repeat 2", goes_on=True),
    _verb(
        "latency native --workload plain --parallel 1 --keepalive on --mode lines --duration 1s --repeat 2",
        goes_on=True,
    ),
    _verb(
        "service serves --subjects {subjects} --workloads-ms 20,20 --connections 20 --duration 1s --repeat 1",
        goes_on=True,
    ),
    _verb(
        "conform asks dns/alias-chain dns/no-such-name deadlines/silent-after-request --tries 2 --subjects {subjects}",
        goes_on=True,
    ),
    _verb("load {origin}/plain -c 4 -d 2s", parts=("command", "engine")),
    _verb("fetch --concurrency 1 --save pages --resume journal", stdin="urls", parts=("engine",)),
    _verb("room --web plain --link rtt=5ms -- sh -c {sleeps}", parts=("engine", "init", "subject")),
    _verb("origin --web plain --listen 127.0.0.1:0", ends=False, parts=("engine",)),
    _verb("verify-generator --case law --duration 2s", parts=("command",)),
    _verb("report {run}", parts=("command",)),
    _verb("compare {run}", parts=("command",)),
    _verb("runs --out {kept}", parts=("command",)),
    _verb("query {sql} --out {kept}", parts=("command",)),
    _verb("urls top-sites --limit 200000", parts=("command",)),
    _verb("doctor", parts=("command", "engine")),
    _verb("subjects build asks-built --subjects {subjects}", is_cold=True, parts=("command", "subject")),
    _verb("subjects probe asks --subjects {subjects}", is_cold=True),
)
"""All but those that only print a table of their own (`published`, `link`, `subjects list`)."""


def write_subjects(folder: Path) -> None:
    """Write the clients and the server that the verbs name."""
    for name, build in (("asks", ""), ("asks-built", BUILD)):
        _write(folder / name, CLIENT.format(name=name) + build, {"main.py": ASKS})
    _write(folder / "serves", SERVER, {})
    shutil.copy(BAD_SERVERS, folder / "serves" / "main.py")
    shutil.copy(DOCUMENT, folder / "serves" / "document.json")


def prove_server(folder: Path, cache: Path, engine: Engine) -> None:
    """Mark the claims of the server as proved: a probe takes longer than everything else here."""
    write_proof(build_place(read_subject(folder / "serves"), cache), engine.identity().sha256, ())


def _write(folder: Path, definition: str, files: Mapping[str, str]) -> None:
    folder.mkdir(parents=True)
    for name, text in {"subject.toml": definition, **files}.items():
        (folder / name).write_text(text, encoding="utf-8")
