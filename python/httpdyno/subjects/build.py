"""A subject that is ready to run: where its build is, and how it is started."""

import os
from dataclasses import dataclass
from pathlib import Path

from httpdyno.model import Subject
from httpdyno.subjects.cache import BuildPlace, BuildRecord
from httpdyno.subjects.engine_program import ENGINE_NAME, usable_engine
from httpdyno.subjects.needs import VERSION, toolchain
from httpdyno.subjects.sources import fingerprint
from httpdyno.subjects.trust import java_trust_stores

__all__ = ["Build", "build_place", "filled", "find_build"]


@dataclass(frozen=True, slots=True)
class Build:
    """The whole build of a subject."""

    subject: Subject
    place: BuildPlace
    record: BuildRecord

    @property
    def folder(self) -> Path:
        """The folder it runs in."""
        return self.place.folder

    @property
    def version(self) -> str | None:
        """The version of the library or program, as it says itself; of a whole sentence only the number."""
        said = self.record.version
        if not said or said[0].isdigit():
            return said
        number = VERSION.search(said)
        return number[1] if number else said

    @property
    def argv(self) -> tuple[str, ...]:
        """The command to run, with its places filled in."""
        return tuple(filled(part, folder=self.folder, target=self.place.target) for part in self.subject.run_argv)

    @property
    def environment(self) -> dict[str, str]:
        """What the subject wants in its environment, beside the variables of the contract."""
        return {
            name: filled(value, folder=self.folder, target=self.place.target)
            for name, value in self.subject.environment.items()
        }

    @property
    def trust_files(self) -> tuple[Path, ...]:
        """Certificate stores that the room replaces by its own: those of the build, and those of its runtime."""
        java = any(need.program in {"java", "javac", "mvn"} for need in self.subject.needs)
        return (*(self.folder / name for name in self.record.trust_files), *(java_trust_stores() if java else ()))


def filled(text: str, *, folder: Path, target: Path) -> str:
    """Fill in ``{folder}``, ``{target}`` and ``{engine}``, the program in use; any other brace stays as it is."""
    text = text.replace("{folder}", str(folder)).replace("{target}", str(target))
    return text.replace("{engine}", usable_engine(os.environ) or ENGINE_NAME) if "{engine}" in text else text


def build_place(subject: Subject, cache: Path) -> BuildPlace:
    """Return the place of a subject's build, as its files and its toolchain stand now."""
    return BuildPlace(cache / "builds", subject.id, fingerprint(subject, toolchain(subject.needs)))


def find_build(subject: Subject, cache: Path) -> Build | None:
    """Return the build of a subject as it stands now; None when it would have to be built first."""
    place = build_place(subject, cache)
    record = place.record()
    return None if record is None else Build(subject, place, record)
