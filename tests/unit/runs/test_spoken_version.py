"""Subjects that are not measured, because they do not claim the requested version of HTTP."""

from pathlib import Path

import pytest

from httpdyno.model import Capabilities, Condition, Subject, SubjectKind, Workload
from httpdyno.runs.run import clients_without_version


def client(name: str, *http: str, unavailable: str = "") -> Subject:
    claims = Capabilities(http=http)
    return Subject(
        name, SubjectKind.CLIENT, "C", name, Path(name), ("./run",), capabilities=claims, unavailable=unavailable
    )


SUBJECTS = [client("old", "1.1"), client("both", "1.1", "2"), client("new", "2"), client("silent")]


@pytest.mark.parametrize(
    ("version", "refused"),
    [
        ("", {}),
        ("1.1", {"new": "it claims only HTTP/2", "silent": "its subject.toml claims no version"}),
        ("2", {"old": "it claims only HTTP/1.1", "silent": "its subject.toml claims no version"}),
    ],
)
def test_clients_without_the_version_are_not_measured(version: str, refused: dict[str, str]) -> None:
    conditions = [Condition("bench", "plain", Workload((), http_version=version))]
    found = clients_without_version(SUBJECTS, conditions)
    assert {name: str(outcome.error) for name, outcome in found.items()} == {
        name: f"{name}: not measured: it cannot be set to HTTP/{version}: {why}" for name, why in refused.items()
    }
    assert all(outcome.build is None for outcome in found.values())


def test_who_can_be_had_nowhere_keeps_its_own_reason() -> None:
    conditions = [Condition("bench", "plain", Workload((), http_version="2"))]
    assert clients_without_version([client("gone", unavailable="in no registry")], conditions) == {}
