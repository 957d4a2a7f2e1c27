"""Lists what subjects need, this machine lacks, and can be brought without asking anyone."""

import os
import shutil
from collections.abc import Iterable
from dataclasses import dataclass

from httpdyno.model import Subject
from httpdyno.subjects.needs import check_needs
from httpdyno.subjects.recipes import AptRecipe, Recipe, WheelRecipe, recipe_for

__all__ = ["Provision", "plan_provision", "system_packages_allowed"]


@dataclass(frozen=True, slots=True)
class Provision:
    """What would be brought: nothing when the machine has it all."""

    packages: tuple[str, ...] = ()
    """Of the system's package manager."""
    wheels: tuple[WheelRecipe, ...] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to bring."""
        return bool(self.packages or self.wheels)


def system_packages_allowed() -> bool:
    """Whether this process may install packages of the system: root, where there is apt."""
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def plan_provision(subjects: Iterable[Subject], *, system_packages: bool) -> Provision:
    """Return what is missing and can be brought without asking anyone; what can be had nowhere is left out."""
    misses = (miss for subject in subjects if not subject.unavailable for miss in check_needs(subject))
    recipes: list[Recipe] = [recipe_for(miss.need.program) for miss in misses]
    packages = (name for recipe in recipes if isinstance(recipe, AptRecipe) for name in recipe.packages)
    wheels = {recipe.requirement: recipe for recipe in recipes if isinstance(recipe, WheelRecipe)}
    return Provision(tuple(sorted(set(packages))) if system_packages else (), tuple(wheels.values()))
