"""The command line as an ordinary user: a measurement with all steps before and after it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import MakeSubject, require_room
from doubles.asking_client import ASKS
from doubles.command_line import CORRECT
from doubles.traces import processes_of
from httpdyno.lab.engine import Engine
from httpdyno.store import open_run

from .conftest import START, wait_until

NOBODY = 65534
AS_NOBODY = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
MEMORY_BYTES = 512 * 1024**2


@pytest.fixture
def home(engine: Engine) -> Iterator[Path]:
    """The folder of an ordinary user, with an engine; skip without such a user, or without rooms for one."""
    if os.geteuid() != 0:
        pytest.skip("an ordinary user runs all of the tests here")
    if shutil.which("setpriv") is None:
        pytest.skip("no setpriv on this machine; install it with: apt-get install util-linux")
    if subprocess.run([*AS_NOBODY, sys.executable, "-c", "import httpdyno.cli"], cwd="/", check=False).returncode:
        pytest.skip("this checkout lies where an ordinary user may not read")
    with tempfile.TemporaryDirectory(prefix="ordinary-", dir="/tmp") as folder:
        home = Path(folder)
        os.chown(home, NOBODY, NOBODY)
        program = Path(shutil.copy2(engine.path, home))
        asked = home / "engine-as-nobody"
        asked.write_text(f'#!/bin/sh\nexec {" ".join(AS_NOBODY)} {program} "$@"\n', encoding="utf-8")
        asked.chmod(0o755)
        require_room(Engine(asked))
        yield home


def test_a_client_is_measured_and_nothing_is_left(home: Path, make_subject: MakeSubject) -> None:
    shutil.copytree(make_subject("asks", ASKS), home / "subjects" / "asks")
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TMPDIR": str(home),
        "HTTPDYNO_ENGINE": str(home / "httpdyno-engine"),
    }
    options = (
        "--web",
        "plain",
        "--limit",
        "5",
        "--timeout",
        "60",
        "--repeat",
        "1",
        "--memory",
        "512MiB",
        "--format",
        "json",
    )
    done = subprocess.run(
        [*AS_NOBODY, *START, "bench", "asks", "--subjects", "subjects", *options],
        cwd=home,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)
    assert (row["totalUrls"], row["2xx"], row["wrong"], row["verdict"] in CORRECT) == (5, 5, 0, True)
    (folder,) = (home / "runs").iterdir()
    (trial,) = open_run(folder).records()
    counters = trial.counters
    assert counters.memory_limit_bytes == MEMORY_BYTES
    # Without control groups a message says so, and no unenforced limit is reported.
    assert (counters.memory_limit_enforced_by is None) is (counters.memory_limit_reason is not None)
    result = [note for note in row["notes"] if note.startswith("memory was not limited to 512.0 MiB: ")]
    assert len(result) == (counters.memory_limit_enforced_by is None)
    written = [folder / "report.html", folder / "samples.parquet", home / ".cache" / "httpdyno"]
    assert {path.stat().st_uid for path in written} == {NOBODY}
    wait_until(lambda: processes_of(home) == [], lambda: processes_of(home))


def test_a_room_on_the_machines_network_takes_no_more_rights(home: Path) -> None:
    asked = [home / "engine-as-nobody", "room", "--network", "host", "--", "readlink", "/proc/self/ns/net"]
    done = subprocess.run(asked, cwd="/", stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, os.readlink("/proc/self/ns/net")), done.stderr  # noqa: PTH115
