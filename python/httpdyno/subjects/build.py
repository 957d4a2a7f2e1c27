"""Builds of subjects: their sources, their place in the cache, and the builder, which runs several at a time."""

import hashlib
import json
import os
import platform
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from httpdyno.errors import BuildFailed, SubjectUnavailable
from httpdyno.model import Subject
from httpdyno.subjects.cache import BuildPlace, BuildRecord, cargo_target, tool_environment
from httpdyno.subjects.jobs import OVERDUE, Job, run_command, run_jobs
from httpdyno.subjects.needs import VERSION, find_program, toolchain, why_unavailable

_PRODUCTS: Final = frozenset({".git", ".venv", "__pycache__", "node_modules", "target"})
"""Folders that builds leave in a subject's own folder; they do not change its fingerprint."""

_FORM: Final = "1"
"""Version of the layout of builds: a new value makes older builds obsolete."""


def _source_files(folder: Path) -> Iterator[Path]:
    """List the files of a subject, in a fixed order, without the products of builds."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if path.name not in _PRODUCTS:
                yield from _source_files(path)
        else:
            yield path


def _java_trust_stores() -> list[Path]:
    """List the trust store of this machine's Java, unless it is in ``/etc/ssl``, which every room replaces."""
    java = find_program("java")
    # /usr/bin/java is a chain of links to <home>/bin/java.
    home = os.environ.get("JAVA_HOME") or (java and java.path and java.path.resolve().parent.parent)
    store = Path(home or "/nowhere", "lib", "security", "cacerts").resolve()
    return [store] if store.is_file() and not store.is_relative_to("/etc/ssl") else []


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
        """The version that the library or program states; of a sentence only the number."""
        stated = self.record.version
        number = None if not stated or stated[0].isdigit() else VERSION.search(stated)
        return number[1] if number else stated

    @property
    def argv(self) -> tuple[str, ...]:
        """The command to run, with its placeholders filled in."""
        return tuple(map(self.place.filled, self.subject.run_argv))

    @property
    def environment(self) -> dict[str, str]:
        """The subject's own environment variables, in addition to those of the contract."""
        return {name: self.place.filled(value) for name, value in self.subject.environment.items()}

    @property
    def trust_files(self) -> tuple[Path, ...]:
        """Certificate stores that the room replaces: those of the build and of its runtime."""
        java = any(need.program in {"java", "javac", "mvn"} for need in self.subject.needs)
        return (*(self.folder / name for name in self.record.trust_files), *(_java_trust_stores() if java else ()))


def build_place(subject: Subject, cache: Path) -> BuildPlace:
    """Return the place of a subject's build with its present files and toolchain.

    Its fingerprint hashes what a build depends on: files, versions of programs, and the kind of machine.
    """
    digest = hashlib.sha256()
    versions = sorted(toolchain(subject.needs).items())
    digest.update(json.dumps([_FORM, platform.system(), platform.machine(), versions]).encode())
    for path in _source_files(subject.folder):
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        executable = not path.is_symlink() and bool(path.stat().st_mode & 0o111)
        head = [str(path.relative_to(subject.folder)), path.is_symlink(), executable, len(content)]
        digest.update(json.dumps(head).encode())
        digest.update(content)
    return BuildPlace(cache / "builds", subject.id, digest.hexdigest()[:16])


def find_build(subject: Subject, cache: Path) -> Build | None:
    """Return the current build of a subject; None when it must be built first."""
    place = build_place(subject, cache)
    record = place.record()
    return None if record is None else Build(subject, place, record)


_LONGEST_BUILD_S: Final = 3600.0
_LONGEST_VERSION_S: Final = 60.0


class BuildState(StrEnum):
    """Progress of one subject's build."""

    READY = "ready"
    WAITING = "waiting"
    BUILDING = "building"
    BUILT = "built"
    UNAVAILABLE = "unavailable"
    FAILED = "failed"


TellBuild = Callable[[Subject, BuildState], None]
"""Gets the progress of each build."""


@dataclass(frozen=True, slots=True)
class BuildOutcome:
    """Outcome for one subject: a build, or the reason why there is none."""

    subject: Subject
    build: Build | None = None
    error: SubjectUnavailable | None = None
    log: Path | None = None
    """File with the output of the build; None if no build was started."""


def build_subjects(
    subjects: Iterable[Subject],
    cache: Path,
    *,
    tell: TellBuild = lambda *_: None,
    stop: Callable[[], bool] = lambda: False,
    parallel: int | None = None,
) -> dict[str, BuildOutcome]:
    """Build subjects that are not built yet; return the outcome of each by id, in the order of the subjects.

    A failed build does not stop the others. ``stop`` is called about twenty times a second: once it is true,
    running builds are ended, and Interrupted is raised.
    """
    outcomes = run_jobs(
        (_build_and_tell(subject, cache, tell) for subject in subjects),
        parallel=parallel or os.cpu_count() or 1,
        stop=stop,
        activity="building subjects",
    )
    return {outcome.subject.id: outcome for outcome in outcomes}


def log_tail(log: Path, lines: int = 10) -> list[str]:
    """Return the last lines of a build's log; empty when it cannot be read."""
    try:
        return log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    except OSError:
        return []


def _build_and_tell(subject: Subject, cache: Path, tell: TellBuild) -> Job[BuildOutcome]:
    if error := why_unavailable(subject):
        tell(subject, BuildState.UNAVAILABLE)
        return BuildOutcome(subject, error=error)
    place = build_place(subject, cache)
    record, lock, waits = place.record(), None, False
    try:
        while record is None and lock is None:
            if (lock := place.lock()) is None:
                if not waits:
                    tell(subject, BuildState.WAITING)
                    waits = True
                yield False
            # The previous holder of the lock may have built the same subject.
            record = place.record()
        if record is not None:
            tell(subject, BuildState.READY)
            return BuildOutcome(subject, Build(subject, place, record))
        tell(subject, BuildState.BUILDING)
        place.clear()
        try:
            record = yield from _build(subject, place, cargo_target(cache))
        except BuildFailed as error:
            tell(subject, BuildState.FAILED)
            return BuildOutcome(subject, error=error, log=place.log)
        tell(subject, BuildState.BUILT)
        return BuildOutcome(subject, Build(subject, place, record), log=place.log)
    finally:
        if lock is not None:
            os.close(lock)


def _build(subject: Subject, place: BuildPlace, cargo_target: Path) -> Job[BuildRecord]:
    """Build a subject in an empty place; raise BuildFailed when that fails."""
    place.folder.mkdir()
    for path in _source_files(subject.folder):
        copy = place.folder / path.relative_to(subject.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)
    if subject.build_argv:
        argv = [place.filled(part, cargo_target) for part in subject.build_argv]
        environment = {"CARGO_TARGET_DIR": str(cargo_target), "TMPDIR": str(place.temporary)}
        status = yield from run_command(argv, place.log, place.folder, environment, _LONGEST_BUILD_S)
        if status != 0:
            ending = "took longer than an hour" if status == OVERDUE else f"failed with exit status {status}"
            last = "".join(f": {line.strip()}" for line in log_tail(place.log, 1))
            raise BuildFailed(f"the build {ending}{last} (all of it: {place.log})", option=subject.id)
    _copy_programs(subject, place, cargo_target)
    # The bundles of Python's certifi, which any package may contain.
    bundles = sorted(path for path in place.folder.rglob("cacert.pem") if path.parent.name == "certifi")
    record = BuildRecord(
        version=_ask_version(subject, place),
        toolchain=toolchain(subject.needs),
        trust_files=[str(path.relative_to(place.folder)) for path in bundles],
    )
    place.complete(record)
    return record


def _copy_programs(subject: Subject, place: BuildPlace, cargo_target: Path) -> None:
    """Copy programs from Cargo's target folder, where the subject's next build would replace them during a run."""
    for part in dict.fromkeys([*subject.run_argv, *subject.version_argv]):
        if not part.startswith("{target}/"):
            continue
        built, copy = (folder / part.removeprefix("{target}/") for folder in (cargo_target, place.target))
        if not built.is_file():
            raise BuildFailed(
                f"the build left no {built}, which subject.toml runs; correct its [build] or [run]",
                option=subject.id,
            )
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(built, copy)


def _ask_version(subject: Subject, place: BuildPlace) -> str | None:
    if not subject.version_argv:
        return None
    try:
        printed = subprocess.run(
            [place.filled(part) for part in subject.version_argv],
            cwd=place.folder,
            env=tool_environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_LONGEST_VERSION_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise BuildFailed(
            f"{subject.id}: the command of [version] does not run: {error}; correct it in its subject.toml"
        ) from error
    line = printed.stdout.partition("\n")[0].strip()
    # Some programs, such as wrk, print their version but end with an error.
    if line if printed.returncode == 0 else VERSION.search(line):
        return line
    reason = " ".join((printed.stderr or printed.stdout).split())[:200] or "nothing"
    raise BuildFailed(
        f"{subject.id}: the command of [version] failed with exit status {printed.returncode},"
        f" printing {reason}; correct it in its subject.toml"
    )
