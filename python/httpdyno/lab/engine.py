"""Questions to the engine apart from trials: expectations, URLs, facts of this machine."""

import errno
import hashlib
import json
import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from httpdyno.errors import EngineFailed, InvalidValue
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model import Fact, Fitness, format_exact
from httpdyno.storage import storage_errors
from httpdyno.store import EngineIdentity
from httpdyno.subjects.engine_program import ENGINE_NAME

__all__ = ["Engine", "Reached", "ServedWeb", "engine_refusal"]


def engine_refusal(stderr: str, status: int) -> str:
    """Return the one line in which the engine says why it refuses."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith(f"{ENGINE_NAME}:")]
    # What is killed by a signal cannot say why: what it said before is of something else.
    if own and status >= 0:
        return own[-1].removeprefix(f"{ENGINE_NAME}:").strip()
    last = [line for line in lines if line not in own][-1:] or ["it says nothing"]
    return f"ended with exit status {status}: {last[0]}"


def _seeded(seed: int | None) -> list[str]:
    return [] if seed is None else ["--seed", str(seed)]


@dataclass(frozen=True, slots=True)
class ServedWeb:
    """A web as the engine names it: equal digests answer alike."""

    name: str
    seed: int
    digest: str | None
    """None: the real internet, which is no web of the engine's."""


@dataclass(frozen=True, slots=True)
class Reached:
    """An origin on another machine that has identified itself."""

    url: str
    web: str
    seed: int
    digest: str
    rtt_min_ns: int
    """The quickest of several exchanges."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine as a tool that answers questions.

    What it refuses is an ``InvalidValue``; when it cannot be started, or its answer not be read, that is
    ``EngineFailed``.
    """

    path: Path

    def expect(
        self,
        *,
        web: str,
        seed: int,
        timeout_s: float,
        urls: Path,
        into: IO[bytes],
        check: str = "",
        http_version: str = "",
        against: str | None = None,
    ) -> None:
        """Write the expected answer of each URL as CSV: one row for each line that is not empty.

        ``check`` (``json``) and ``http_version`` are settings of clients; empty: none. What fails the check is an
        error, and so is a host without version ``2`` where that is set, and what leads away from ``against``, the one
        origin that plays the web on another machine.
        """
        with urls.open("rb") as lines:
            asked = ["expect", "--web", web, "--seed", str(seed), "--timeout", format_exact(timeout_s)]
            asked += ["--check", check] if check else []
            asked += ["--http-version", http_version] if http_version else []
            asked += [] if against is None else ["--against", against]
            self._copy(asked, into, lines)

    def write_lines(self, printed: Path, into: IO[bytes], *, killed: bool) -> None:
        """Write the rows that a client printed as CSV, for ``read_lines``.

        When it was ``killed``, a last line without its line feed may have lost digits: it is then left out.
        """
        asked = ["lines", *(["--cut-short"] if killed else [])]
        with printed.open("rb") as output:
            # Written by the engine itself: to copy a million rows would cost 5 % of all that judging them does.
            with self._started(asked, output, into, process_group=0) as process:
                said = process.communicate()[1]
            with storage_errors("temporary files: cannot write"):
                if b"(os error 28)" in said:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._check(process.returncode, said)

    def web(self, web: str, *, seed: int | None) -> ServedWeb:
        """Ask which web that is; with no ``seed``, the web's own."""
        answer = self._ask(["web", "--web", web, *_seeded(seed)])
        try:
            identity = json.loads(answer)
            return ServedWeb(identity["name"], int(identity["seed"]), identity["digest"])
        except (ValueError, KeyError, TypeError) as error:
            raise EngineFailed(f"{self.path} web: the answer is no web's identity; {RENEW_ENGINE}") from error

    def reach(self, against: str) -> Reached:
        """Identify the origin on another machine."""
        answer = self._ask(["reach", "--", against])
        try:
            there = json.loads(answer)
            web = there["web"]
            return Reached(there["url"], web["name"], int(web["seed"]), web["digest"], int(there["rtt"]["min_ns"]))
        except (ValueError, KeyError, TypeError) as error:
            raise EngineFailed(f"{self.path} reach: the answer cannot be read; {RENEW_ENGINE}") from error

    def urls(self, *, web: str, seed: int | None, limit: int | None, into: IO[bytes]) -> None:
        """Write the URLs of a web, one a line, the first ``limit`` of them."""
        limited = [] if limit is None else ["--limit", str(limit)]
        self._copy(["urls", "--web", web, *_seeded(seed), *limited], into)

    def doctor(self) -> list[Fact]:
        """Query the capabilities of this machine's kernel."""
        answer = self._ask(["doctor"])
        try:
            facts = json.loads(answer)
        except ValueError as error:
            raise EngineFailed(f"{self.path} doctor: the answer is no JSON: {error}; {RENEW_ENGINE}") from error
        if not isinstance(facts, list):
            raise EngineFailed(f"{self.path} doctor: the answer is no list of facts; {RENEW_ENGINE}")
        return [self._fact(values) for values in facts]

    def version(self) -> str:
        """Ask for the version."""
        return self._ask(["--version"]).decode(errors="replace").strip().rpartition(" ")[2]

    def identity(self) -> EngineIdentity:
        """Return which program it is."""
        try:
            with self.path.open("rb") as program:
                digest = hashlib.file_digest(program, "sha256").hexdigest()
        except OSError as error:
            raise EngineFailed(f"the engine {self.path} cannot be read: {error.strerror}; {RENEW_ENGINE}") from error
        return EngineIdentity(self.version(), digest)

    def _fact(self, values: Any) -> Fact:  # noqa: ANN401  # whatever the engine has printed
        try:
            return Fact(**(values | {"ok": Fitness(values["ok"])}))
        except (TypeError, KeyError, ValueError, InvalidValue) as error:
            raise EngineFailed(f"{self.path} doctor: {error} in a fact; {RENEW_ENGINE}") from error

    def _copy(self, arguments: Sequence[str], into: IO[bytes], stdin: IO[bytes] | int = subprocess.DEVNULL) -> None:
        """Run a verb and write its output: here and not by the engine, so that a full disk is detected."""
        with self._started(arguments, stdin) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            with storage_errors("temporary files: cannot write"):
                shutil.copyfileobj(process.stdout, into)
                into.flush()
            # Read after the output: it is one line, which no pipe is too small for.
            said = process.stderr.read()
        self._check(process.returncode, said)

    def _ask(self, arguments: Sequence[str]) -> bytes:
        with self._started(arguments, subprocess.DEVNULL) as process:
            answer, said = process.communicate()
        self._check(process.returncode, said)
        return answer

    def _started(
        self,
        arguments: Sequence[str],
        stdin: IO[bytes] | int,
        stdout: IO[bytes] | int = subprocess.PIPE,
        *,
        process_group: int | None = None,
    ) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(
                # Without a buffer of Python's, which would go on filling itself after a signal.
                [self.path, *arguments],
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.PIPE,
                bufsize=0,
                # In a group of its own, Ctrl-C in a terminal does not reach it.
                process_group=process_group,
            )
        except OSError as error:
            raise EngineFailed(f"the engine {self.path} cannot be started: {error.strerror}; {RENEW_ENGINE}") from error

    def _check(self, status: int, said: bytes) -> None:
        if status != 0:
            raise InvalidValue(engine_refusal(said.decode(errors="replace"), status))
