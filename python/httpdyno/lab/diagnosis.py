"""Facts of this machine: those that the engine knows of the kernel, and those of the Python side."""

import os
import shutil
from pathlib import Path
from typing import Any

from httpdyno.errors import EngineFailed, HttpdynoError
from httpdyno.lab.engine import Engine
from httpdyno.lab.location import find_engine
from httpdyno.model import format_size
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.needs import check_needs, find_program, install_line

__all__ = ["diagnose"]

_LEAST_FREE_BYTES = 4 * 1024**3


def diagnose() -> list[dict[str, Any]]:
    """Gather the facts, each with ``name``, ``value``, ``ok``, ``consequence`` and ``cure``.

    ``consequence`` and ``cure`` are None where ``ok`` is true. A missing engine is a fact like the others.
    """
    return [*_engine_facts(), *_toolchains(), _cache(), *_unfinished_builds()]


def _fact(name: str, value: object, *, ok: bool, consequence: str = "", cure: str = "") -> dict[str, Any]:
    return {
        "name": name,
        "value": str(value),
        "ok": ok,
        "consequence": None if ok else consequence,
        "cure": None if ok else cure,
    }


def _engine_facts() -> list[dict[str, Any]]:
    try:
        engine = Engine(find_engine())
        return [_fact("engine", f"{engine.path} ({engine.version()})", ok=True), *engine.doctor()]
    except EngineFailed as error:
        return [_fact("engine", error.line, ok=False, consequence="nothing can be measured", cure="make setup")]
    except HttpdynoError as error:
        cure = "build the engine again: make setup"
        return [_fact("engine", error.line, ok=False, consequence="nothing is known of this kernel", cure=cure)]


def _toolchains() -> list[dict[str, Any]]:
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
        found = find_program(program)
        value = f"{found.version or 'of an unknown version'} at {found.path}" if found else "not found"
        consequence = f"unavailable: {', '.join(missing.get(program, []))}"
        facts.append(
            _fact(program, value, ok=program not in missing, consequence=consequence, cure=install_line(program))
        )
    return facts


def _cache() -> dict[str, Any]:
    folder = cache_folder()
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    free = shutil.disk_usage(existing).free
    if not os.access(existing, os.W_OK):
        cure = "make it writable, or set XDG_CACHE_HOME to a folder that is"
        return _fact("cache folder", f"{folder}, not writable", ok=False, consequence="no subject builds", cure=cure)
    return _fact(
        "cache folder",
        f"{folder}, {format_size(free)} free",
        ok=free >= _LEAST_FREE_BYTES,
        consequence="builds of subjects may not fit",
        cure=f"free some space, remove old builds in {folder / 'builds'}, or set XDG_CACHE_HOME",
    )


def _unfinished_builds() -> list[dict[str, Any]]:
    builds = cache_folder() / "builds"
    folders = [path for path in builds.iterdir() if path.is_dir()] if builds.is_dir() else []
    unfinished = [path.name for path in sorted(folders) if not _whole(path)]
    if not unfinished:
        return []
    return [
        _fact(
            "unfinished builds",
            ", ".join(unfinished),
            ok=False,
            consequence="they take space; they are started anew when their subject is needed",
            cure=f"if no run is under way: remove them from {builds}",
        )
    ]


def _whole(build: Path) -> bool:
    return (build / "complete.json").is_file()
