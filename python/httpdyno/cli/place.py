"""Resources of a run: the engine, the CPUs, the cache, the named subjects and their needs."""

import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from click import Context

from httpdyno.cli.display import Display
from httpdyno.cli.terminal import messages
from httpdyno.cli.verb import is_given
from httpdyno.errors import InvalidSubject, InvalidValue
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.place import Place
from httpdyno.lab.room import Pinning
from httpdyno.model import Subject, format_cpus, parse_cpus
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import Catalogue, read_catalogue
from httpdyno.subjects.engine_program import find_engine
from httpdyno.subjects.folders import SUBJECT_FILE
from httpdyno.subjects.provision import plan_provision, provide, system_packages_allowed

_NAME: Final = (
    r"[\w.-]*(?:api[_-]?key|authorization|cookie|credential|passw(?:or)?d|secret|session|signature|token)[\w.-]*"
)
_PATTERNS: Final = (
    re.compile(r"(://)[^/?#\s'\"]+(?=@)"),
    re.compile(rf"(?im)(?<![^\s])((?:-H|--header=)?{_NAME}:[ \t]*)(?=\S)[^\r\n]+"),
    re.compile(rf"(?i)((?:^|[?&]){_NAME}=)[^&#\s'\"]+"),
    re.compile(rf'(?i)("{_NAME}"\s*:\s*)"(?:[^"\\]|\\.)*"'),
)
"""Where secrets occur: the user of a URL, a header field, a parameter of a query or form, a value in JSON."""


def without_credentials(text: str) -> str:
    """Replace secrets in a text, by their names, and the user and password of a URL by ``***``."""
    for pattern in _PATTERNS:
        text = pattern.sub(r"\1***", text)
    return text


def environment_options(context: Context) -> tuple[str, ...]:
    """Return the options that the environment sets, as typed words: ``("--limit", "500")``.

    The recorded command of a run includes them, so that it repeats the run. ``FORMAT``, which only
    sets the format of tables, is left out.
    """
    given = [
        word
        for parameter in context.command.params
        if parameter.name != "format" and is_given(context, parameter.name or "", "ENVIRONMENT")
        for word in (parameter.opts[0], str(context.params[parameter.name or ""]))
    ]
    return tuple(given)


def make_place(
    cpus: str | None, runs: Path | None, *, environment: Sequence[str] = (), artifacts: str = "all"
) -> Place:
    """Find the engine and the cache; read ``--cpus SUBJECT[:ENGINE]``.

    ``environment`` holds the options of the command that the environment sets.
    """
    subject, _, engine = (cpus or "").partition(":")
    if cpus is not None and (not subject or cpus.endswith(":")):
        raise InvalidValue(f"--cpus: {cpus!r} is not understood; write it like 1:0 or 2-3:0,1")
    available = os.sched_getaffinity(0)
    for part in filter(None, (subject, engine)):
        if absent := parse_cpus(part, name="--cpus") - available:
            raise InvalidValue(f"--cpus: CPU {min(absent)} is not available here; choose from {format_cpus(available)}")
    return Place(
        engine=Engine(find_engine()),
        pinning=Pinning(subject or None, engine or None),
        cache=cache_folder(),
        runs=runs,
        command=("httpdyno", *map(without_credentials, (*sys.argv[1:2], *environment, *sys.argv[2:]))),
        artifacts=artifacts,
    )


def read_named_subjects(names: Sequence[str], subjects: Sequence[Path] | None) -> tuple[Catalogue, list[str]]:
    """Return the catalogue, with the folders among the names, and the ids of all named subjects.

    A name is a path if it has a slash, is ``.`` or ``..``, or if a folder of that name here has a
    ``subject.toml`` and ``--subjects`` adds no subject of that name.

    Raises
    ------
    InvalidSubject
        If a path has no ``subject.toml``.
    """
    catalogue = read_catalogue(subjects or ())
    folders = {}
    for name in names:
        folder = Path(name)
        has_file = (folder / SUBJECT_FILE).is_file()
        if name in catalogue.added or not (os.sep in name or name in {os.curdir, os.pardir} or has_file):
            continue
        if not folder.exists():
            raise InvalidSubject(f"{name}: there is no such folder; a path names a folder with a {SUBJECT_FILE}")
        if not has_file:
            what = f"there is no {SUBJECT_FILE} in this folder" if folder.is_dir() else "this is a file, not a folder"
            add_many = f"name a folder that holds one, or add many with --subjects {folder.parent}"
            raise InvalidSubject(f"{name}: {what}; {add_many}")
        folders[name] = folder
    if not folders:
        return catalogue, list(names)
    ids = [folders[name].resolve().name if name in folders else name for name in names]
    return read_catalogue((*(subjects or ()), *folders.values())), ids


def install_needs(subjects: Iterable[Subject], interruption: Interruption) -> None:
    """Install missing toolchains and, with the permission, packages of the system."""
    provision = plan_provision(subjects, system_packages=system_packages_allowed())
    if provision:
        with interruption, Display(messages()) as display:
            provide(provision, cache_folder(), tell=display.provision, stop=lambda: interruption.requested)
