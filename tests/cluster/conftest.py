"""A Ray cluster of three nodes on this machine, and the command that uses it."""

import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from httpdyno.lab.engine import Engine

NODES = 3
PATIENCE_S = 300
if find_spec("ray"):
    # Ray on the loopback, with a token. It reads some of these variables when it is imported.
    os.environ |= {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
        "RAY_TMPDIR": f"/tmp/dyno-tests-{os.getpid()}",
        "RAY_USAGE_STATS_ENABLED": "0",
    }

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="session")
def variables(engine: Engine) -> Iterator[dict[str, str]]:
    """Return the environment of all nodes and commands, and set it for this process."""
    folder = Path(os.environ["RAY_TMPDIR"])
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HTTPDYNO_ENGINE", str(engine.path))
        patch.delenv("RAY_ADDRESS", raising=False)
        yield dict(os.environ)
    shutil.rmtree(folder)


@pytest.fixture
def cluster(variables: dict[str, str]) -> Iterator[Any]:
    """Start three nodes of one CPU; all are ended."""
    from ray.cluster_utils import Cluster

    assert variables["RAY_AUTH_MODE"] == "token"
    nodes = Cluster()
    try:
        for _ in range(NODES):
            nodes.add_node(
                num_cpus=1, node_ip_address="127.0.0.1", include_dashboard=False, object_store_memory=80 * 1024 * 1024
            )
        yield nodes
    finally:
        nodes.shutdown()


@pytest.fixture
def start(variables: dict[str, str], tmp_path: Path) -> Iterator[Start]:
    """Start `httpdyno`; a process that still runs at the end of the test is killed."""
    started: list[subprocess.Popen[str]] = []

    def begin(*words: str, **more: str) -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            [sys.executable, "-m", "httpdyno", *words],
            cwd=tmp_path,
            env=variables | more,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def run(start: Start) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """Run `httpdyno` to its end, and check its exit code."""

    def command(*words: str, code: int = 0, **more: str) -> "subprocess.CompletedProcess[str]":
        process = start(*words, **more)
        out, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == code, err
        return subprocess.CompletedProcess(words, process.returncode, out, err)

    return command


@pytest.fixture(scope="session")
def origin(engine: Engine) -> Iterator[str]:
    """Serve a web on the loopback; return HOST:PORT."""
    process = subprocess.Popen(
        [str(engine.path), "origin", "--web", "plain", "--listen", "127.0.0.1:0"],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr
    yield process.stderr.readline().split()[-1].removeprefix("http://")
    process.terminate()
    process.communicate()
