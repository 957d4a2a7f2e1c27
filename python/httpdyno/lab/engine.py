"""Queries to the engine outside of trials: expectations, URLs, facts of this machine."""

import errno
import hashlib
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final, TypeVar

from httpdyno.errors import EngineFailed, InvalidValue
from httpdyno.installation import RENEW_ENGINE
from httpdyno.model import Condition, Fact, Fitness, format_exact
from httpdyno.storage import storage_errors
from httpdyno.store import EngineIdentity, WebIdentity
from httpdyno.subjects.engine_program import ENGINE_NAME

_Answer = TypeVar("_Answer")
_ARGUMENT: Final = re.compile(r"(URL|--[a-z-]+(?: [^:]+)?): ")
"""The argument that the engine refuses, at the beginning of its line."""


def engine_refusal(stderr: str, status: int) -> str:
    """Return the line in which the engine states why it refuses."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    own = [line for line in lines if line.startswith(f"{ENGINE_NAME}:")]
    # A killed engine cannot give a reason: its earlier lines are about other matters.
    if own and status >= 0:
        return own[-1].removeprefix(f"{ENGINE_NAME}:").strip()
    last = [line for line in lines if line not in own][-1:] or ["it printed nothing"]
    return f"ended with exit status {status}: {last[0]}"


def _named(web: str, seed: int | None) -> list[str]:
    return ["--web", web, *([] if seed is None else ["--seed", str(seed)])]


def start_engine(argv: Sequence[str | Path], **options: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401  # of Popen
    """Start the engine with the options of ``Popen``; raise ``EngineFailed`` if it cannot be started."""
    try:
        return subprocess.Popen(argv, **options)
    except OSError as error:
        raise EngineFailed(f"the engine {argv[0]} cannot be started: {error.strerror}; {RENEW_ENGINE}") from error


@dataclass(frozen=True, slots=True)
class Reached:
    """An origin on another machine that has identified itself."""

    url: str
    web: str
    seed: int
    digest: str
    rtt_min_ns: int
    """The shortest of several round trips."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine as a tool that answers queries.

    Each query raises ``InvalidValue`` if the engine refuses it, and ``EngineFailed`` if the engine cannot be started or
    its answer cannot be read.
    """

    path: Path

    def expect(self, condition: Condition, urls: Path, into: IO[bytes]) -> None:
        """Write the expected answer of each URL as CSV: one row for each line that is not empty.

        An error is expected for content that fails the check of the condition's workload, for a host without the only
        version of HTTP that the workload allows, and for a URL that leads away from another machine's origin.
        """
        workload = condition.workload
        asked = ["expect", *_named(condition.web, condition.seed), "--timeout", format_exact(workload.timeout_s)]
        asked += ["--check", workload.check] if workload.check else []
        asked += ["--http-version", workload.http_version] if workload.http_version else []
        asked += [] if condition.against is None else ["--against", condition.against]
        with urls.open("rb") as lines:
            self._copy(asked, into, lines)

    def write_lines(self, printed: Path, into: IO[bytes], *, killed: bool) -> None:
        """Write the rows that a client printed as CSV, for ``read_lines``.

        If the client was ``killed``, a last line without its line feed is left out: it may have lost digits.
        """
        asked = ["lines", *(["--cut-short"] if killed else [])]
        with printed.open("rb") as output:
            # Written by the engine itself: copying a million rows would add 5 % to the cost of judging them. In a
            # group of its own, Ctrl-C in a terminal does not reach it.
            with self._started(asked, stdin=output, stdout=into, process_group=0) as process:
                said = process.communicate()[1]
            with storage_errors("temporary files: cannot write"):
                if b"(os error 28)" in said:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._check(process.returncode, said)

    def web(self, web: str, *, seed: int | None) -> WebIdentity:
        """Identify a web; without a ``seed``, with the web's default."""
        asked = ["web", *_named(web, seed)]
        return self._parse(asked, lambda there: WebIdentity(there["name"], int(there["seed"]), there["digest"]))

    def reach(self, against: str) -> Reached:
        """Identify the origin on another machine."""

        def read(there: Any) -> Reached:  # noqa: ANN401
            web = there["web"]
            return Reached(there["url"], web["name"], int(web["seed"]), web["digest"], int(there["rtt"]["min_ns"]))

        return self._parse(["reach", "--", against], read)

    def urls(self, *, web: str, seed: int | None, limit: int | None, into: IO[bytes]) -> None:
        """Write the first ``limit`` URLs of a web, one per line."""
        limited = [] if limit is None else ["--limit", str(limit)]
        self._copy(["urls", *_named(web, seed), *limited], into)

    def doctor(self) -> list[Fact]:
        """Return the capabilities of this machine's kernel."""

        def read(facts: Any) -> list[Fact]:  # noqa: ANN401
            if not isinstance(facts, list):
                raise TypeError("no list of facts")
            return [Fact(**(values | {"ok": Fitness(values["ok"])})) for values in facts]

        return self._parse(["doctor"], read)

    def version(self) -> str:
        """Return the version."""
        return self._ask(["--version"]).decode(errors="replace").strip().rpartition(" ")[2]

    def identity(self) -> EngineIdentity:
        """Return the version and the digest of the program."""
        try:
            with self.path.open("rb") as program:
                digest = hashlib.file_digest(program, "sha256").hexdigest()
        except OSError as error:
            raise EngineFailed(f"the engine {self.path} cannot be read: {error.strerror}; {RENEW_ENGINE}") from error
        return EngineIdentity(self.version(), digest)

    def _parse(self, arguments: Sequence[str], read: Callable[[Any], _Answer]) -> _Answer:
        answer = self._ask(arguments)
        try:
            return read(json.loads(answer))
        except (ValueError, KeyError, TypeError, InvalidValue) as error:
            raise EngineFailed(
                f"{self.path} {arguments[0]}: the answer cannot be read: {error}; {RENEW_ENGINE}"
            ) from error

    def _copy(self, arguments: Sequence[str], into: IO[bytes], stdin: IO[bytes] | int = subprocess.DEVNULL) -> None:
        """Run a verb and write its output: here and not by the engine, so that a full disk is detected."""
        with self._started(arguments, stdin=stdin) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            with storage_errors("temporary files: cannot write"):
                shutil.copyfileobj(process.stdout, into)
                into.flush()
            # Read after the output: it is one line, which fits into any pipe.
            said = process.stderr.read()
        self._check(process.returncode, said)

    def _ask(self, arguments: Sequence[str]) -> bytes:
        with self._started(arguments) as process:
            answer, said = process.communicate()
        self._check(process.returncode, said)
        return answer

    def _started(self, arguments: Sequence[str], **streams: Any) -> "subprocess.Popen[bytes]":  # noqa: ANN401
        # Without a buffer: Python would continue to fill it after a signal.
        usual: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return start_engine([self.path, *arguments], bufsize=0, **(usual | streams))

    def _check(self, status: int, said: bytes) -> None:
        if status != 0:
            line = engine_refusal(said.decode(errors="replace"), status)
            named = _ARGUMENT.match(line)
            raise InvalidValue(line[named.end() :], option=named[1]) if named else InvalidValue(line)
