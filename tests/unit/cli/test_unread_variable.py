"""An environment variable for an option that a verb lacks has no effect, whatever its value."""

import json
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command


def test_a_variable_that_a_verb_does_not_read_is_ignored(
    httpdyno: Command,
    make_subject: MakeSubject,
    subject_folders: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    make_subject("good")
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(tmp_path / "log"))
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    monkeypatch.setenv("HTTP_VERSION", "no version at all")
    ended = httpdyno("capacity", "good", "--subjects", str(subject_folders), "--rps", "5", "--quick")
    assert "HTTP_VERSION" not in ended.err
    calls = [json.loads(line) for line in (tmp_path / "log").read_text(encoding="utf-8").splitlines()]
    rooms = [call for call in calls if call[0] == "room"]
    assert rooms
    for room in rooms:
        assert "HTTP_VERSION=" in room
