"""When tests that need a room are skipped, and when they fail."""

from pathlib import Path

import pytest

from conftest import require_room
from httpdyno.lab.engine import Engine


def test_a_kernel_without_namespaces_is_a_reason_to_skip(
    stand_in_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "no-namespaces")
    with pytest.raises(pytest.skip.Exception, match="no user namespaces here"):
        require_room(Engine(stand_in_engine))


def test_a_room_that_fails_for_another_reason_fails_the_tests(
    stand_in_engine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    with pytest.raises(pytest.fail.Exception, match="the doctor knows of no reason"):
        require_room(Engine(stand_in_engine))
