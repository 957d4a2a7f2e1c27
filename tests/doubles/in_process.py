"""The command in this process, with the real engine: for tests of its behaviour, not of its start and end.

A separate process takes most of a second to import its modules, waits between trials until the machine is quiet, and
draws charts: those tests check none of that.
"""

import io
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from doubles.command_line import START, Command, Ended
from httpdyno.cli import main
from pages.command_line import ENGINE_VERBS

__all__ = ["in_process"]

_PATIENCE_S = 300
_DECIDING = (
    *("CHECK", "CONCURRENCY", "DURATION", "FORMAT", "HTTP_VERSION", "KEEPALIVE", "LIMIT", "REQUEST_TIMEOUT"),
    *("USER_AGENT",),
)
"""Environment variables for options, set by the user of the tests."""


def in_process(
    environment: Mapping[str, str],
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Command:
    """Return a function that runs `httpdyno` in a folder, until the end of the test that owns the patches.

    `stdin=` is text to read; other keywords are environment variables for that command.
    """
    for name in _DECIDING:
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    # Python caches the folder of temporary files at its first use.
    monkeypatch.setattr(tempfile, "tempdir", None)
    for name in ("WINDOW_S", "LONGEST_S", "SHORTEST_WINDOW_S"):
        monkeypatch.setattr(f"httpdyno.lab.cool_down.{name}", 0.0)
    monkeypatch.setattr("httpdyno.report.html.page", lambda report: f"<!doctype html>{report.headline}")
    monkeypatch.chdir(folder)

    def run(*arguments: str, stdin: str = "", **more: str) -> Ended:
        if arguments[0] in ENGINE_VERBS:
            # The engine replaces the process.
            ran = subprocess.run(
                [*START, *arguments],
                input=stdin,
                env={**environment, **more},
                cwd=folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=_PATIENCE_S,
            )
            return Ended(ran.returncode, ran.stdout, ran.stderr)
        capfd.readouterr()
        with monkeypatch.context() as patched:
            for name, value in more.items():
                patched.setenv(name, value)
            patched.setattr(sys, "argv", ["httpdyno", *arguments])
            patched.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
            try:
                code = main()
            except SystemExit as error:
                code = error.code if isinstance(error.code, int) else int(bool(error.code))
        out, err = capfd.readouterr()
        return Ended(code, out, err)

    return run
