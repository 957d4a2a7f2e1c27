"""The case of docs/internals/adding-a-case.md can be written as the page says, and finds the mistake named there."""

import re
import tomllib
from pathlib import Path

import pytest

from conformance.rooms import Trial, outcomes_of, read_mutants, runner_of
from guide_pages import blocks, text_of
from httpdyno.judge.scripted.case_file import (
    CaseFile,
    Conditions,
    Connection,
    Frame,
    Host,
    Needs,
    Send,
    SendCoded,
    SendHex,
    read_cases,
)
from httpdyno.lab.engine import Engine

pytestmark = pytest.mark.slow
PAGE = "../internals/adding-a-case.md"


def test_a_case_is_written_as_the_guide_says(engine: Engine, tmp_path: Path) -> None:
    case, mutants = blocks(PAGE, "toml")
    found = re.search(r"such as\s+`(\w+)/([\w-]+)\.toml`", text_of(PAGE))
    assert found, "the page names the file"
    file = tmp_path / "cases" / found[1] / f"{found[2]}.toml"
    file.parent.mkdir(parents=True)
    file.write_text(case, encoding="utf-8")
    table = tmp_path / "mutants.toml"
    table.write_text(mutants, encoding="utf-8")
    assert list(tomllib.loads(mutants)) == [found[1]]
    trials = [Trial(f"{found[1]}/{found[2]}", "", "pass"), *read_mutants(table)]
    assert len(trials) == 2
    outcomes = outcomes_of(runner_of(engine, tmp_path / "cache"), trials, read_cases(tmp_path / "cases"))
    assert {trial.mutation: outcome.partition(":")[0] for trial, outcome in outcomes.items()} == {
        trial.mutation: trial.outcome for trial in trials
    }


def test_the_page_names_every_key() -> None:
    models = (CaseFile, Conditions, Needs, Host, Connection, Send, SendHex, SendCoded, Frame)
    keys = {field.alias or name for model in models for name, field in model.model_fields.items()}
    page = text_of(PAGE)
    assert sorted(key for key in keys - {"id"} if not re.search(rf"\b{key}\b", page)) == []
