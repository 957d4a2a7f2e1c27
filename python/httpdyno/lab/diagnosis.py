"""Facts of this machine: those that the engine knows of the kernel, and those of the Python side."""

import os
import shutil
from pathlib import Path

from httpdyno.errors import EngineFailed, HttpdynoError
from httpdyno.installation import renew_engine
from httpdyno.lab.engine import Engine
from httpdyno.lab.location import find_engine
from httpdyno.model import Fact, Fitness, format_size
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.needs import check_needs, find_need, install_line

__all__ = ["diagnose"]

_LEAST_FREE_BYTES = 4 * 1024**3


def diagnose() -> list[Fact]:
    """Gather the facts; a missing engine is one like the others."""
    return [*_engine_facts(), *_toolchains(), _cache(), *_unfinished_builds()]


def _engine_facts() -> list[Fact]:
    try:
        engine = Engine(find_engine())
        return [Fact("engine", f"{engine.path} ({engine.version()})", Fitness.YES), *engine.doctor()]
    except EngineFailed as error:
        return [Fact("engine", error.line, Fitness.NO, "nothing can be measured", renew_engine())]
    except HttpdynoError as error:
        return [Fact("engine", error.line, Fitness.NO, "nothing is known of this kernel", renew_engine())]


def _toolchains() -> list[Fact]:
    wanted: dict[str, list[str]] = {}
    missing: dict[str, list[str]] = {}
    for subject in read_catalogue().subjects.values():
        misses = {miss.need.program for miss in check_needs(subject)}
        for need in subject.needs:
            wanted.setdefault(need.program, []).append(subject.id)
            if need.program in misses:
                missing.setdefault(need.program, []).append(subject.id)
    facts = []
    for program in sorted(wanted):
        found = find_need(program)
        place = f" at {found.path}" if found and found.path else ""
        value = f"{found.version or 'of an unknown version'}{place}" if found else "not found"
        if program in missing:
            consequence = f"unavailable: {', '.join(missing[program])}"
            facts.append(Fact(program, value, Fitness.LIMITED, consequence, install_line(program)))
        else:
            facts.append(Fact(program, value, Fitness.YES))
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
    folders = [path for path in builds.iterdir() if path.is_dir()] if builds.is_dir() else []
    unfinished = [path.name for path in sorted(folders) if not _whole(path)]
    if not unfinished:
        return []
    return [
        Fact(
            "unfinished builds",
            ", ".join(unfinished),
            Fitness.LIMITED,
            consequence="they take space; they are started anew when their subject is needed",
            cure=f"if no run is under way: remove them from {builds}",
        )
    ]


def _whole(build: Path) -> bool:
    return (build / "complete.json").is_file()
