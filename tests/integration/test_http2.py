"""The origin's HTTP/2 with third-party programs: h2spec, curl, h2load."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from doubles.origin import Origin
from httpdyno.lab.engine import Engine
from httpdyno.subjects.cache import program_path

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_S = 300.0
PATHS = ("/plain", "/json", "/bytes/300000", "/stream/2000", "/status/404", "/redirect/2", "/encoding/utf8")

NOT_OURS = {"http": {"http2/3.5 Sends invalid connection preface"}, "https": set[str]()}
"""Expected failures: a port for both versions answers input of neither version in HTTP/1.1, with a 400."""


@pytest.fixture
def origin(engine: Engine, tmp_path: Path) -> Iterator[Origin]:
    """Serve the web `plain` on free ports."""
    running = Origin(engine, tmp_path)
    yield running
    running.kill()


def require_h2spec() -> Path:
    """Find h2spec; skip where there is no Go to build it with, fail where `make test` would have built it."""
    program = ROOT / "target" / "h2spec" / "h2spec"
    if program.exists():
        return program
    if shutil.which("go", path=program_path()) or os.environ.get("CI"):
        pytest.fail("no h2spec, though this machine can build it: run scripts/setup-tests")
    pytest.skip("no h2spec and no go to build it with: httpdyno subjects install go-net-http, then scripts/setup-tests")


def failures(report: Path) -> tuple[int, set[str]]:
    """Read how many cases a report of h2spec has, and which failed."""
    cases = list(ElementTree.parse(report).iter("testcase"))
    failed = {
        f"{case.get('package')} {case.get('classname')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    }
    return len(cases), failed


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_h2spec_passes(scheme: str, origin: Origin, tmp_path: Path) -> None:
    report = tmp_path / "h2spec.xml"
    argv = [str(require_h2spec()), "--strict", "--host", "localhost", "--port", str(origin.ports[scheme])]
    argv += [
        "--timeout",
        "60",
        "--path",
        "/plain",
        "--junit-report",
        str(report),
        *(["--tls", "--insecure"] if scheme == "https" else []),
    ]
    subprocess.run(argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False, timeout=PATIENCE_S)
    count, failed = failures(report)
    assert count > 140
    assert failed == NOT_OURS[scheme]


def curl(url: str, *options: str) -> tuple[str, bytes]:
    """Send a request with curl; return the version of the answer, and its status with its content."""
    argv = [
        "curl",
        "--silent",
        "--insecure",
        "--max-time",
        str(PATIENCE_S),
        "--write-out",
        "\n%{http_version} %{http_code}",
    ]
    done = subprocess.run([*argv, *options, url], stdout=subprocess.PIPE, check=True, timeout=2 * PATIENCE_S)
    content, _, last = done.stdout.rpartition(b"\n")
    version, _, status = last.decode().partition(" ")
    return version, status.encode() + b" " + content


def test_curl_gets_the_same_in_every_version(origin: Origin) -> None:
    features = subprocess.run(["curl", "--version"], stdout=subprocess.PIPE, text=True, check=True)
    if "HTTP2" not in features.stdout:
        pytest.skip("this curl does not speak HTTP/2")
    for path in PATHS:
        plain, secure = (f"{scheme}://localhost:{port}{path}" for scheme, port in sorted(origin.ports.items()))
        version, answer = curl(plain, "--http1.1")
        assert version == "1.1"
        assert curl(plain, "--http2-prior-knowledge") == ("2", answer)
        assert curl(secure, "--http2") == ("2", answer)
        assert curl(secure, "--http1.1") == ("1.1", answer)
    counted = origin.stop()
    assert counted["http_versions"] == {"1.1": 2 * len(PATHS), "2": 2 * len(PATHS)}


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_h2load_gets_every_answer(scheme: str, origin: Origin) -> None:
    program = shutil.which("h2load", path=program_path())
    if program is None:
        pytest.skip("no h2load on this machine; install it with: apt-get install nghttp2-client")
    url = f"{scheme}://localhost:{origin.ports[scheme]}/bytes/20000"
    argv = [program, "--requests=3000", "--clients=7", "--max-concurrent-streams=300", url]
    done = subprocess.run(argv, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_S)
    assert "3000 succeeded, 0 failed" in done.stdout
    counted = origin.stop()
    assert counted["http_versions"] == {"2": 3000}
    assert (counted["connections"], counted["reused"]) == (7, 2993)
