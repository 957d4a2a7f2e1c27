"""How soon a command is at work: from its start to its first request, its subject's first word, its address."""

import re
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import create_server, socket
from typing import Final

from httpdyno.errors import NothingMeasured
from ratios.case import Case, Measured
from ratios.figures import Column, Target
from ratios.interleave import Competitor, interleave
from ratios.place import Place

__all__ = ["CASE"]

_MOST_MS: Final = 100.0
_LOAD: Final = "httpdyno load"
_FETCH: Final = "httpdyno fetch"
_ROOM: Final = "httpdyno room"
_ORIGIN: Final = "httpdyno origin"
_ENGINE: Final = "the engine alone, load"
_PATIENCE_S: Final = 10.0
_LOOK_EVERY_S: Final = 0.1
_ANSWER: Final = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


def _until_asked(
    place: Place, argv: Sequence[str | Path], listener: socket, clock: Callable[[], float] = time.monotonic
) -> Mapping[str, float]:
    """Time a command from its spawn to its first request, which is answered so that it can end."""
    said = place.scratch / "said"
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    with said.open("wb") as errors:
        began = clock()
        process = subprocess.Popen(
            [str(part).replace("{url}", url) for part in argv],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
        )
    try:
        # Who reads URLs reads this one; the others never look.
        assert process.stdin
        process.stdin.write(f"{url}\n".encode())
        process.stdin.close()
        with _accepted(listener, process) as connection:
            connection.settimeout(_PATIENCE_S)
            connection.recv(65536)
            elapsed = clock() - began
            connection.sendall(_ANSWER)
        process.wait(_PATIENCE_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        lines = [line for line in said.read_text(errors="replace").splitlines() if re.search(r"\w", line)]
        raise NothingMeasured(
            f"{' '.join(str(part) for part in argv[:2])}: no request came, it says: {lines[-1] if lines else 'nothing'}"
        ) from error
    finally:
        process.kill()
        process.wait()
    return {"start_ms": elapsed * 1000}


def _until_said(
    place: Place, argv: Sequence[str | Path], clock: Callable[[], float] = time.monotonic
) -> Mapping[str, float]:
    """Time a command from its spawn to the first line that it writes, and end it."""
    began = clock()
    with subprocess.Popen(
        argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=place.scratch
    ) as process:
        assert process.stdout
        line = process.stdout.readline().decode(errors="replace").strip()
        elapsed = clock() - began
        process.terminate()
    if not line or line.startswith("httpdyno"):
        raise NothingMeasured(f"{' '.join(str(part) for part in argv[:2])}: it says: {line or 'nothing'}")
    return {"start_ms": elapsed * 1000}


def _accepted(listener: socket, process: "subprocess.Popen[bytes]") -> socket:
    """Wait for a connection, for as long as the command runs."""
    until = time.monotonic() + _PATIENCE_S
    while time.monotonic() < until and process.poll() is None:
        with suppress(TimeoutError):
            return listener.accept()[0]
    raise TimeoutError


def _measure(place: Place) -> Measured:
    notes: list[str] = []
    command = Path(sys.executable).parent / "httpdyno"
    commands: dict[str, Sequence[str | Path]] = {
        _ENGINE: (place.engine, "load", "{url}", "--requests", "1", "--connections", "1", "--no-store"),
        _LOAD: (command, "load", "{url}", "-n", "1", "-c", "1", "--out", place.scratch / "runs"),
        _FETCH: (command, "fetch"),
    }
    speaking: dict[str, Sequence[str | Path]] = {
        _ROOM: (command, "room", "--web", "top-sites", "--", "echo", "it runs"),
        _ORIGIN: (command, "origin", "--web", "top-sites", "--listen", "127.0.0.1:0"),
    }
    with create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(_LOOK_EVERY_S)
        competitors: dict[str, Competitor] = {
            **{name: partial(_until_asked, place, argv, listener) for name, argv in commands.items()},
            **{name: partial(_until_said, place, argv) for name, argv in speaking.items()},
        }
        rounds = interleave(place, competitors, notes=notes)
    return Measured(rounds, notes=tuple(notes))


CASE: Final = Case(
    name="start-up",
    title="Start",
    setting="From the spawn of a command to the arrival of its first request; of `room` over `top-sites`, to the first "
    "word of what runs in it; of `origin`, to the line that says where it listens.",
    columns=(Column("start_ms", "ms", 1),),
    targets=tuple(Target(name, "start_ms", at_most=_MOST_MS) for name in (_LOAD, _FETCH, _ROOM, _ORIGIN)),
    measure=_measure,
)
