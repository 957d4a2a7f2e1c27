"""Subjects that a verb is given by name or by the path of their folder."""

import os
from collections.abc import Sequence
from pathlib import Path

from httpdyno.errors import InvalidSubject
from httpdyno.subjects.catalogue import Catalogue, read_catalogue
from httpdyno.subjects.folders import SUBJECT_FILE

__all__ = ["read_named_subjects"]


def read_named_subjects(names: Sequence[str], subjects: Sequence[Path] | None) -> tuple[Catalogue, list[str]]:
    """Return the catalogue with the folders among the names added, and the ids of all that are named.

    A name is a path when it has a slash, is ``.`` or ``..``, or when a folder of that name here holds a
    ``subject.toml`` and ``--subjects`` adds no subject of that name.

    Raises
    ------
    InvalidSubject
        If a path has no ``subject.toml``.
    """
    catalogue = read_catalogue(subjects or ())
    folders = {name: Path(name) for name in names if _is_path(name) and name not in catalogue.added}
    if not folders:
        return catalogue, list(names)
    for name, folder in folders.items():
        _require_subject(name, folder)
    ids = [folders[name].resolve().name if name in folders else name for name in names]
    return read_catalogue((*(subjects or ()), *folders.values())), ids


def _is_path(name: str) -> bool:
    return os.sep in name or name in {os.curdir, os.pardir} or (Path(name) / SUBJECT_FILE).is_file()


def _require_subject(name: str, folder: Path) -> None:
    if (folder / SUBJECT_FILE).is_file():
        return
    if not folder.exists():
        raise InvalidSubject(f"{name}: there is no such folder; a path names a folder with a {SUBJECT_FILE}")
    what = f"there is no {SUBJECT_FILE} in this folder" if folder.is_dir() else "this is a file, not a folder"
    raise InvalidSubject(f"{name}: {what}; name a folder that holds one, or add many with --subjects {folder.parent}")
