"""The engine's command line for one trial: pure, from a plan to an argv."""

import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, format_cpus, format_exact, parse_cpus

__all__ = ["PEER_PORT", "Command", "Pinning", "RoomFiles", "room_argv", "server_room_argv"]


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
        """Reserve the last CPUs for a subject that is to have a number of them, and the first one for the engine.

        Parameters
        ----------
        count : int, optional
            How many; None: nobody counts, and nothing is changed. All that there are include the engine's.
        available : collection of int
            The CPUs that this process may use.

        Raises
        ------
        InvalidValue
            If there are not so many.
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
    driver_output: Path | None = None
    """What the driver of a server prints, and the generator that it starts."""
    peer_output: Path | None = None
    """What a server that plays the peer prints: its last line tells why it did not come up."""


PEER_PORT: Final = 8080
"""Where a server that plays the peer listens."""
_READY_S: Final = 30
"""How long a server may take until it listens."""


def room_argv(
    engine: Path,
    condition: Condition,
    pinning: Pinning,
    files: RoomFiles,
    command: Command,
    peer: Command | None = None,
) -> list[str]:
    """Return the argv of ``httpdyno-engine room`` for one trial.

    Parameters
    ----------
    engine : Path
        The engine's program.
    condition, pinning, files, command
        What is measured, on which CPUs, where its traces go, how the subject is started.
    peer : Command, optional
        The server that plays the peer; None: our origin does.

    Raises
    ------
    InvalidValue
        If the condition cannot be had in a room of this engine.
    """
    if condition.live:
        raise InvalidValue("the live web cannot be put in a room")
    argv: list[str] = [str(engine), "room", *(_web(condition) if peer is None else _peer(peer, files))]
    argv += ["--timeout", format_exact(condition.workload.timeout_s)]
    argv += _given("--against", condition.against)
    argv += _surroundings(condition, pinning)
    argv += _given("--rate", condition.rate_per_s)
    if condition.rate_per_s is not None and condition.grace_s is not None:
        argv += ["--grace", f"{format_exact(condition.grace_s)}s"]
    argv += _given("--batch", condition.batch)
    argv += ["--receive-steering", "on"] if condition.receive_steering else []
    return argv + _process(files, ("stdin", "stdout", "stderr", "report", "arrivals"), command)


def server_room_argv(
    engine: Path,
    condition: Condition,
    pinning: Pinning,
    files: RoomFiles,
    command: Command,
    driver: Sequence[str],
) -> list[str]:
    """Return the argv of ``httpdyno-engine room`` for one trial of a server, which a driver proves and has sent to."""
    argv = [str(engine), "room", "--driver", shlex.join(driver)]
    argv += _given("--driver-output", None if files.driver_output is None else str(files.driver_output))
    argv += ["--ready-timeout", f"{_READY_S}s"]
    return argv + _surroundings(condition, pinning) + _process(files, ("stdout", "stderr", "report"), command)


def _surroundings(condition: Condition, pinning: Pinning) -> list[str]:
    """Describe what is around a subject: how long, over which link, on which CPUs, with how much memory."""
    argv = ["--deadline", f"{format_exact(condition.deadline_s)}s"]
    if not condition.link.direct:
        argv += ["--link", str(condition.link), "--link-seed", str(condition.link_seed)]
    argv += _given("--subject-cpus", pinning.subject_cpus)
    argv += _given("--engine-cpus", pinning.engine_cpus)
    return argv + _given("--memory", condition.memory_bytes)


def _process(files: RoomFiles, named: Sequence[str], command: Command) -> list[str]:
    """Describe what is started, and where its traces go."""
    argv = [part for name in named for part in (f"--{name}", str(getattr(files, name)))]
    argv += ["--progress", str(files.progress_descriptor), "--clean-environment"]
    argv += _repeated("--env", [f"{name}={value}" for name, value in sorted(command.environment.items())])
    argv += _repeated("--trust-file", [str(path) for path in command.trust_files])
    return [*argv, "--directory", str(command.folder), "--", *command.argv]


def _web(condition: Condition) -> list[str]:
    return ["--web", condition.web, "--seed", str(condition.seed)]


def _peer(peer: Command, files: RoomFiles) -> list[str]:
    argv = ["--peer", shlex.join(peer.argv), "--peer-port", str(PEER_PORT), "--peer-directory", str(peer.folder)]
    argv += _given("--peer-output", None if files.peer_output is None else str(files.peer_output))
    return argv + _repeated("--peer-env", [f"{name}={value}" for name, value in sorted(peer.environment.items())])


def _given(flag: str, value: str | float | None) -> list[str]:
    if value is None:
        return []
    return [flag, format_exact(value) if isinstance(value, float) else str(value)]


def _repeated(flag: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (flag, value)]
