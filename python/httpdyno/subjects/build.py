"""Builds of subjects: their sources, their place in the cache, and the builder, which runs several at a time."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from httpdyno.errors import BuildFailed, Interrupted, SubjectUnavailable
from httpdyno.model import Subject
from httpdyno.storage import storage_errors
from httpdyno.subjects import supervisor
from httpdyno.subjects.cache import BuildPlace, BuildRecord, cargo_target, tool_environment
from httpdyno.subjects.engine_program import ENGINE_NAME, usable_engine
from httpdyno.subjects.needs import VERSION, find_program, toolchain, why_unavailable

_PRODUCTS: Final = frozenset({".git", ".venv", "__pycache__", "node_modules", "target"})
"""Folders that builds leave behind: a build in the subject's own folder must not change what it hashes to."""

_FORM: Final = "1"
"""Changes when builds are laid out in another way, so that older ones are not taken for current."""


def source_files(folder: Path) -> Iterator[Path]:
    """List the files of a subject, in a fixed order, without what a build leaves in its folder."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if path.name not in _PRODUCTS:
                yield from source_files(path)
        else:
            yield path


def fingerprint(subject: Subject, toolchain: Mapping[str, str]) -> str:
    """Hash what a build depends on: the subject's files, the versions of its programs, and the kind of machine.

    The versions are by the name of the program; the hash has 16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    machine = [_FORM, platform.system(), platform.machine(), sorted(toolchain.items())]
    digest.update(json.dumps(machine).encode())
    for path in source_files(subject.folder):
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        executable = not path.is_symlink() and bool(path.stat().st_mode & 0o111)
        head = [str(path.relative_to(subject.folder)), path.is_symlink(), executable, len(content)]
        digest.update(json.dumps(head).encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def copy_sources(subject: Subject, destination: Path) -> None:
    """Copy a subject's files into a folder that does not exist yet."""
    destination.mkdir(parents=True)
    for path in source_files(subject.folder):
        copy = destination / path.relative_to(subject.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)


def bundles_within(folder: Path) -> list[Path]:
    """List the bundles of Python's ``certifi`` below a folder, in any package."""
    return sorted(path for path in folder.rglob("cacert.pem") if path.parent.name == "certifi")


def java_trust_stores() -> tuple[Path, ...]:
    """List the trust store of this machine's Java, unless it is in ``/etc/ssl``, which every room replaces."""
    home = os.environ.get("JAVA_HOME")
    java = find_program("java")
    if home is None and java is None:
        return ()
    # /usr/bin/java leads through links to <home>/bin/java.
    top = Path(home) if home else java.path.resolve().parent.parent if java and java.path else Path("/")
    store = (top / "lib" / "security" / "cacerts").resolve()
    return (store,) if store.is_file() and not store.is_relative_to("/etc/ssl") else ()


@dataclass(frozen=True, slots=True)
class Build:
    """A complete build of a subject."""

    subject: Subject
    place: BuildPlace
    record: BuildRecord

    @property
    def folder(self) -> Path:
        """The folder it runs in."""
        return self.place.folder

    @property
    def version(self) -> str | None:
        """The version that the library or program states; only the number of a sentence."""
        said = self.record.version
        if not said or said[0].isdigit():
            return said
        number = VERSION.search(said)
        return number[1] if number else said

    @property
    def argv(self) -> tuple[str, ...]:
        """The command to run, with its placeholders filled in."""
        return tuple(filled(part, folder=self.folder, target=self.place.target) for part in self.subject.run_argv)

    @property
    def environment(self) -> dict[str, str]:
        """The subject's own environment variables, in addition to those of the contract."""
        return {
            name: filled(value, folder=self.folder, target=self.place.target)
            for name, value in self.subject.environment.items()
        }

    @property
    def trust_files(self) -> tuple[Path, ...]:
        """Certificate stores that the room replaces: those of the build and of its runtime."""
        java = any(need.program in {"java", "javac", "mvn"} for need in self.subject.needs)
        return (*(self.folder / name for name in self.record.trust_files), *(java_trust_stores() if java else ()))


def filled(text: str, *, folder: Path, target: Path) -> str:
    """Fill in ``{folder}``, ``{target}`` and ``{engine}``; keep any other brace."""
    text = text.replace("{folder}", str(folder)).replace("{target}", str(target))
    return text.replace("{engine}", usable_engine(os.environ) or ENGINE_NAME) if "{engine}" in text else text


def build_place(subject: Subject, cache: Path) -> BuildPlace:
    """Return the place of a subject's build with its present files and toolchain."""
    return BuildPlace(cache / "builds", subject.id, fingerprint(subject, toolchain(subject.needs)))


def find_build(subject: Subject, cache: Path) -> Build | None:
    """Return the current build of a subject; None when it must be built first."""
    place = build_place(subject, cache)
    record = place.record()
    return None if record is None else Build(subject, place, record)


_LONGEST_BUILD_S: Final = 3600.0
_LONGEST_VERSION_S: Final = 60.0
_PAUSE_S: Final = 0.05


class BuildState(StrEnum):
    """Progress of one subject's build."""

    READY = "ready"
    WAITING = "waiting"
    BUILDING = "building"
    BUILT = "built"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class BuildEvent:
    """Progress of one build."""

    subject: Subject
    state: BuildState


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """Outcome for one subject: a build, or the reason why there is none."""

    subject: Subject
    build: Build | None = None
    error: SubjectUnavailable | None = None
    log: Path | None = None
    """What the build printed; None when none was started."""


def build_subjects(
    subjects: Iterable[Subject],
    cache: Path,
    *,
    tell: Callable[[BuildEvent], None] | None = None,
    stop: Callable[[], bool] = lambda: False,
    parallel: int | None = None,
) -> dict[str, BuildOutcome]:
    """Build what is not built yet; return the outcome of each by id, in the order of the subjects.

    One that cannot be built does not stop the others. ``stop`` is asked about twenty times a second: once it is true,
    running builds are ended, and Interrupted is raised.
    """
    jobs = [_Job(subject, cache, tell or (lambda _: None)) for subject in subjects]
    pending, running = list(jobs), list[_Job]()
    at_once = parallel or os.cpu_count() or 1
    try:
        while pending or running:
            if stop():
                raise Interrupted("interrupted while subjects were being built")
            with storage_errors("building subjects: cannot write"):
                for job in list(pending):
                    if len(running) < at_once and job.started():
                        pending.remove(job)
                        running.append(job)
                running = [job for job in running if not job.finished()]
            if pending or running:
                time.sleep(_PAUSE_S)
    finally:
        for job in running:
            job.end()
    return {job.subject.id: job.outcome for job in jobs}


def log_tail(log: Path, lines: int = 10) -> list[str]:
    """Return the last lines of a build's log; empty when it cannot be read."""
    try:
        return log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    except OSError:
        return []


class _Job:
    """The build of one subject, moved on by ``started`` and ``finished``, neither of which waits."""

    def __init__(self, subject: Subject, cache: Path, tell: Callable[[BuildEvent], None]) -> None:
        self.subject = subject
        self.outcome = BuildOutcome(subject)
        self._cache = cache
        self._cargo_target = cargo_target(cache)
        self._tell = tell
        self._place: BuildPlace | None = None
        self._lock: int | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._began_s = 0.0
        self._waits = False

    def started(self) -> bool:
        """Start the build, unless another run is building the same subject; return whether it started or is done."""
        if reason := why_unavailable(self.subject):
            self._close(BuildState.UNAVAILABLE, error=SubjectUnavailable(reason))
            return True
        place = self._place = build_place(self.subject, self._cache)
        if self._use_existing(place):
            return True
        self._lock = place.lock()
        if self._lock is None:
            if not self._waits:
                self._waits = True
                self._tell(BuildEvent(self.subject, BuildState.WAITING))
            return False
        # The previous holder of the lock may have built the same.
        if self._use_existing(place):
            return True
        self._tell(BuildEvent(self.subject, BuildState.BUILDING))
        place.clear()
        copy_sources(self.subject, place.folder)
        self._began_s = time.monotonic()
        if self.subject.build_argv:
            self._spawn(place)
        return True

    def finished(self) -> bool:
        """Return whether the build has ended; if so, set its outcome."""
        if self.outcome.build is not None or self.outcome.error is not None:
            return True
        assert self._place is not None
        status = 0 if self._process is None else self._process.poll()
        if status is None:
            if time.monotonic() - self._began_s < _LONGEST_BUILD_S:
                return False
            self._stop_process()
            status = 124
        self._conclude(self._place, status)
        return True

    def end(self) -> None:
        """End the build with everything it started; the incomplete build is repeated next time."""
        self._stop_process()
        self._release()

    def _use_existing(self, place: BuildPlace) -> bool:
        record = place.record()
        if record is None:
            return False
        self._close(BuildState.READY, build=Build(self.subject, place, record))
        return True

    def _spawn(self, place: BuildPlace) -> None:
        argv = [filled(part, folder=place.folder, target=self._cargo_target) for part in self.subject.build_argv]
        with place.log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, *argv],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=place.folder,
                env={
                    **tool_environment(os.environ),
                    "CARGO_TARGET_DIR": str(self._cargo_target),
                    "TMPDIR": str(place.temporary),
                },
                process_group=0,
            )

    def _conclude(self, place: BuildPlace, status: int) -> None:
        try:
            if status != 0:
                ending = "took longer than an hour" if status == 124 else f"failed with exit status {status}"
                last = "".join(f": {line.strip()}" for line in log_tail(place.log, 1))
                raise BuildFailed(f"{self.subject.id}: the build {ending}{last} (all of it: {place.log})")
            self._adopt_programs(place)
            record = BuildRecord(
                version=self._ask_version(place),
                toolchain=toolchain(self.subject.needs),
                trust_files=[str(path.relative_to(place.folder)) for path in bundles_within(place.folder)],
            )
        except BuildFailed as error:
            self._close(BuildState.FAILED, error=error, log=place.log)
            return
        place.complete(record)
        self._close(BuildState.BUILT, build=Build(self.subject, place, record), log=place.log)

    def _adopt_programs(self, place: BuildPlace) -> None:
        """Copy programs from Cargo's target folder, where the subject's next build would replace them during a run."""
        for part in dict.fromkeys([*self.subject.run_argv, *self.subject.version_argv]):
            if not part.startswith("{target}/"):
                continue
            relative = part.removeprefix("{target}/")
            built = self._cargo_target / relative
            if not built.is_file():
                raise BuildFailed(
                    f"{self.subject.id}: the build left no {built}, which subject.toml wants to run;"
                    " correct its [build] or [run]"
                )
            copy = place.target / relative
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(built, copy)

    def _ask_version(self, place: BuildPlace) -> str | None:
        if not self.subject.version_argv:
            return None
        argv = [filled(part, folder=place.folder, target=place.target) for part in self.subject.version_argv]
        try:
            asked = subprocess.run(
                argv,
                cwd=place.folder,
                env=tool_environment(os.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_LONGEST_VERSION_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BuildFailed(
                f"{self.subject.id}: the command of [version] does not run: {error}; correct it in its subject.toml"
            ) from error
        line = asked.stdout.partition("\n")[0].strip()
        # Some programs print it and end as if they had been asked something wrong: wrk.
        if not (line if asked.returncode == 0 else VERSION.search(line)):
            said = " ".join((asked.stderr or asked.stdout).split())[:200] or "nothing"
            raise BuildFailed(
                f"{self.subject.id}: the command of [version] failed with exit status {asked.returncode},"
                f" saying {said}; correct it in its subject.toml"
            )
        return line

    def _close(
        self,
        state: BuildState,
        *,
        build: Build | None = None,
        error: SubjectUnavailable | None = None,
        log: Path | None = None,
    ) -> None:
        self.outcome = BuildOutcome(self.subject, build, error, log)
        self._release()
        self._tell(BuildEvent(self.subject, state))

    def _stop_process(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            # The supervisor ends the whole process group when this pipe closes.
            self._process.stdin.close()
            self._process.wait()

    def _release(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None
