"""No request is sent to the real internet without consent."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.loopback_site import Site
from doubles.traces import processes_of

from ..conftest import PATIENCE_S, wait_until

NothingLeft = Callable[..., None]


class Terminal:
    """A command at a terminal of its own."""

    def __init__(self, arguments: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._own, other = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", "import sys; from httpdyno.cli import main; sys.exit(main())", *arguments],
            cwd=folder,
            env={**environment, "TERM": "dumb"},
            stdin=other,
            stdout=subprocess.PIPE,
            stderr=other,
            start_new_session=True,
        )
        os.close(other)
        self.seen = ""

    def until(self, text: str) -> None:
        """Read the output until a text appears."""
        deadline = time.monotonic() + PATIENCE_S
        while text not in self.seen:
            assert time.monotonic() < deadline, self.seen
            assert self.process.poll() is None, self.seen
            self._read()

    def type(self, text: bytes) -> None:
        os.write(self._own, text)

    def end(self) -> int:
        """Wait for the command, reading the rest of its output."""
        deadline = time.monotonic() + PATIENCE_S
        while self.process.poll() is None:
            assert time.monotonic() < deadline, self.seen
            self._read()
        while self._read():
            pass
        return self.process.returncode

    def close(self) -> None:
        self.process.kill()
        self.process.communicate()
        os.close(self._own)

    def _read(self) -> bool:
        if not select.select([self._own], [], [], 0.05)[0]:
            return False
        try:
            self.seen += os.read(self._own, 4096).decode()
        except OSError:  # its other end is closed
            return False
        return True


@pytest.fixture
def at_terminal(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    opened: list[Terminal] = []

    def begin(*arguments: str) -> Terminal:
        opened.append(Terminal(list(arguments), tmp_path, environment))
        return opened[-1]

    yield begin
    for terminal in opened:
        terminal.close()


def test_without_a_terminal_or_agreement_nothing_is_sent(
    httpdyno: Command, clients: tuple[str, ...], listed: str, site: Site, tmp_path: Path
) -> None:
    ended = httpdyno("bench", *clients, "--urls", listed)
    assert ended.code == 2
    assert ended.err.count("\n") == 1
    assert "there is no terminal to ask at; give --yes to agree" in ended.err
    assert not site.paths
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("answer", [b"n\n", b"\n", b"\x04"])
def test_who_does_not_agree_sends_nothing(
    at_terminal: Callable[..., Terminal],
    clients: tuple[str, ...],
    listed: str,
    site: Site,
    tmp_path: Path,
    answer: bytes,
) -> None:
    terminal = at_terminal("bench", *clients, "--urls", listed, "--repeat", "1")
    terminal.until("Continue? [y/N] ")
    assert "this will send 60 requests to 3 hosts of the real internet" in terminal.seen
    assert "1 at a time to a host; add your contact with --contact" in terminal.seen
    terminal.type(answer)
    assert terminal.end() == 130
    assert "not started: nothing was sent" in terminal.seen
    assert not site.paths
    assert not (tmp_path / "runs").exists()


def test_ctrl_c_at_the_question(at_terminal: Callable[..., Terminal], clients: tuple[str, ...], listed: str) -> None:
    terminal = at_terminal("bench", *clients, "--urls", listed)
    terminal.until("Continue? [y/N] ")
    terminal.process.send_signal(signal.SIGINT)
    assert terminal.end() == 130
    assert "interrupted while the question was open" in terminal.seen


def test_who_agrees_is_measured(
    at_terminal: Callable[..., Terminal], clients: tuple[str, ...], listed: str, site: Site
) -> None:
    terminal = at_terminal("try", "one", *clients[2:], "--urls", listed, "--limit", "6", "--timeout", "60")
    terminal.until("Continue? [y/N] ")
    terminal.type(b"y\n")
    assert terminal.end() == 0
    assert sum(site.paths.values()) == 6


def state_of(run: Path) -> object:
    return json.loads((run / "manifest.json").read_text(encoding="utf-8"))["state"]


def test_a_run_in_the_background_was_agreed_to(
    httpdyno: Command, clients: tuple[str, ...], listed: str, site: Site, tmp_path: Path, nothing_left: NothingLeft
) -> None:
    ended = httpdyno(
        "bench", "one", *clients[2:], "--urls", listed, "--repeat", "1", "--timeout", "60", "--yes", "--detach"
    )
    assert ended.code == 0, ended.err
    run = tmp_path / ended.out.strip()
    output = run / "output.txt"
    wait_until(lambda: state_of(run) == "complete", output.read_text)
    wait_until(lambda: not processes_of(tmp_path), lambda: processes_of(tmp_path))
    assert sum(site.paths.values()) == 30
    nothing_left()
