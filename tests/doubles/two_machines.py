"""Two machines on this one: network namespaces of their own, joined by a cable, one with an origin."""

import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

HERE_ADDRESS: Final = "10.66.7.1"
THERE_ADDRESS: Final = "10.66.7.2"
"""In a block in which a room never answers: on real machines these are ordinary addresses."""
THERE_V6: Final = "fd66:7::2"
PORT: Final = 8080
AGAINST: Final = f"http://{THERE_ADDRESS}:{PORT}"
"""Address of an origin on the other machine."""
_PATIENCE_S: Final = 300


@dataclass(frozen=True)
class Machines:
    """The names of the two namespaces."""

    here: str
    there: str

    @property
    def at_here(self) -> list[str]:
        """Prefix that runs a command on the measuring machine."""
        return in_namespace(self.here)

    @property
    def at_there(self) -> list[str]:
        """Prefix that runs a command on the other machine."""
        return in_namespace(self.there)


def in_namespace(name: str) -> list[str]:
    """Return the words that run a command in a network namespace."""
    # Not `ip netns exec`: it mounts another /sys, without the control groups that processes are accounted by.
    return ["nsenter", f"--net=/run/netns/{name}"]


class RunningOrigin:
    """An origin on the other machine."""

    def __init__(self, machines: Machines, engine: Path, said: Path, *options: str) -> None:
        argv = [*machines.at_there, str(engine), "origin", *options]
        self._said = said
        with said.open("wb") as file:
            self._process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=file)
        until = time.monotonic() + _PATIENCE_S
        while " at http://" not in said.read_text():
            assert self._process.poll() is None, said.read_text()
            assert time.monotonic() < until, "the origin does not say where it is"
            time.sleep(0.01)

    def kill(self) -> None:
        """End it like a power loss, except that the kernel closes the connections."""
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End it gracefully."""
        self._process.terminate()
        assert self._process.wait(_PATIENCE_S) == 0, self._said.read_text()


@contextmanager
def two_machines() -> Iterator[Machines]:
    """Make two machines and a cable; skip if that is not permitted, or if `ip` is missing."""
    machines = Machines(f"hd-here-{os.getpid()}", f"hd-there-{os.getpid()}")
    near, far = f"hdh{os.getpid()}", f"hdt{os.getpid()}"
    try:
        for name in (machines.here, machines.there):
            ip("netns", "add", name)
        ip("link", "add", near, "netns", machines.here, "type", "veth", "peer", "name", far, "netns", machines.there)
        for name, device, address, v6 in (
            (machines.here, near, HERE_ADDRESS, "fd66:7::1"),
            (machines.there, far, THERE_ADDRESS, THERE_V6),
        ):
            ip("-n", name, "address", "add", f"{address}/24", "dev", device)
            ip("-n", name, "address", "add", f"{v6}/64", "dev", device, "nodad")
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", device, "up")
    except (OSError, subprocess.CalledProcessError) as error:
        remove_namespaces(machines.here, machines.there)
        said = getattr(error, "stderr", None) or error
        pytest.skip(f"two machines cannot be made here, which takes root and `ip` (iproute2): {said}")
    try:
        yield machines
    finally:
        remove_namespaces(machines.here, machines.there)


def remove_namespaces(*names: str) -> None:
    """Remove those that exist."""
    for name in names:
        # Without `ip` there is nothing to remove.
        with suppress(OSError):
            subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def ip(*words: str) -> None:
    """Configure the network."""
    subprocess.run(["ip", *words], capture_output=True, text=True, check=True)
