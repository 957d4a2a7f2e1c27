"""`subjects probe`: each claim is tested, and a failing one twice."""

import json
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command


def test_only_the_claims_that_failed_are_probed_again(
    httpdyno: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    make_subject("boaster", more="[capabilities]\nkeepalive = [true]")
    said = httpdyno("subjects", "probe", "boaster", "--subjects", str(subject_folders)).out
    said = [line for line in said.splitlines() if not line.lstrip().startswith("to change: ")]
    failed = sum(line.startswith("FAILED") for line in said)
    assert 0 < failed < len(said)
    calls = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    assert sum(call[0] == "room" for call in calls) == len(said) + failed
