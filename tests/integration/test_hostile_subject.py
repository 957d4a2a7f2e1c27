"""Isolation of a program in a room: the table of docs/concepts/room.md, tried line by line from inside a room."""

import ctypes
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from httpdyno.lab.engine import Engine

ROOT = Path(__file__).parents[2]
PROBE = ROOT / "tests" / "fixtures" / "hostile_subject.py"
PROMISE = re.compile(r"^\| `(?P<name>[a-z-]+)` \| (?P<outcome>refused|reached) \|", re.MULTILINE)
NOBODY = 65_534
BAITS = (
    "processes-outside",
    "services-in-run",
    "shared-memory",
    "shared-memory-by-key",
    "loopback-outside",
    "addresses-outside",
    "abstract-sockets",
    "sockets-with-a-path",
    "files-of-the-same-user",
    "keys-of-the-caller",
    "session-of-the-caller",
    "root-as-its-own-master",
)
"""Bait of the test, harmless to try outside of a room."""

SYSTEM_CALLS = {"x86_64": {"add_key": 248, "keyctl": 250}, "aarch64": {"add_key": 217, "keyctl": 219}}
KEYCTL_JOIN_SESSION_KEYRING = 1
KEY_SPEC_SESSION_KEYRING = -3
IPC_CREATE_FOR_ALL = 0o1666
IPC_REMOVE = 0

Bait = dict[str, str | int]


def promised() -> dict[str, str]:
    """Read the table of the page."""
    page = (ROOT / "docs" / "concepts" / "room.md").read_text(encoding="utf-8")
    return {match["name"]: match["outcome"] for match in PROMISE.finditer(page)}


@contextmanager
def bait(folder: Path, user: int) -> Iterator[Bait]:
    """Set up the bait for the program: processes, files, sockets of its own user, and of the machine."""
    token = f"httpdyno-bait-{uuid.uuid4().hex}"
    with ExitStack() as stack:
        process = subprocess.Popen(["sh", "-c", "read -r line", token], stdin=subprocess.PIPE, user=user)
        stack.enter_context(process)
        places = {"in_run": Path("/run", token), "in_shared_memory": Path("/dev/shm", token), "file": folder / "file"}
        for place in places.values():
            try:
                place.write_text("secret", encoding="utf-8")
            except OSError as refusal:
                pytest.skip(f"this user may not lay out anything there: {refusal}")
            stack.callback(place.unlink)
            os.chown(place, user, -1)
            place.chmod(0o600)
        address = outer_address()
        port = stack.enter_context(socket.create_server(("0.0.0.0", 0))).getsockname()[1]
        for name in ("\0" + token, str(folder / "socket")):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            listener.bind(name)
            listener.listen()
        os.chown(folder / "socket", user, -1)
        yield {
            "token": token,
            "process": process.pid,
            "address": address,
            "port": port,
            "key": stack.enter_context(shared_memory_by_key()),
            "has_key": add_key(token),
            "socket": str(folder / "socket"),
            **{name: str(place) for name, place in places.items()},
        }


@contextmanager
def shared_memory_by_key() -> Iterator[int]:
    """Make a segment of System V's shared memory, open to every process with its key."""
    library, key = ctypes.CDLL(None), uuid.uuid4().int & 0x7FFFFFFF
    segment = library.shmget(key, 1, IPC_CREATE_FOR_ALL)
    assert segment >= 0
    yield key
    library.shmctl(segment, IPC_REMOVE, None)


def add_key(name: str) -> bool:
    """Put a key into the session keyring of this process and of those that it starts, if this machine has keys."""
    library, number = ctypes.CDLL(None), SYSTEM_CALLS[os.uname().machine]
    # A keyring of this test's own, which goes with it.
    library.syscall(number["keyctl"], KEYCTL_JOIN_SESSION_KEYRING, 0)
    return bool(
        library.syscall(number["add_key"], b"user", name.encode(), b"secret", 6, KEY_SPEC_SESSION_KEYRING) != -1
    )


def outer_address() -> str:
    """Return an external address of this machine; without a network the loopback's second one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as datagrams:
        try:
            datagrams.connect(("192.0.2.1", 53))
        except OSError:
            return "127.0.0.2"
        return str(datagrams.getsockname()[0])


def python_for(user: int) -> str:
    """Find a Python that the user can execute."""
    found = sys.executable if user == os.geteuid() else shutil.which("python3", path="/usr/local/bin:/usr/bin:/bin")
    if found is None:
        pytest.skip("no python3 that an ordinary user of this machine can execute")
    return found


@pytest.mark.parametrize("options", [(), ("--no-seccomp",)], ids=["with the filter", "without the filter"])
@pytest.mark.parametrize("user", [os.geteuid(), NOBODY], ids=["this user", "an ordinary user"])
def test_what_the_page_promises(engine: Engine, user: int, options: tuple[str, ...]) -> None:
    if user != os.geteuid() and os.geteuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(prefix="httpdyno-hostile-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        shutil.copy(engine.path, folder / "engine")
        shutil.copy(PROBE, folder / "probe.py")
        with bait(folder, user) as laid:
            (folder / "bait").write_text(json.dumps(laid), encoding="utf-8")
            argv = [python_for(user), "-B", str(folder / "probe.py"), str(folder / "bait")]
            baits = [name for name in BAITS if laid["has_key"] or name != "keys-of-the-caller"]
            # The bait works: outside of a room it is reached. The other attempts would harm the machine there.
            outside = outcomes([*argv, *baits], user, folder)
            room = [str(folder / "engine"), "room", "--web", "plain", *options, "--"]
            inside = outcomes([*room, *argv], user, folder)
    assert {name: outcome for name, (outcome, _) in outside.items()} == dict.fromkeys(baits, "reached"), outside
    assert {name: outcome for name, (outcome, _) in inside.items()} == promised(), inside


def outcomes(argv: list[str], user: int, folder: Path) -> dict[str, tuple[str, str]]:
    """Run the program; each attempt with its outcome and the reason."""
    more = {} if user == os.geteuid() else {"user": user, "group": user, "extra_groups": []}
    ran = subprocess.run(
        argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300, check=False, cwd=folder, **more
    )
    if user != os.geteuid() and "user namespace" in ran.stderr:
        pytest.skip(f"ordinary users get no room here: {ran.stderr.strip()}")
    assert ran.returncode == 0, ran.stderr
    lines = [line.split(" ", 2) for line in ran.stdout.splitlines()]
    return {line[0]: (line[1], line[2] if len(line) > 2 else "") for line in lines}
