"""Failures of the engine while it parses a client's output."""

import os
from pathlib import Path
from tempfile import TemporaryFile

import pytest

from httpdyno.errors import InvalidValue, StorageFailed
from httpdyno.lab.engine import Engine
from httpdyno.subjects.engine_program import find_engine


@pytest.fixture
def printed(tmp_path: Path) -> Path:
    file = tmp_path / "printed"
    file.write_text("https://a.example,200,2024-10-21T12:00:00.000Z,12,3\n", encoding="utf-8")
    return file


def test_a_full_disk_is_known_as_one(printed: Path) -> None:
    no_space = pytest.raises(StorageFailed, match=r"cannot write: No space left on device; free some space$")
    with Path("/dev/full").open("r+b", buffering=0) as full, no_space:
        Engine(find_engine()).write_lines(printed, full, killed=False)


def test_ctrl_c_in_a_terminal_does_not_reach_it(printed: Path, tmp_path: Path) -> None:
    program = tmp_path / "engine"
    program.write_text(f"#!/bin/sh\ncut -d' ' -f5 /proc/self/stat > {tmp_path}/group\nexit 1\n", encoding="utf-8")
    program.chmod(0o755)
    with pytest.raises(InvalidValue, match="ended with exit status 1"), TemporaryFile() as rows:
        Engine(program).write_lines(printed, rows, killed=False)
    assert int((tmp_path / "group").read_text()) != os.getpgrp()


def test_a_refusal_names_the_argument_apart() -> None:
    with pytest.raises(InvalidValue) as refused:
        Engine(find_engine()).web("no-web", seed=None)
    assert refused.value.option == "--web no-web"
    assert refused.value.line == f"--web no-web: {refused.value.message}"
