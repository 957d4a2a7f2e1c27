"""Specification of a room, and the engine's command line for it: a pure function from plan to argv."""

import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, Self

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, format_cpus, format_exact, parse_cpus
from httpdyno.subjects.build import Build
from httpdyno.subjects.cache import program_path

PEER_PORT: Final = 8080
"""Port of a peer server."""
_READY_S: Final = 30
"""Time within which a server must listen."""


@dataclass(frozen=True, slots=True)
class Command:
    """A program in a room."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    trust_files: tuple[Path, ...] = ()

    @classmethod
    def of(cls, build: Build, settings: Mapping[str, str] | None = None) -> Self:
        """Return the command of a built subject; its own environment takes precedence over the ``settings``."""
        environment = {"PATH": program_path(), **(settings or {}), **build.environment}
        return cls(build.argv, build.folder, environment, build.trust_files)


@dataclass(frozen=True, slots=True)
class Pinning:
    """CPUs of a trial; None: the engine chooses."""

    subject_cpus: str | None = None
    engine_cpus: str | None = None

    def cpus(self, available: Collection[int]) -> frozenset[int]:
        """Return the CPUs on which other programs would disturb a trial; all CPUs if the engine chooses."""
        if self.subject_cpus is None or self.engine_cpus is None:
            return frozenset(available)
        return frozenset(parse_cpus(self.subject_cpus) | parse_cpus(self.engine_cpus))

    def or_shared(self, available: Collection[int]) -> "Pinning":
        """Let both share all ``available`` CPUs if the engine would choose: for trials that do not measure speed."""
        if (self.subject_cpus, self.engine_cpus) != (None, None):
            return self
        return Pinning(format_cpus(sorted(available)), format_cpus(sorted(available)))

    def with_subject_on(self, count: int | None, available: Collection[int]) -> "Pinning":
        """Reserve the last ``count`` CPUs for the subject, and the first one for the engine.

        None: nothing changes. A subject that gets all ``available`` CPUs shares the first one with the engine.
        """
        if count is None:
            return self
        numbers = sorted(available)
        if not 1 <= count <= len(numbers):
            raise InvalidValue(
                f"{count} CPUs for the subject: 1 to {len(numbers)} are available here; choose one of these numbers"
            )
        return replace(self, subject_cpus=format_cpus(numbers[-count:]), engine_cpus=str(numbers[0]))


RoomFile = Literal[
    "stdin", "stdout", "stderr", "report", "arrivals", "driver-output", "peer-output", "scripts", "transcripts"
]
"""A file of a room, by the engine's option for it.

The driver's output includes that of the generator that it starts. If a peer server does not start, the last line of its
output is the reason.
"""


@dataclass(frozen=True, slots=True)
class RoomSpec:
    """Specification of a room; if the engine cannot provide it, it reports that in one line."""

    command: Command
    """The subject."""
    condition: Condition
    pinning: Pinning = field(default_factory=Pinning)
    peer: Command | None = None
    """Peer server; None: the web of the condition, or the real internet."""
    driver: tuple[str, ...] = ()
    """Command that checks a server and sends requests to it: the subject serves. Empty: the subject is a client."""
    script: str = ""
    """Hosts that are played step by step, as JSON; the web serves every other host."""

    def argv(self, engine: Path, files: Mapping[RoomFile, Path], progress: int) -> list[str]:
        """Return the command line of ``httpdyno-engine room`` that creates the room and writes the files.

        ``progress`` is the descriptor to which the engine writes its progress.
        """
        condition = self.condition
        argv = [str(engine), "room", *self._peer(files)]
        argv += [] if self.driver else _given("--timeout", condition.workload.timeout_s)
        argv += ["--deadline", f"{format_exact(condition.deadline_s)}s"]
        if not condition.link.direct:
            argv += ["--link", str(condition.link), "--link-seed", str(condition.link_seed)]
        argv += _given("--subject-cpus", self.pinning.subject_cpus)
        argv += _given("--engine-cpus", self.pinning.engine_cpus)
        argv += _given("--memory", condition.memory_bytes)
        if not self.driver:
            argv += [*self._feed(), "--stdin", str(files["stdin"])]
            argv += [] if condition.live else ["--arrivals", str(files["arrivals"])]
        argv += ["--stdout", str(files["stdout"]), "--stderr", str(files["stderr"]), "--report", str(files["report"])]
        if self.script:
            argv += ["--scripts", str(files["scripts"]), "--transcripts", str(files["transcripts"])]
        argv += ["--progress", str(progress), "--clean-environment"]
        argv += _environment("--env", self.command)
        # On the real internet the machine's own certificates are trusted.
        trusted = () if self.driver or condition.live else self.command.trust_files
        argv += _repeated("--trust-file", map(str, trusted))
        return [*argv, "--directory", str(self.command.folder), "--", *self.command.argv]

    def _peer(self, files: Mapping[RoomFile, Path]) -> list[str]:
        condition = self.condition
        if self.driver:
            output = ["--driver-output", str(files["driver-output"]), "--ready-timeout", f"{_READY_S}s"]
            return ["--driver", shlex.join(self.driver), *output]
        if self.peer:
            argv = ["--peer", shlex.join(self.peer.argv), "--peer-port", str(PEER_PORT)]
            argv += ["--peer-directory", str(self.peer.folder), "--peer-output", str(files["peer-output"])]
            return argv + _environment("--peer-env", self.peer)
        if condition.live:
            return ["--network", "host"]
        return ["--web", condition.web, "--seed", str(condition.seed), *_given("--against", condition.against)]

    def _feed(self) -> list[str]:
        """Return the options that pace the lines of the list; by default all are fed at once."""
        condition = self.condition
        argv = _given("--rate", condition.rate_per_s)
        if condition.rate_per_s is not None and condition.grace_s is not None:
            argv += ["--grace", f"{format_exact(condition.grace_s)}s"]
        argv += _given("--batch", condition.batch)
        if condition.live:
            argv += ["--per-host", str(condition.per_host)]
            argv += ["--per-host-interval", f"{format_exact(condition.per_host_interval_s)}s"]
        return argv + (["--receive-steering", "on"] if condition.receive_steering else [])


def _given(flag: str, value: str | float | None) -> list[str]:
    if value is None:
        return []
    return [flag, format_exact(value) if isinstance(value, float) else str(value)]


def _environment(flag: str, command: Command) -> list[str]:
    return _repeated(flag, (f"{name}={value}" for name, value in sorted(command.environment.items())))


def _repeated(flag: str, values: Iterable[str]) -> list[str]:
    return [part for value in values for part in (flag, value)]
