"""Facts of this machine: about its kernel (from the engine), its programs and its folders."""

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from httpdyno.errors import EngineFailed, HttpdynoError
from httpdyno.installation import renew_engine
from httpdyno.judge.wording import some_of
from httpdyno.lab.engine import Engine
from httpdyno.model import Fact, Fitness, format_size
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.engine_program import find_engine
from httpdyno.subjects.needs import check_needs, find_need, install_line

_LEAST_FREE_BYTES: Final = 4 * 1024**3
_ENGINE: Final = "engine"
_NEEDED_FOR_A_ROOM: Final = frozenset({_ENGINE, "user_namespaces", "network_namespaces", "process_namespaces"})
"""Facts that every room needs, by the engine's names."""


@dataclass(frozen=True, slots=True)
class Toolchain(Fact):
    """A program or library that some subjects need: without it, only they cannot be measured."""


@dataclass(frozen=True, slots=True)
class Conclusion:
    """Conclusion from all facts about measurements."""

    can_measure: bool
    """False if no room can be created."""
    line: str
    """``ready: ...``, ``limited: ...`` or ``cannot measure: ...``."""


def diagnose() -> list[Fact]:
    """Return the facts; a missing engine is one of them."""
    return [*_engine_facts(), *_toolchains(), _cache(), *_unfinished_builds()]


def conclude(facts: Sequence[Fact]) -> Conclusion:
    """Sum up the facts in one line."""
    missing = [fact for fact in facts if fact.ok is Fitness.NO and fact.name in _NEEDED_FOR_A_ROOM]
    if missing:
        names = ", ".join(fact.name for fact in missing)
        cures = "; ".join(dict.fromkeys(fact.cure for fact in missing if fact.cure))
        return Conclusion(False, f"cannot measure: no room can be created here ({names}); to fix it: {cures}")
    imperfect = [fact for fact in facts if fact.ok is not Fitness.YES]
    toolchains = [fact for fact in imperfect if isinstance(fact, Toolchain)]
    limits = ", ".join(fact.name for fact in imperfect if fact not in toolchains)
    line = f"limited: measurements work, with limits: {limits}" if limits else "ready: measurements work here"
    if toolchains:
        programs = some_of([fact.name for fact in toolchains])
        line += f"; subjects that need {programs} are unavailable, see: httpdyno subjects list"
    return Conclusion(True, line)


def _engine_facts() -> list[Fact]:
    try:
        engine = Engine(find_engine())
        return [Fact(_ENGINE, f"{engine.path} ({engine.version()})", Fitness.YES), *engine.doctor()]
    except HttpdynoError as error:
        lost = "nothing can be measured" if isinstance(error, EngineFailed) else "nothing is known of this kernel"
        return [Fact(_ENGINE, error.line, Fitness.NO, lost, renew_engine())]


def _toolchains() -> list[Fact]:
    missing_by_program: dict[str, list[str]] = {}
    for subject in read_catalogue().subjects.values():
        unmet = check_needs(subject)
        for need in subject.needs:
            subjects = missing_by_program.setdefault(need.program, [])
            if need.program in unmet:
                subjects.append(subject.id)
    facts: list[Fact] = []
    for program, subjects in sorted(missing_by_program.items()):
        found = find_need(program)
        place = f" at {found.path}" if found and found.path else ""
        value = f"{found.version or 'of an unknown version'}{place}" if found else "not found"
        missing = (f"unavailable: {', '.join(subjects)}", install_line(program)) if subjects else ()
        facts.append(Toolchain(program, value, Fitness.LIMITED if subjects else Fitness.YES, *missing))
    return facts


def _cache() -> Fact:
    folder = cache_folder()
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(existing).free
    if not os.access(existing, os.W_OK):
        cure = "make it writable, or set XDG_CACHE_HOME to a folder that is"
        return Fact("cache folder", f"{folder}, not writable", Fitness.NO, "no subject builds", cure)
    value = f"{folder}, {format_size(free)} free"
    if free >= _LEAST_FREE_BYTES:
        return Fact("cache folder", value, Fitness.YES)
    cure = f"free some space, remove old builds in {folder / 'builds'}, or set XDG_CACHE_HOME"
    return Fact("cache folder", value, Fitness.LIMITED, "builds of subjects may not fit", cure)


def _unfinished_builds() -> list[Fact]:
    builds = cache_folder() / "builds"
    folders = sorted(path for path in builds.iterdir() if path.is_dir()) if builds.is_dir() else []
    unfinished = ", ".join(path.name for path in folders if not (path / "complete.json").is_file())
    if not unfinished:
        return []
    consequence = "they use disk space; they start again when their subject is needed"
    cure = f"if no run is in progress: remove them from {builds}"
    return [Fact("unfinished builds", unfinished, Fitness.LIMITED, consequence, cure)]
