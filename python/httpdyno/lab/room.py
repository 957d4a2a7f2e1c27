"""Specification of a room, and the engine's command line for it: a pure function from plan to argv."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Self

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, Link, format_cpus, format_exact, parse_cpus

__all__ = ["PEER_PORT", "Command", "Driver", "Feed", "HostNetwork", "Pinning", "RoomFiles", "RoomSpec", "Web"]


@dataclass(frozen=True, slots=True)
class Command:
    """What runs in the room."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    trust_files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Pinning:
    """Which CPUs a trial may use; None leaves the choice to the engine."""

    subject_cpus: str | None = None
    engine_cpus: str | None = None

    def cpus(self, available: Collection[int]) -> frozenset[int]:
        """Return the CPUs on which something else would disturb a trial; all when the engine chooses some of them."""
        if self.subject_cpus is None or self.engine_cpus is None:
            return frozenset(available)
        return frozenset(parse_cpus(self.subject_cpus) | parse_cpus(self.engine_cpus))

    def with_subject_on(self, count: int | None, available: Collection[int]) -> "Pinning":
        """Reserve the last ``count`` CPUs for the subject, and the first one for the engine.

        None: nothing is changed. A subject that gets all ``available`` CPUs shares the first one with the engine.
        """
        if count is None:
            return self
        numbers = sorted(available)
        if not 1 <= count <= len(numbers):
            raise InvalidValue(f"{count} CPUs for the subject: 1 to {len(numbers)} are available here; take so many")
        return replace(self, subject_cpus=format_cpus(numbers[-count:]), engine_cpus=str(numbers[0]))


@dataclass(frozen=True, slots=True)
class RoomFiles:
    """The files of one trial, as paths that the engine can open."""

    stdin: Path
    stdout: Path
    stderr: Path
    report: Path
    arrivals: Path
    progress_descriptor: int
    driver_output: Path
    """What the driver of a server prints, and the generator that it starts."""
    peer_output: Path
    """What a server that plays the peer prints: its last line tells why it did not come up."""


PEER_PORT: Final = 8080
"""Where a server that plays the peer listens."""
_READY_S: Final = 30
"""How long a server may take until it listens."""


@dataclass(frozen=True, slots=True)
class Web:
    """A web of ours as the peer: our origin plays it, here or on another machine."""

    name: str
    seed: int
    against: str | None = None
    """URL of the origin on another machine."""

    def argv(self) -> list[str]:
        """Return it as options of the engine."""
        return ["--web", self.name, "--seed", str(self.seed), *_given("--against", self.against)]


@dataclass(frozen=True, slots=True)
class Driver:
    """Who proves a server and has it sent to: then the subject is the peer itself."""

    argv: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostNetwork:
    """The network of this machine instead of a peer: names, trust and answers are the real internet's."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Feed of lines to a subject; by default all at once."""

    rate_per_s: float | None = None
    grace_s: float | None = None
    """Time after the last line to finish open requests; None: until the deadline."""
    batch: int | None = None
    """Lines at once; the next ones when those are answered."""
    per_host: int | None = None
    """URLs of one host in flight; None: as many as there are."""
    per_host_interval_s: float = 0.0

    def argv(self) -> list[str]:
        """Return it as options of the engine."""
        argv = _given("--rate", self.rate_per_s)
        if self.rate_per_s is not None and self.grace_s is not None:
            argv += ["--grace", f"{format_exact(self.grace_s)}s"]
        argv += _given("--batch", self.batch)
        if self.per_host is not None:
            argv += ["--per-host", str(self.per_host)]
            argv += ["--per-host-interval", f"{format_exact(self.per_host_interval_s)}s"]
        return argv


@dataclass(frozen=True, slots=True)
class RoomSpec:
    """Specification of a room; the engine reports what it cannot provide in one line."""

    command: Command
    """The subject."""
    peer: Web | Command | Driver | HostNetwork
    """The subject's peer: a web of the engine, a server, a driver of a subject that serves, or the real internet."""
    deadline_s: float
    timeout_s: float | None = None
    """The timeout of one URL that a client gets."""
    feed: Feed = field(default_factory=Feed)
    link: Link = field(default_factory=Link)
    link_seed: int = 1
    pinning: Pinning = field(default_factory=Pinning)
    memory_bytes: int | None = None
    receive_steering: bool = False

    @classmethod
    def of(
        cls,
        condition: Condition,
        command: Command,
        pinning: Pinning,
        peer: Command | Driver | None = None,
    ) -> Self:
        """Return the room in which a subject is measured under a condition.

        ``peer`` plays the peer; None: the web of the condition.
        """
        web = HostNetwork() if condition.live else Web(condition.web, condition.seed, condition.against)
        per_host = condition.per_host if condition.live else None
        return cls(
            command=command,
            peer=peer or web,
            deadline_s=condition.deadline_s,
            timeout_s=condition.workload.timeout_s,
            feed=Feed(
                *(condition.rate_per_s, condition.grace_s, condition.batch), per_host, condition.per_host_interval_s
            ),
            link=condition.link,
            link_seed=condition.link_seed,
            pinning=pinning,
            memory_bytes=condition.memory_bytes,
            receive_steering=condition.receive_steering,
        )

    def argv(self, engine: Path, files: RoomFiles) -> list[str]:
        """Return the argv of ``httpdyno-engine room`` that makes it, with the files that it is to fill."""
        argv = [str(engine), "room", *self._peer(files)]
        argv += [] if isinstance(self.peer, Driver) else _given("--timeout", self.timeout_s)
        argv += ["--deadline", f"{format_exact(self.deadline_s)}s"]
        if not self.link.direct:
            argv += ["--link", str(self.link), "--link-seed", str(self.link_seed)]
        argv += _given("--subject-cpus", self.pinning.subject_cpus)
        argv += _given("--engine-cpus", self.pinning.engine_cpus)
        argv += _given("--memory", self.memory_bytes)
        if not isinstance(self.peer, Driver):
            argv += self.feed.argv()
            argv += ["--receive-steering", "on"] if self.receive_steering else []
            argv += ["--stdin", str(files.stdin)]
        if not isinstance(self.peer, Driver | HostNetwork):
            argv += ["--arrivals", str(files.arrivals)]
        argv += ["--stdout", str(files.stdout), "--stderr", str(files.stderr), "--report", str(files.report)]
        argv += ["--progress", str(files.progress_descriptor), "--clean-environment"]
        argv += _environment("--env", self.command)
        if not isinstance(self.peer, HostNetwork):
            # There it trusts whom the machine trusts.
            argv += _repeated("--trust-file", [str(path) for path in self.command.trust_files])
        return [*argv, "--directory", str(self.command.folder), "--", *self.command.argv]

    def _peer(self, files: RoomFiles) -> list[str]:
        if isinstance(self.peer, Web):
            return self.peer.argv()
        if isinstance(self.peer, HostNetwork):
            return ["--network", "host"]
        if isinstance(self.peer, Driver):
            output = ["--driver-output", str(files.driver_output), "--ready-timeout", f"{_READY_S}s"]
            return ["--driver", shlex.join(self.peer.argv), *output]
        argv = ["--peer", shlex.join(self.peer.argv), "--peer-port", str(PEER_PORT)]
        argv += ["--peer-directory", str(self.peer.folder), "--peer-output", str(files.peer_output)]
        return argv + _environment("--peer-env", self.peer)


def _given(flag: str, value: str | float | None) -> list[str]:
    if value is None:
        return []
    return [flag, format_exact(value) if isinstance(value, float) else str(value)]


def _environment(flag: str, command: Command) -> list[str]:
    return _repeated(flag, [f"{name}={value}" for name, value in sorted(command.environment.items())])


def _repeated(flag: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (flag, value)]
