"""`--install`: a verb installs the needs of its subjects before measuring, and only with this option."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.lab.interruption import Interruption
from httpdyno.model import Subject

VERBS = ("bench", "tune", "capacity", "cost", "latency")


@pytest.fixture
def brought(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Record which subjects would be installed: a test installs nothing on its machine."""
    names: list[str] = []

    def bring(subjects: Iterable[Subject], interruption: Interruption) -> None:
        del interruption
        names.extend(subject.id for subject in subjects)

    monkeypatch.setattr("httpdyno.cli.running.install_needs", bring)
    return names


@pytest.mark.parametrize("verb", VERBS)
def test_install_installs_the_needs_of_a_subject(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, brought: list[str], verb: str
) -> None:
    make_subject("needy", more='[capabilities]\ncheck = ["json"]', needs='no-such-program = "*"')
    typed = (verb, "needy", "--subjects", str(subject_folders))
    assert httpdyno(*typed).code == 3
    assert brought == []
    assert httpdyno(*typed, "--install").code == 3
    assert brought == ["needy"]
