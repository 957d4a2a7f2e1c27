"""Several machines on this one, with no network and no CPU time in common, joined by a switch to one with servers."""

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from doubles.load import quota
from doubles.two_machines import in_namespace, ip, remove_namespaces

SERVER_ADDRESS: Final = "10.66.8.254"
"""In a block in which a room never answers: on real machines these are ordinary addresses."""
_PATIENCE_S: Final = 60
_JOIN: Final = 'echo $$ > "$0" && hostname "$1" && shift && exec "$@"'


@dataclass(frozen=True)
class Machine:
    """A network namespace, a host name and a control group."""

    name: str
    address: str
    namespace: str
    group: Path

    @property
    def at(self) -> list[str]:
        """Prefix that runs a command on it."""
        return [
            *in_namespace(self.namespace),
            *("unshare", "--uts", "sh", "-c", _JOIN, str(self.group / "cgroup.procs"), self.name),
        ]

    def processes(self) -> list[int]:
        """Return the ids of its processes."""
        return [int(line) for line in (self.group / "cgroup.procs").read_text().split()]

    def send(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        for process in self.processes():
            with suppress(ProcessLookupError):
                os.kill(process, number)

    def kill(self) -> None:
        """End it like a power loss, except that the kernel closes the connections."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.processes():
            assert time.monotonic() < deadline, f"processes of {self.name} do not end"
            self.send(signal.SIGKILL)
            time.sleep(0.01)


@dataclass(frozen=True)
class Machines:
    """Those that are measured, and the prefix that runs a server at ``SERVER_ADDRESS``."""

    machines: list[Machine]
    at_server: list[str]
    server_namespace: str


@contextmanager
def separate_machines(count: int, cpus: float, period_us: int = 100_000) -> Iterator[Machines]:
    """Make machines that have a share of a CPU each; skip if that is not permitted, or if `ip` is missing."""
    server = f"hd-server-{os.getpid()}"
    namespaces = [f"hd-machine-{number}-{os.getpid()}" for number in range(1, count + 1)]
    with ExitStack() as stack:
        stack.callback(remove_namespaces, server, *namespaces)
        groups = [stack.enter_context(quota(cpus, f"machine-{number}", period_us)) for number in range(1, count + 1)]
        try:
            for name in (server, *namespaces):
                ip("netns", "add", name)
                ip("-n", name, "link", "set", "lo", "up")
            ip("-n", server, "link", "add", "switch", "type", "bridge")
            ip("-n", server, "address", "add", f"{SERVER_ADDRESS}/24", "dev", "switch")
            ip("-n", server, "link", "set", "switch", "up")
            for number, name in enumerate(namespaces, 1):
                port = f"port{number}"
                ip("link", "add", "cable", "netns", name, "type", "veth", "peer", "name", port, "netns", server)
                ip("-n", server, "link", "set", port, "master", "switch", "up")
                ip("-n", name, "address", "add", f"{_address(number)}/24", "dev", "cable")
                ip("-n", name, "link", "set", "cable", "up")
        except (OSError, subprocess.CalledProcessError) as error:
            said = getattr(error, "stderr", None) or error
            pytest.skip(f"machines cannot be made here, which takes root and `ip` (iproute2): {said}")
        if None in groups:
            pytest.skip("no control group can bound CPU time here")
        machines = [
            Machine(f"node-{number}", _address(number), name, group)
            for number, (name, group) in enumerate(zip(namespaces, groups, strict=True), 1)
            if group is not None
        ]
        # Registered last, so called first: a group with processes cannot be removed.
        for machine in machines:
            stack.callback(machine.kill)
        yield Machines(machines, in_namespace(server), server)


def _address(number: int) -> str:
    return f"10.66.8.{number}"
