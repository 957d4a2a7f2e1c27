"""``--detach``: leaves a run to a process of its own, which outlives the terminal."""

import os
import shlex
import sys
from pathlib import Path

from httpdyno.cli.terminal import tell
from httpdyno.errors import StorageFailed, UsageError
from httpdyno.runs.pending import PendingRun
from httpdyno.store.files import storing
from httpdyno.store.folder import OUTPUT

__all__ = ["leave_running"]


def leave_running(run: PendingRun, verb: str, format_name: str) -> None:
    """Start a process that makes the run; say where its results will be, how it is watched and how it is stopped.

    It is the same as ``--resume`` typed by hand, but for the lock: that is handed over with standard input, so that
    there is no moment in which the run looks as if nobody was making it.
    """
    if run.writer is None:
        raise UsageError("--detach: a run that is not kept has no place for its results; leave it out")
    folder, output = run.writer.folder, run.writer.folder / OUTPUT
    argv = [sys.executable, "-P", "-m", "httpdyno", verb, "--resume", str(folder.resolve()), "--format", format_name]
    with storing(folder):
        printed = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    try:
        process = os.posix_spawn(
            sys.executable,
            argv,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_DUP2, run.writer.lock.descriptor, 0),
                (os.POSIX_SPAWN_DUP2, printed, 1),
                (os.POSIX_SPAWN_DUP2, printed, 2),
            ],
            setsid=True,
        )
    except OSError as error:
        raise StorageFailed(
            f"{sys.executable} cannot be started in the background: {error.strerror}; leave out --detach"
        ) from error
    finally:
        os.close(printed)
    run.hand_over(process)
    _tell_of(process, folder, output)


def _tell_of(process: int, folder: Path, output: Path) -> None:
    # Results go to stdout: the place of these is all that there is of them yet.
    sys.stdout.write(f"{folder}\n")
    sys.stdout.flush()
    tell(f"in the background as process {process}; stop it with: kill {process}")
    listed = (
        "httpdyno runs" if folder.parent == Path("runs") else f"httpdyno runs --out {shlex.quote(str(folder.parent))}"
    )
    tell(f"watch it with: tail -f {shlex.quote(str(output))}, or: {listed}")
