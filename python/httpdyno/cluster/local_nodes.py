"""The nodes of ``local:N``: a process in a session of its own starts them, so no signal to the command reaches them.

It ends them when its standard input ends, however the command did.
"""

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from httpdyno.errors import UsageError

_STORE_BYTES: Final = 80 * 1024 * 1024
"""Object store of a node; only small messages pass through it."""
_LONGEST_FOLDER: Final = 24
"""Longest path for Ray's sockets, whose names are limited to 107 bytes."""
_END_S: Final = 30.0
_STARTED: Final = "nodes at "


@contextmanager
def local_nodes(count: int) -> Iterator[Callable[[], str]]:
    """Start nodes that only this machine reaches, with a token of their own.

    Yield a function that waits for them and returns their address. Sets variables that Ray reads when it is imported.
    """
    folder = tempfile.mkdtemp(prefix="dyno-", dir=_short_folder())
    os.environ |= {
        "RAY_TMPDIR": folder,
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": secrets.token_hex(32),
        # Without it, Ray replaces the loopback address by one that other machines reach.
        "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    }
    os.environ.pop("RAY_ADDRESS", None)
    nodes = subprocess.Popen(
        [sys.executable, "-m", __name__, str(count), folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert nodes.stdin is not None
    assert nodes.stdout is not None
    answers = nodes.stdout

    def address() -> str:
        line = answers.readline().strip()
        if not line.startswith(_STARTED):
            why = line or "its process has ended"
            raise UsageError(f"local:{count}: Ray cannot start a node here: {why}", option="--cluster")
        return line.removeprefix(_STARTED)

    try:
        yield address
    finally:
        nodes.stdin.close()
        try:
            nodes.wait(_END_S)
        except subprocess.TimeoutExpired:
            nodes.kill()
            nodes.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _short_folder() -> str:
    folder = tempfile.gettempdir()
    return folder if len(folder) <= _LONGEST_FOLDER else "/tmp"


def _serve(count: int, folder: str) -> None:
    """Start nodes, print their address, and end them at the end of standard input."""
    from ray.cluster_utils import Cluster

    nodes = Cluster()
    # Its messages are for the developers of Ray.
    answers, sys.stdout = sys.stdout, sys.stderr
    try:
        for _ in range(count):
            nodes.add_node(
                num_cpus=1,
                node_ip_address="127.0.0.1",
                include_dashboard=False,
                object_store_memory=_STORE_BYTES,
            )
        print(_STARTED + nodes.address, file=answers, flush=True)
        sys.stdin.read()
    except Exception as error:
        print(" ".join(str(error).split()), file=answers, flush=True)
    finally:
        nodes.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2])
