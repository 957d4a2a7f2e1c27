"""Leftovers of a command on this machine: processes, mounts, files, network namespaces, control groups."""

import os
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

CONTROL_GROUPS = Path("/sys/fs/cgroup")
# The names of groups in crates/dyno-room: namespace of process ids, process id and start time of the engine.
GROUP_NAME = re.compile(r"httpdyno-(?P<namespace>\d+)-(?P<engine>\d+)-(?P<start>\d+)")
NAMED_NAMESPACE = re.compile(r" (?P<namespace>net:\[\d+\]) (?P<mount>\S+) .* - nsfs ")
# As doubles/two_machines.py names them: by the process of the tests.
OF_TESTS = re.compile(r"/hd-(?:here|there)-(?P<tests>\d+)$")
ENGINE = "httpdyno-engine"


@dataclass(frozen=True)
class Traces:
    """Leftovers that belong to a test, and to no living room."""

    processes: tuple[str, ...] = ()
    mounts: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    network_namespaces: tuple[str, ...] = ()
    control_groups: tuple[str, ...] = ()


@dataclass(frozen=True)
class Before:
    """Objects that existed before the test."""

    network_namespaces: frozenset[str]
    control_groups: frozenset[str]
    at_ticks: int
    """The moment of the note, in the unit of the start times of processes, since the machine started."""


def look_before() -> Before:
    """Record the state before a test begins."""
    at_ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    return Before(frozenset(network_namespaces()), frozenset(control_groups()), at_ticks)


def traces_of(folder: Path, temporary: Path, before: Before) -> Traces:
    """List the present objects that belong to a test.

    Processes belong to the folder by their working folder, their command line or their environment; mounts by their
    path; `temporary` is the `$TMPDIR` of the commands that ran. A network namespace belongs to the test by a process in
    it, which belongs to the folder or descends from this one and is in no room of a living engine of others, or by its
    name. A control group does not show its owner: it counts if its engine was started since and is gone. The test that
    killed that engine makes a room, too, which removes the group.
    """
    ours = set(processes_of(folder))
    namespaces = network_namespaces()
    named = namespaces_of_these_tests()
    return Traces(
        processes=tuple(describe(process) for process in ours),
        mounts=tuple(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(folder) in line),
        files=tuple(str(path) for path in sorted(temporary.rglob("*"))),
        network_namespaces=tuple(
            f"{name} of {[describe(process) for process in namespaces[name]]}"
            for name in sorted(namespaces.keys() - before.network_namespaces)
            if name in named or any(_is_ours(process, ours) for process in namespaces[name])
        ),
        control_groups=tuple(sorted(control_groups(since_ticks=before.at_ticks) - before.control_groups)),
    )


def processes_of(folder: Path) -> list[int]:
    """Find living processes that have the folder in their command line, environment or working folder."""
    return [number for number in _processes() if number != os.getpid() and _belongs(number, str(folder))]


def network_namespaces() -> dict[str, list[int]]:
    """Find the living network namespaces, each with its processes; with none, a mount keeps it."""
    found: dict[str, list[int]] = defaultdict(list)
    for number in _processes():
        try:
            found[str(Path(f"/proc/{number}/ns/net").readlink())].append(number)
        except OSError:
            continue
    for name, _ in named_namespaces():
        found.setdefault(name, [])
    return dict(found)


def namespaces_of_these_tests() -> set[str]:
    """Find the network namespaces that play machines for the tests of this process."""
    return {
        name
        for name, mount in named_namespaces()
        if (match := OF_TESTS.search(mount)) and int(match["tests"]) == os.getpid()
    }


def named_namespaces() -> list[tuple[str, str]]:
    """Find the network namespaces that are kept by a mount, and where each is mounted."""
    return NAMED_NAMESPACE.findall(Path("/proc/self/mountinfo").read_text(encoding="utf-8"))


def control_groups(root: Path = CONTROL_GROUPS, *, since_ticks: int = 0) -> set[str]:
    """Find the control groups of rooms whose engine is gone, of engines that were started since then."""
    return {
        str(folder)
        for folder, engine, start in engine_groups(root)
        if int(start) >= since_ticks and start_of(engine) != start
    }


def engine_groups(root: Path = CONTROL_GROUPS) -> Iterator[tuple[Path, int, str]]:
    """Find the control groups of rooms, each with the process id and the start time of its engine."""
    own_namespace = Path("/proc/self/ns/pid").stat().st_ino
    for folder, names, _ in os.walk(root):
        for name in names:
            match = GROUP_NAME.fullmatch(name)
            if match and int(match["namespace"]) == own_namespace:
                yield Path(folder, name), int(match["engine"]), match["start"]


def describe(process: int) -> str:
    """Name a process for a message."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        words = "gone"
    return f"{process} {words}"


def parent_of(process: int) -> int:
    """Return the parent of a process; 0 when the process is gone or has none."""
    fields = _stat(process)
    return int(fields[1]) if fields else 0


def start_of(process: int) -> str | None:
    """Return the kernel's start time of a process; None if the process is gone."""
    fields = _stat(process)
    return fields[19] if fields else None


def pid_in_room(process: int) -> int | None:
    """Return the process id that a process has in the innermost namespace; None if it has no namespace of its own."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    (line,) = [line for line in status.splitlines() if line.startswith("NSpid:")]
    numbers = line.split()[1:]
    return int(numbers[-1]) if len(numbers) > 1 else None


def _processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


def _stat(process: int) -> list[str]:
    """Return the fields of a process after its name: state, parent, ..., start time as the twentieth."""
    try:
        return Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _is_ours(process: int, ours: Collection[int]) -> bool:
    """Whether a process is one of these or descends from this one, with no living engine of others at or above it."""
    if process in ours:
        return True
    descends = False
    while process > 1 and not descends:
        try:
            name = Path(f"/proc/{process}/comm").read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return False
        if name == ENGINE and process not in ours:
            return False
        process = parent_of(process)
        descends = process == os.getpid()
    return descends


def _belongs(process: int, folder: str) -> bool:
    path = Path(f"/proc/{process}")
    if _stat(process)[:1] in ([], ["Z"]):
        return False
    try:
        words = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
        return folder.encode() in words or str((path / "cwd").readlink()).startswith(folder)
    except OSError:
        return False
