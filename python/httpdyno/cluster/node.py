"""The functions that run on the nodes. They are sent as code and import only the standard library at first.

So a node without httpdyno, or with another version, can still describe itself.
"""

import ctypes
import fcntl
import hashlib
import json
import os
import platform
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

REPORT_S: Final = 1.0
"""Interval of the figures that a task reports."""
_LOCK_PATIENCE_S: Final = 120.0
"""Longest wait for the lock of a shard, which an attempt on a lost node may still hold."""
_LAST_BYTES: Final = 4096
_PR_SET_PDEATHSIG: Final = 1


def describe_node(folder: str, manifest: str | None) -> dict[str, Any]:
    """Return what a cluster's command must know about this node.

    Parameters
    ----------
    folder : str
        Working folder of the command.
    manifest : str or None
        Path of the list's manifest, whose SHA-256 is returned.
    """
    import ray
    from ray._raylet import AuthenticationMode, get_authentication_mode

    facts: dict[str, Any] = {
        "host": socket.gethostname(),
        "python": platform.python_version(),
        "program": sys.executable,
        "ray": ray.__version__,
        "httpdyno": None,
        "engine": None,
        "needs_token": get_authentication_mode() == AuthenticationMode.TOKEN,
        "has_folder": Path(folder).is_dir(),
        "list_sha256": None,
    }
    try:
        import httpdyno
        from httpdyno.subjects.engine_program import usable_engine

        facts["httpdyno"] = httpdyno.__version__
        if engine := usable_engine():
            asked = subprocess.run([engine, "--version"], capture_output=True, text=True, timeout=60, check=False)
            facts["engine"] = asked.stdout.strip().rpartition(" ")[2] or None
    except (ImportError, OSError, subprocess.SubprocessError):
        pass
    if manifest is not None and Path(manifest).is_file():
        facts["list_sha256"] = hashlib.sha256(Path(manifest).read_bytes()).hexdigest()
    return facts


def run_shard(words: Sequence[str], folder: str, part: str) -> Iterator[dict[str, Any]]:
    """Run ``httpdyno fetch`` for a shard.

    Parameters
    ----------
    words : sequence of str
        Words after ``httpdyno``.
    folder : str
        Working folder.
    part : str
        Folder of the unfinished shard, whose lock is waited for.

    Yields
    ------
    dict
        ``pid`` of the engine, ``done`` and ``errors``, URLs since the start, about once a second; at the end
        ``exit_code``, ``line``, the last message, and ``done``; None: it had nothing to fetch.
    """
    _wait_for_lock(Path(part))
    read, write = os.pipe()
    with tempfile.TemporaryFile() as messages, os.fdopen(read, "rb") as figures:
        try:
            process = _start([*words, "--quiet", "--progress", str(write)], folder, messages, pass_fds=(write,))
        finally:
            os.close(write)
        try:
            reported, now = 0.0, None
            for line in figures:
                now = json.loads(line)
                if time.monotonic() - reported >= REPORT_S:
                    reported = time.monotonic()
                    yield {"pid": process.pid, "done": now["done"], "errors": now["errors"]}
            process.wait()
        finally:
            process.kill()
            process.wait()
        done = None if now is None else now["done"]
        yield {"exit_code": process.returncode, "line": _last_line(messages), "done": done}


def stop(pid: int, word: str) -> None:
    """Ask an engine with this word in its command to end; it keeps what is finished. It may have ended already."""
    try:
        if word.encode() in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
            os.kill(pid, signal.SIGTERM)
    except OSError:
        pass


def has_folder(folder: str) -> bool:
    """Return whether this node has a folder."""
    return Path(folder).is_dir()


def _start(words: Sequence[str], folder: str, messages: Any, **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401
    """Start httpdyno; the kernel kills it when this worker ends in any way."""
    own = os.getpid()
    libc = ctypes.CDLL(None)

    def end_with_worker() -> None:
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != own:
            os.kill(os.getpid(), signal.SIGKILL)

    return subprocess.Popen(
        [sys.executable, "-m", "httpdyno", *words],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=options.pop("stdout", subprocess.DEVNULL),
        stderr=messages,
        preexec_fn=end_with_worker,
        **options,
    )


def _wait_for_lock(part: Path) -> None:
    """Wait until no process has the lock of the shard's folder; not longer than ``_LOCK_PATIENCE_S``."""
    deadline = time.monotonic() + _LOCK_PATIENCE_S
    while part.is_dir() and time.monotonic() < deadline:
        descriptor = os.open(part, os.O_RDONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.05)
        except OSError:
            return  # a file system without locks
        else:
            return
        finally:
            os.close(descriptor)


def _last_line(messages: Any) -> str:  # noqa: ANN401
    """Return the last message without the name of the program."""
    end = messages.seek(0, os.SEEK_END)
    messages.seek(max(0, end - _LAST_BYTES))
    lines = messages.read().decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("httpdyno: ") if lines else ""


def run_segment(words: Sequence[str], folder: str) -> Iterator[dict[str, Any]]:
    """Run ``httpdyno load`` for a segment, and return its report.

    Parameters
    ----------
    words : sequence of str
        Words after ``httpdyno``, without those of the output.
    folder : str
        Working folder.

    Yields
    ------
    dict
        ``pid`` of the engine; ``second``, the text of each second; at the end ``exit_code``, ``line`` (the last
        message) and ``report`` (the content of its file; None: there is none).
    """
    with tempfile.TemporaryFile() as messages, tempfile.TemporaryDirectory(prefix="httpdyno-") as runs:
        output = ["--format", "ndjson", "--quiet", "--out", runs]
        process = _start([*words, *output], folder, messages, stdout=subprocess.PIPE)
        try:
            yield {"pid": process.pid}
            assert process.stdout is not None
            for line in process.stdout:
                if json.loads(line)["type"] == "interval":
                    yield {"second": line.decode()}
            process.wait()
        finally:
            process.kill()
            process.wait()
        report = next(Path(runs).glob("*/load-000000.json"), None)
        yield {
            "exit_code": process.returncode,
            "line": _last_line(messages),
            "report": None if report is None else report.read_bytes(),
        }
