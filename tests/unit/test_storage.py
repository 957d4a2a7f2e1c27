"""A failed write gives one line with the file, the reason, and the remedy."""

import errno
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from httpdyno.errors import StorageFailed
from httpdyno.storage import storage_errors


@pytest.mark.parametrize(
    ("error", "said", "code"),
    [
        (
            OSError(errno.ENOSPC, "No space left on device", "/c/x"),
            "building: cannot write /c/x: No space left on device; free some space",
            4,
        ),
        (
            OSError(errno.EDQUOT, "Disk quota exceeded"),
            "building: cannot write: Disk quota exceeded; free some space",
            4,
        ),
        (
            pl.exceptions.ComputeError("while writing (os error 28)"),
            "building: cannot write: No space left on device; free some space",
            4,
        ),
        (
            OSError(errno.EROFS, "Read-only file system"),
            "building: cannot write: Read-only file system; make it writable or name another",
            3,
        ),
        (
            pl.exceptions.ComputeError("while writing (os error 27)"),
            "building: cannot write: File too large; make it writable or name another",
            3,
        ),
    ],
)
def test_an_error_becomes_one_line(error: Exception, said: str, code: int) -> None:
    with pytest.raises(StorageFailed) as caught, storage_errors("building: cannot write"):
        raise error
    assert caught.value.line == said
    assert caught.value.exit_code == code


def test_a_folder_that_is_named_already_and_a_cure_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed) as caught, storage_errors("runs", folder=tmp_path, cure="use --out"):
        (tmp_path / "absent" / "file").touch()
    assert caught.value.line == "runs: No such file or directory; use --out"


def test_other_errors_pass() -> None:
    with pytest.raises(ValueError, match="other"), storage_errors("building"):
        raise ValueError("other")


def test_polars_is_not_loaded_for_its_errors() -> None:
    program = (
        "import sys\nfrom httpdyno.errors import StorageFailed\nfrom httpdyno.storage import storage_errors\n"
        "try:\n    with storage_errors('x'):\n        open('/no/file')\n"
        "except StorageFailed:\n    sys.exit('polars' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
