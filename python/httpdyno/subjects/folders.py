"""Folders of subjects. Imports little: shell completion reads it."""

from pathlib import Path
from typing import Final

SUBJECT_FILE: Final = "subject.toml"
_BUILTIN: Final = Path(__file__).resolve().parent.parent / "data" / "subjects"
"""Files in a wheel, a link to ``subjects/`` in a checkout."""


def builtin_folder() -> Path:
    """Return the folder of the subjects that come with httpdyno."""
    return _BUILTIN.resolve()


def subject_folders(top: Path) -> list[Path]:
    """Return the folder itself if it has a ``subject.toml``, else those up to two levels below that have one."""
    if (top / SUBJECT_FILE).exists():
        # A library inside a subject's folder may itself have a ``subject.toml``, for its own CI.
        return [top]
    patterns = (f"*/{SUBJECT_FILE}", f"*/*/{SUBJECT_FILE}")
    return sorted({path.parent for pattern in patterns for path in top.glob(pattern)})
