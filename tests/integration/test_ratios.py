"""`make ratios` is interrupted, or killed: nothing that it started goes on."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.measured

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("nginx", "wrk", "openssl", "setpriv", "taskset")
PATIENCE_S = 300.0
COMMAND = Path(sys.executable).parent / "httpdyno"


def processes_of(folder: Path) -> list[str]:
    """Return the command lines that name a path in a folder."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        found += [line] if str(folder) in line else []
    return found


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_nothing_goes_on_after_the_end(number: signal.Signals, status: int, tmp_path: Path) -> None:
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    if missing := [name for name in NEEDED if shutil.which(name, path=path) is None]:
        pytest.skip(f"{', '.join(missing)} missing; install it with: scripts/setup-peers")
    if len(cpus := sorted(os.sched_getaffinity(0))) < 2:
        pytest.skip("needs two CPUs")
    # A program in PATH needs no build, only a mark as built.
    subprocess.run([COMMAND, "subjects", "build", "wrk"], check=True, capture_output=True)
    argv = [sys.executable, "-m", "ratios", "origin-plain", "--seconds", "60", "--json", str(tmp_path / "ratios.json")]
    argv += ["--server-cpus", str(cpus[0]), "--client-cpus", str(cpus[1])]
    environment = os.environ | {"PYTHONPATH": f"{ROOT / 'benches'}:{ROOT / 'scripts'}", "TMPDIR": str(tmp_path)}
    with subprocess.Popen(argv, env=environment, stderr=subprocess.DEVNULL) as process:
        until = time.monotonic() + PATIENCE_S
        while len(processes_of(tmp_path / "httpdyno-ratios-")) < 2 and time.monotonic() < until:
            assert process.poll() is None, "it ended before it was interrupted"
            time.sleep(0.05)
        process.send_signal(number)
        assert process.wait(PATIENCE_S) == status
    until = time.monotonic() + PATIENCE_S
    while (left := processes_of(tmp_path)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []
    assert number == signal.SIGKILL or list(tmp_path.glob("httpdyno-ratios-*")) == []
