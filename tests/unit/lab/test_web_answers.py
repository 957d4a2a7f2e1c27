"""The answers of a web to a list: computed once, and again for clients with a check or one version."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.web_answers import WebAnswers
from httpdyno.model import Condition, UrlSeries, Workload

SERIES = UrlSeries("http://cost.example/json?n=", 3)
CONDITION = Condition("cost", "plain", Workload(SERIES))


@pytest.fixture
def urls() -> Iterator[ScratchFile]:
    with ScratchFile() as file:
        file.file.writelines(f"{url}\n".encode() for url in SERIES)
        file.file.flush()
        yield file


def test_who_checks_has_answers_of_his_own(
    stand_in_engine: Path, urls: ScratchFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "asked"
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))
    answers = WebAnswers(Engine(stand_in_engine), Interruption())
    checking = replace(CONDITION, workload=replace(CONDITION.workload, check="json"))
    for condition in (CONDITION, checking, CONDITION, checking):
        assert len(answers.of(condition, urls).expectations) == SERIES.count
    asked = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    assert ["--check" in argv for argv in asked] == [False, True]
    assert asked[1][asked[1].index("--check") + 1] == "json"


def test_a_client_of_one_version_has_answers_of_its_own(
    stand_in_engine: Path, urls: ScratchFile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "asked"
    monkeypatch.setenv("FAKE_ENGINE_LOG", str(log))
    answers = WebAnswers(Engine(stand_in_engine), Interruption())
    for version in ("", "2", "1.1", "2", ""):
        answers.of(replace(CONDITION, workload=replace(CONDITION.workload, http_version=version)), urls)
    asked = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    result = [argv[argv.index("--http-version") + 1] if "--http-version" in argv else "" for argv in asked]
    assert result == ["", "2", "1.1"]
