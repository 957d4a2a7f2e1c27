"""What a command may have left behind on this machine: processes, mounts, files."""

import os
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Traces:
    """Processes that belong to a folder, by their working folder, their command line or their environment."""

    processes: tuple[str, ...]
    mounts: tuple[str, ...]
    files: tuple[str, ...]


def traces_of(folder: Path, temporary: Path) -> Traces:
    """List what there is now; `temporary` is the `$TMPDIR` of the commands that ran."""
    return Traces(
        processes=tuple(describe(process) for process in processes_of(folder)),
        mounts=tuple(line for line in Path("/proc/self/mountinfo").read_text().splitlines() if str(folder) in line),
        files=tuple(str(path) for path in sorted(temporary.rglob("*"))),
    )


def processes_of(folder: Path) -> list[int]:
    """Find living processes that have the folder in their command line, environment or working folder."""
    found = []
    for path in Path("/proc").iterdir():
        if path.name.isdigit() and int(path.name) != os.getpid() and _belongs(path, str(folder)):
            found.append(int(path.name))
    return found


def describe(process: int) -> str:
    """Name a process for a message."""
    try:
        words = Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        words = "gone"
    return f"{process} {words}"


def pid_in_room(process: int) -> int | None:
    """Give the process id that a process has in the innermost namespace; None when it is in none of its own."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except OSError:
        return None
    (line,) = [line for line in status.splitlines() if line.startswith("NSpid:")]
    numbers = line.split()[1:]
    return int(numbers[-1]) if len(numbers) > 1 else None


def _belongs(path: Path, folder: str) -> bool:
    try:
        if (path / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] == "Z":
            return False
        words = (path / "cmdline").read_bytes() + (path / "environ").read_bytes()
        return folder.encode() in words or str((path / "cwd").readlink()).startswith(folder)
    except OSError:
        return False
