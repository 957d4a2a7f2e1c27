"""`--http-version`: clients receive it, clients without the claim keep a row, and all stored results have it."""

from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.claims import claim_result
from doubles.command_line import Command
from doubles.trials import trial
from httpdyno.lab.conformance import CaseRunner
from httpdyno.model import Cases, Outcome, Trial
from httpdyno.store import open_run

TELLS_ITS_VERSION = """
import os
import sys
from datetime import datetime, timezone

if os.environ["HTTP_VERSION"] != "2":
    sys.exit("told to speak " + os.environ["HTTP_VERSION"])
for line in sys.stdin:
    started = datetime.now(timezone.utc).isoformat(timespec="microseconds")
    print(f"{line.strip()},200,{started},1.5,13", flush=True)
"""
CLAIMS = '[capabilities]\nhttp = ["1.1", "2"]'


@pytest.fixture
def given(make_subject: MakeSubject, subject_folders: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A client that speaks both versions, and one that claims neither."""

    def proven(_: CaseRunner) -> list[Trial]:
        return [trial("both", 0).having(Cases((claim_result("http 2", claimed=True, works=True),)))]

    # The stand-in for the engine has no hosts for proving a claim.
    monkeypatch.setattr("httpdyno.lab.conformance.prove", proven)
    make_subject("both", TELLS_ITS_VERSION, more=CLAIMS)
    make_subject("neither", TELLS_ITS_VERSION)
    return ["both", "neither", "--subjects", str(subject_folders), "--limit", "5"]


def test_a_client_without_the_claim_has_a_row_with_the_reason(
    httpdyno: Command, given: list[str], tmp_path: Path
) -> None:
    ended = httpdyno("bench", *given, "--http-version", "2", "--repeat", "2", "--format", "json")

    assert ended.code == 0, ended.err
    reason = "neither: not measured: it cannot be set to HTTP/2: its subject.toml claims no version"
    rows = {row["subject"]: row for row in ended.rows}
    assert {row["http_version"] for row in ended.rows} == {"2"}
    assert (rows["both"]["totalUrls"], rows["neither"]["totalUrls"]) == (5, None)
    assert rows["neither"]["verdict"] == "unavailable"
    assert rows["neither"]["notes"][0] == f"unavailable: {reason.removeprefix('neither: ')} (2 of 2 trials)"
    assert ended.err.splitlines().count(f"httpdyno: {reason}") == 1
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert run.manifest.settings["http_version"] == "2"
    assert {trial.http_version for trial in run.records()} == {"2"}
    assert [subject.unavailable for subject in run.manifest.subjects] == [None, reason]
    assert "\nclients were set to HTTP/2: " in httpdyno("report", folder.name, "--format", "plain").out


def test_a_variable_sets_the_version_and_no_capable_client_is_an_error(
    httpdyno: Command, given: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_VERSION", "2")
    assert httpdyno("try", "both", *given[2:], "--format", "plain").out.count(",200,") == 5
    ended = httpdyno("try", "neither", *given[2:])
    assert ended.code == 3
    assert "cannot be set to HTTP/2" in ended.err


def test_a_run_goes_on_with_the_version_that_it_was_begun_with(
    httpdyno: Command, given: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rooms = tmp_path / "rooms"
    rooms.mkdir()
    (rooms / "0").touch()
    monkeypatch.setenv("FAKE_ENGINE_ROOMS", str(rooms))
    assert httpdyno("bench", *given, "--http-version", "2", "--repeat", "3").code == 3
    monkeypatch.delenv("FAKE_ENGINE_ROOMS")
    (folder,) = (tmp_path / "runs").iterdir()
    result = httpdyno("bench", "--resume", folder.name, "--http-version", "1.1")
    assert (result.code, "--http-version cannot change when a run is resumed" in result.err) == (2, True)

    ended = httpdyno("bench", "--resume", folder.name)

    assert ended.code == 0, ended.err
    trials = open_run(folder).records()
    assert len(trials) == 6
    assert {(trial.subject, trial.outcome, trial.http_version) for trial in trials} == {
        ("both", Outcome.OK, "2"),
        ("neither", Outcome.UNAVAILABLE, "2"),
    }


def test_two_runs_that_differ_in_it_are_not_compared(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    for version in (["--http-version", "2"], []):
        httpdyno("bench", *given, *version, "--repeat", "1")
    first, second = sorted(folder.name for folder in (tmp_path / "runs").iterdir())
    ended = httpdyno("compare", first, second)
    assert ended.code == 2
    assert "runs A and B are not comparable: HTTP version: 2 in A, unset in B;" in ended.err


@pytest.mark.parametrize("verb", ["bench", "try", "tune"])
@pytest.mark.parametrize("value", ["3", "1", "HTTP/2", "2.0"])
def test_another_version_is_one_clear_line(httpdyno: Command, given: list[str], verb: str, value: str) -> None:
    ended = httpdyno(verb, "both", *given[2:], "--http-version", value)
    assert ended.code == 2
    assert ended.err == f"httpdyno: --http-version: '{value}' is not understood; give 1.1 or 2\n"
