"""Load on purpose, and how much there was besides: for tests of what a trial says about a busy machine."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

__all__ = ["Others", "hogs", "quota"]

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
def quota(share: float) -> Iterator[Path | None]:
    """Make a control group whose processes get a share of one CPU; yield its folder, None where that is refused."""
    folder = (_V1 if _V1.is_dir() else _V2) / f"test-quota-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError:
        yield None
        return
    try:
        limited = _limit(folder, round(share * 100_000))
        yield folder if limited else None
    finally:
        folder.rmdir()


def _limit(folder: Path, quota_us: int) -> bool:
    for name, text in (("cpu.cfs_quota_us", str(quota_us)), ("cpu.max", f"{quota_us} 100000")):
        if (folder / name).exists():
            (folder / name).write_text(text)
            return True
    return False


@dataclass(frozen=True, slots=True)
class Others:
    """The time of this process's CPUs that others than its children have used, up to one moment."""

    busy_s: float
    children_s: float

    @classmethod
    def now(cls) -> "Others":
        """Take the moment; children count once they have been waited for."""
        own = {f"cpu{cpu}" for cpu in os.sched_getaffinity(0)}
        lines = [line.split() for line in Path("/proc/stat").read_text().splitlines()]
        # user, nice, system, idle, waiting for a disk, interrupts of both kinds, stolen
        busy = sum(int(line[field]) for line in lines if line[0] in own for field in (1, 2, 3, 6, 7))
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return cls(busy / os.sysconf("SC_CLK_TCK"), usage.ru_utime + usage.ru_stime)

    def since(self, earlier: "Others") -> float:
        """Give the seconds that others used since an earlier moment."""
        return self.busy_s - earlier.busy_s - (self.children_s - earlier.children_s)
