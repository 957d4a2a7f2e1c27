"""The source files of a subject: which files count, what they hash to, and a copy of them to build in."""

import hashlib
import json
import platform
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from httpdyno.model import Subject

__all__ = ["copy_sources", "fingerprint", "source_files"]

_PRODUCTS: Final = frozenset({".git", ".venv", "__pycache__", "node_modules", "target"})
"""Folders that builds leave behind: a build in the subject's own folder must not change what it hashes to."""

_FORM: Final = "1"
"""Changes when builds are laid out in another way, so that older ones are not taken for current."""


def source_files(folder: Path) -> Iterator[Path]:
    """List the files of a subject, in a fixed order, without what a build leaves in its folder."""
    for path in sorted(folder.iterdir()):
        if path.is_dir() and not path.is_symlink():
            if path.name not in _PRODUCTS:
                yield from source_files(path)
        else:
            yield path


def fingerprint(subject: Subject, toolchain: Mapping[str, str]) -> str:
    """Hash what a build depends on: the subject's files, the versions of its programs, and the kind of machine.

    The versions are by the name of the program; the hash has 16 hexadecimal digits.
    """
    digest = hashlib.sha256()
    machine = [_FORM, platform.system(), platform.machine(), sorted(toolchain.items())]
    digest.update(json.dumps(machine).encode())
    for path in source_files(subject.folder):
        content = str(path.readlink()).encode() if path.is_symlink() else path.read_bytes()
        executable = not path.is_symlink() and bool(path.stat().st_mode & 0o111)
        head = [str(path.relative_to(subject.folder)), path.is_symlink(), executable, len(content)]
        digest.update(json.dumps(head).encode())
        digest.update(content)
    return digest.hexdigest()[:16]


def copy_sources(subject: Subject, destination: Path) -> None:
    """Copy a subject's files into a folder that does not exist yet."""
    destination.mkdir(parents=True)
    for path in source_files(subject.folder):
        copy = destination / path.relative_to(subject.folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy, follow_symlinks=False)
