"""Runs one client on this machine itself, without a room; pins it, counts what it costs, ends all that it started.

Started as a script of its own by ``live_client``, with a pipe that it listens to: a byte asks the client to end, the
end of the pipe kills it, so that nothing is left when httpdyno is gone, also of SIGKILL. Imports nothing of httpdyno,
so that it starts at once.
"""

import ctypes
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

GRACE_S: Final = 2.0
"""Between asking a client to end and killing it."""
_FIRST_INTERVAL_S: Final = 0.005
_INTERVAL_S: Final = 0.1
"""The usual distance of two readings of memory; the first ones lie closer, so that a short life is seen too."""
_COST_SHARE: Final = 20
"""At most one part in this many is spent on reading memory."""
_SET_PARENT_DEATH_SIGNAL: Final = 1
_SET_CHILD_SUBREAPER: Final = 36
_PAUSE_S: Final = 0.005
_NANOSECONDS: Final = 10**9
_STEAL_FIELD: Final = 7
_IDLE_FIELDS: Final = (3, 4)
_INTERRUPT_FIELDS: Final = (5, 6)
_PROC: Final = Path("/proc")


class _Tree:
    """All processes that descend from this one: those of others never do."""

    def __init__(self) -> None:
        self._root = os.getpid()

    def processes(self) -> list[int]:
        """Find those that are alive now; one that is just losing its parent may be missed until the next look."""
        # A kernel without lists of children is asked for all processes that there are: that takes ten times as long.
        children = _children if Path("/proc/thread-self/children").exists() else _children_of_all()
        found, unseen = list[int](), [self._root]
        while unseen:
            below = children(unseen.pop())
            found += below
            unseen += below
        return found

    def proportional_bytes(self) -> int:
        """Add up the proportional set sizes; 0 when there is nobody."""
        return sum(map(_proportional_bytes, self.processes()))

    def end(self) -> None:
        """Kill and reap until nobody is left: orphans come to this process, however deep they were."""
        while True:
            for process in self.processes():
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            try:
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass
            except ChildProcessError:
                return
            time.sleep(_PAUSE_S)


class _Machine:
    """What the pinned CPUs and the pressure on the machine were at one moment."""

    def __init__(self, roles: dict[int, str]) -> None:
        self._roles = roles
        self._at_ns = time.monotonic_ns()
        self._ticks = _ticks(roles)
        self._pressure_us = {name: _pressure_us(name) for name in ("cpu", "memory", "io")}

    def until(self, later: "_Machine") -> dict[str, Any]:
        """Return the parts of a report that are differences of two moments."""
        tick_ns = _NANOSECONDS // os.sysconf("SC_CLK_TCK")
        cpus = []
        for cpu, before in self._ticks.items():
            spent = [now - then for now, then in zip(later._ticks.get(cpu, before), before, strict=True)]
            busy = sum(spent) - sum(spent[field] for field in (*_IDLE_FIELDS, _STEAL_FIELD))
            cpus.append(
                {
                    "cpu": cpu,
                    "role": self._roles[cpu],
                    "busy_ns": busy * tick_ns,
                    "interrupt_ns": sum(spent[field] for field in _INTERRUPT_FIELDS) * tick_ns,
                    "steal_ns": spent[_STEAL_FIELD] * tick_ns,
                    "window_ns": later._at_ns - self._at_ns,
                }
            )
        pressure = {
            f"{name}_some_us": now - then
            for name, then in self._pressure_us.items()
            if then is not None and (now := later._pressure_us[name]) is not None
        }
        return {"cpus": cpus, "pressure": pressure}


class _Client:
    """The client's process from its exec to its end."""

    def __init__(self, argv: list[str], settings: dict[str, Any]) -> None:
        library = ctypes.CDLL(None, use_errno=True)
        # Whoever loses its parent in the tree below comes here, to be counted and to be killed.
        library.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        subject_cpus = settings["subject_cpus"]

        def prepare() -> None:
            library.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
            os.sched_setaffinity(0, subject_cpus)

        self.started_at_ns, self.started_ns = time.time_ns(), time.monotonic_ns()
        self.process = subprocess.Popen(
            argv,
            cwd=settings["folder"],
            env=settings["environment"],
            process_group=0,
            preexec_fn=prepare,
        )
        self.ended_at_ns = self.ended_ns = 0
        self.memory: list[tuple[int, int]] = []

    def wait(self, leash: int, deadline_s: float, tree: _Tree) -> str:
        """Wait for the end; say who asked for it: ``deadline``, ``interrupted``, or nobody."""
        ended = os.pidfd_open(self.process.pid)
        poll = select.poll()
        poll.register(ended, select.POLLIN)
        poll.register(leash, select.POLLIN | select.POLLHUP)
        cause, interval = "", _FIRST_INTERVAL_S
        sample_at, end_at = 0.0, time.monotonic() + deadline_s
        while True:
            now = time.monotonic()
            if now >= sample_at:
                sample_at = now + max(interval, _COST_SHARE * self._sample(tree))
                interval = min(2 * interval, _INTERVAL_S)
            news = dict(poll.poll(1000 * max(min(sample_at, end_at) - time.monotonic(), 0)))
            # A byte asks for the end; the end of the pipe means that nobody waits for it any more.
            told = os.read(leash, 1) if leash in news else None
            if ended in news or told == b"":
                break
            if told or time.monotonic() >= end_at:
                if cause:
                    break
                cause, end_at = "interrupted" if told else "deadline", time.monotonic() + GRACE_S
                self._signal(signal.SIGTERM)
        self.ended_at_ns, self.ended_ns = time.time_ns(), time.monotonic_ns()
        os.close(ended)
        return cause

    def end(self, tree: _Tree) -> dict[str, Any]:
        """End what is left of it; give its account."""
        if self.process.poll() is None:
            self._signal(signal.SIGKILL)
        status = self.process.wait()
        tree.end()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            "exit_code": status if status >= 0 else None,
            "signal": -status if status < 0 else None,
            "started_at_ns": self.started_at_ns,
            "ended_at_ns": self.ended_at_ns,
            "wall_ns": self.ended_ns - self.started_ns,
            "cpu_user_ns": round(used.ru_utime * _NANOSECONDS),
            "cpu_system_ns": round(used.ru_stime * _NANOSECONDS),
            "peak_memory_bytes": max((size for _, size in self.memory), default=None),
            "memory": self.memory,
            "accounting": "rusage",
            "out_of_memory": False,
        }

    def _sample(self, tree: _Tree) -> float:
        """Take a reading of memory; give the processor time that it cost, in seconds."""
        before = time.thread_time()
        size = tree.proportional_bytes()
        # A tree that has just ended has no pages left, and its zero says nothing.
        if size:
            self.memory.append((time.monotonic_ns() - self.started_ns, size))
        return time.thread_time() - before

    def _signal(self, number: signal.Signals) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)


def main(settings: dict[str, Any], argv: list[str]) -> None:
    """Run a client, and leave the report of its trial as the engine leaves one of a room."""
    roles = _roles(settings["engine_cpus"], settings["subject_cpus"])
    os.sched_setaffinity(0, settings["engine_cpus"])
    before, tree = _Machine(roles), _Tree()
    try:
        try:
            client = _Client(argv, settings)
        except (OSError, subprocess.SubprocessError) as error:
            _report(settings, {"outcome": "failed_to_start", "reason": f"{argv[0]}: {error}"})
            return
        _let_go_of_streams()
        cause = client.wait(settings["leash"], settings["deadline_s"], tree)
        later = _Machine(roles)
        subject = client.end(tree)
        outcome = cause or ("signaled" if subject["signal"] else "exited")
        _report(settings, {"outcome": outcome, "reason": None, "subject": subject, **before.until(later)})
    finally:
        tree.end()
        # httpdyno, which has made it, may be gone.
        shutil.rmtree(settings["home"], ignore_errors=True)


def _report(settings: dict[str, Any], values: dict[str, Any]) -> None:
    with os.fdopen(settings["report"], "w", encoding="utf-8") as file:
        json.dump({"version": 1, **values}, file)


def _let_go_of_streams() -> None:
    """Leave the pipes to the client: whoever is at their other end must see when it closes them."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    os.close(nothing)


def _roles(engine: Sequence[int], subject: Sequence[int]) -> dict[int, str]:
    """Name the CPUs that are watched: no origin has to keep up here, so those of the engine say nothing."""
    return {cpu: "both" if cpu in engine else "subject" for cpu in subject}


def _children(process: int) -> list[int]:
    """Read the children of a process, whichever of its threads has started them."""
    found = []
    with suppress(OSError):
        for thread in (_PROC / str(process) / "task").iterdir():
            with suppress(OSError):
                found += [int(child) for child in (thread / "children").read_bytes().split()]
    return found


def _children_of_all() -> Callable[[int], list[int]]:
    children: dict[int, list[int]] = {}
    for path in _PROC.iterdir():
        if path.name.isdigit():
            children.setdefault(_parent(path), []).append(int(path.name))
    return lambda process: children.pop(process, [])


def _parent(process: Path) -> int:
    try:
        # The name before it may hold anything, also parentheses.
        return int((process / "stat").read_bytes().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0


def _proportional_bytes(process: int) -> int:
    try:
        rollup = (_PROC / str(process) / "smaps_rollup").read_bytes()
    except OSError:
        return 0
    _, found, rest = rollup.partition(b"\nPss:")
    return int(rest.split()[0]) * 1024 if found else 0


def _ticks(cpus: dict[int, str]) -> dict[int, list[int]]:
    found = {}
    with suppress(OSError):
        for line in (_PROC / "stat").read_text(encoding="ascii").splitlines():
            name, _, fields = line.partition(" ")
            number = name.removeprefix("cpu")
            if name.startswith("cpu") and number.isdigit() and int(number) in cpus:
                # The fields behind that of steal repeat what user and nice have counted already.
                found[int(number)] = [int(field) for field in fields.split()[: _STEAL_FIELD + 1]]
    return found


def _pressure_us(name: str) -> int | None:
    try:
        some = (_PROC / "pressure" / name).read_text(encoding="ascii").partition("\n")[0]
        return int(some.rpartition("total=")[2])
    except (OSError, ValueError):
        return None


if __name__ == "__main__":
    main(json.loads(sys.argv[1]), sys.argv[2:])
