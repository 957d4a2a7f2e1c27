"""The engine's command line for one trial: pure, from a plan to an argv."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from httpdyno.errors import InvalidValue
from httpdyno.model import Condition, format_exact, parse_cpus

__all__ = ["Command", "Machine", "RoomFiles", "room_argv"]


@dataclass(frozen=True, slots=True)
class Command:
    """What runs in the room."""

    argv: tuple[str, ...]
    folder: Path
    environment: Mapping[str, str] = field(default_factory=dict)
    trust_files: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True)
class Machine:
    """Which CPUs a trial may use; None leaves the choice to the engine."""

    subject_cpus: str | None = None
    engine_cpus: str | None = None

    def cpus(self, available: Collection[int]) -> frozenset[int]:
        """Give the CPUs on which something else would disturb a trial; all when the engine chooses some of them."""
        if self.subject_cpus is None or self.engine_cpus is None:
            return frozenset(available)
        return frozenset(parse_cpus(self.subject_cpus) | parse_cpus(self.engine_cpus))


@dataclass(frozen=True, slots=True)
class RoomFiles:
    """The files of one trial, as paths that the engine can open."""

    stdin: Path
    stdout: Path
    stderr: Path
    report: Path
    arrivals: Path
    progress_descriptor: int


def room_argv(engine: Path, condition: Condition, machine: Machine, files: RoomFiles, command: Command) -> list[str]:
    """Give the argv of ``httpdyno-engine room`` for one trial.

    Raises
    ------
    InvalidValue
        If the condition cannot be had in a room of this engine.
    """
    if condition.live:
        raise InvalidValue("the live web cannot be put in a room")
    if not condition.link.direct:
        raise InvalidValue(f"link {condition.link}: this engine has direct links only")
    argv: list[str] = [str(engine), "room", "--web", condition.web, "--seed", str(condition.seed)]
    argv += ["--timeout", format_exact(condition.workload.timeout_s)]
    argv += ["--deadline", f"{format_exact(condition.deadline_s)}s"]
    argv += _given("--subject-cpus", machine.subject_cpus)
    argv += _given("--engine-cpus", machine.engine_cpus)
    argv += _given("--memory", condition.memory_bytes)
    argv += _given("--rate", condition.rate_per_s)
    for name in ("stdin", "stdout", "stderr", "report", "arrivals"):
        argv += [f"--{name}", str(getattr(files, name))]
    argv += ["--progress", str(files.progress_descriptor), "--clean-environment"]
    argv += _repeated("--env", [f"{name}={value}" for name, value in sorted(command.environment.items())])
    argv += _repeated("--trust-file", [str(path) for path in command.trust_files])
    return [*argv, "--directory", str(command.folder), "--", *command.argv]


def _given(flag: str, value: str | float | None) -> list[str]:
    if value is None:
        return []
    return [flag, format_exact(value) if isinstance(value, float) else str(value)]


def _repeated(flag: str, values: Sequence[str]) -> list[str]:
    return [part for value in values for part in (flag, value)]
