"""Load on purpose: for tests of trials on a busy machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

__all__ = ["hogs", "quota"]

_SPIN: Final = "while True: pass"
_V1: Final = Path("/sys/fs/cgroup/cpu")
_V2: Final = Path("/sys/fs/cgroup")


@contextmanager
def hogs(cpu: int, count: int) -> Iterator[None]:
    """Keep a CPU busy with some programs that never rest."""
    started = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(count)]
    try:
        for process in started:
            os.sched_setaffinity(process.pid, {cpu})
        yield
    finally:
        for process in started:
            process.kill()
            process.wait()


@contextmanager
def quota(share: float, name: str = "quota", period_us: int = 100_000) -> Iterator[Path | None]:
    """Make a control group whose processes get a share of one CPU; yield its folder, or None if that is refused.

    Processes that have used their share of a period wait for its end.
    """
    folder = (_V1 if _V1.is_dir() else _V2) / f"test-{name}-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        yield None
        return
    try:
        limited = _limit(folder, round(share * period_us), period_us)
        yield folder if limited else None
    finally:
        folder.rmdir()


def _limit(folder: Path, quota_us: int, period_us: int) -> bool:
    for texts in (
        {"cpu.cfs_period_us": str(period_us), "cpu.cfs_quota_us": str(quota_us)},
        {"cpu.max": f"{quota_us} {period_us}"},
    ):
        if all((folder / name).exists() for name in texts):
            for name, text in texts.items():
                (folder / name).write_text(text)
            return True
    return False
