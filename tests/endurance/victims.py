"""The parts of a command's processes."""

import os
import random
import signal
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import Literal, get_args

from doubles.traces import ENGINE, parent_of, pid_in_room

Part = Literal["command", "engine", "init", "subject"]
PARTS: tuple[Part, ...] = get_args(Part)
"""A command that has become the engine (``room``, ``origin``, ``fetch``) is the engine."""


def processes_below(command: int) -> list[int]:
    """Find the command, if it lives, and all its descendants."""
    children = defaultdict(list)
    for path in Path("/proc").iterdir():
        if path.name.isdigit():
            children[parent_of(int(path.name))].append(int(path.name))
    found = [command] if Path("/proc", str(command)).exists() else []
    for process in found:
        found.extend(children[process])
    return found


def parts_of(command: int) -> dict[Part, list[int]]:
    """Sort the processes of a command by part; a part without a process is left out."""
    found: dict[Part, list[int]] = defaultdict(list)
    for process in processes_below(command):
        in_room = pid_in_room(process)
        if in_room is None and _name(process) == ENGINE:
            found["engine"].append(process)
        elif process == command:
            found["command"].append(process)
        elif in_room is None:
            found["subject"].append(process)
        else:
            found["init" if in_room == 1 else "subject"].append(process)
    return dict(found)


def kill_one(command: int, wanted: Part, chance: random.Random) -> bool:
    """Kill a process of a part; return whether there was one."""
    playing = parts_of(command).get(wanted)
    if playing:
        with suppress(ProcessLookupError):
            os.kill(chance.choice(playing), signal.SIGKILL)
            return True
    return False


def _name(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
