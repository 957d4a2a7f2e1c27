"""Commands whose reader leaves before the end, as `head -1` does."""

import os
import subprocess
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import START, START_TO_MEASURE

PATIENCE_S = 300
"""Against hangs only."""


@pytest.mark.parametrize(
    "arguments",
    [
        ["urls", "plain", "--limit", "10000"],
        ["urls", "list.txt"],
        ["doctor", "--format", "json"],
        ["subjects", "list"],
        ["query", "select * from runs", "--format", "csv"],
        ["try", "good", "--limit", "5", "--format", "plain"],
        ["bench", "good", "--limit", "5"],
    ],
    ids=" ".join,
)
def test_a_reader_that_leaves_is_no_error(
    stand_in_engine: Path, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path, arguments: list[str]
) -> None:
    make_subject("good")
    (tmp_path / "list.txt").write_text("a.example\n" * 10_000, encoding="utf-8")
    more = ["--subjects", str(subject_folders)] if "good" in arguments else []
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as stdout:
        done = subprocess.run(
            [*(START_TO_MEASURE if "bench" in arguments else START), *arguments, *more],
            cwd=tmp_path,
            env=os.environ | {"HTTPDYNO_ENGINE": str(stand_in_engine), "XDG_CACHE_HOME": str(tmp_path / "cache")},
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert "Error" not in done.stderr
    assert "Broken pipe" not in done.stderr
