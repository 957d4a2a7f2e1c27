"""Every case finds the defects that it is about: a case that a wrong client passes proves nothing."""

import re
from pathlib import Path

import pytest

from conformance.rooms import REFERENCE, is_as_expected, outcomes_of, read_mutants, runner_of
from httpdyno.judge.scripted.case_file import read_cases
from httpdyno.lab.engine import Engine

FILES = read_cases()
MUTANTS = read_mutants()
SOURCE = "".join(path.read_text(encoding="utf-8") for path in REFERENCE.rglob("*.py"))


def test_every_case_has_a_mutation() -> None:
    missing = sorted(set(FILES) - {trial.case for trial in MUTANTS})
    first = missing[0].split("/") if missing else ("", "")
    assert not missing, (
        f"tests/conformance/mutants.toml: no mutation of {', '.join(missing)}; add for each a line such as"
        f' {first[1]} = {{ a-mistake = "fail" }} to [{first[0]}], and let the client of tests/conformance/reference/'
        ' make that mistake where wrong("a-mistake") holds'
    )


def test_every_outcome_that_a_case_names_has_a_mutation() -> None:
    reached = {(trial.case, trial.outcome) for trial in MUTANTS}
    missing = [
        f"{case} {rule.outcome}"
        for case, file in FILES.items()
        for rule in file.outcome
        if rule.outcome != "pass" and (case, rule.outcome) not in reached
    ]
    assert not missing, f"tests/conformance/mutants.toml: no mutation leads to: {', '.join(missing)}"


def test_every_mutation_is_made_and_used() -> None:
    named = {trial.mutation for trial in MUTANTS}
    made = {f"ignores-{name}" for name in re.findall(r'violate\(\s*"([^"]+)"', SOURCE)}
    assert sorted(name for name in named - made if f'"{name}"' not in SOURCE) == [], (
        "the client does not make these mistakes"
    )
    made |= set(re.findall(r'wrong\(\s*"([^"]+)"', SOURCE))
    assert sorted(made - named) == [], "no case is tried with these mistakes"


def test_no_mutant_may_pass() -> None:
    allowed = {"fail", "unsafe", "lenient", "hang"}
    assert {trial for trial in MUTANTS if trial.outcome not in allowed} == set()


@pytest.mark.slow
def test_every_case_finds_its_mutants(engine: Engine, tmp_path: Path) -> None:
    found = outcomes_of(runner_of(engine, tmp_path), [trial for trial in MUTANTS if trial.case in FILES], FILES)
    wrong = [
        f"{trial.case} with {trial.mutation}: {outcome}, not {trial.outcome}"
        for trial, outcome in found.items()
        if not is_as_expected(trial, outcome)
    ]
    assert not wrong, "\n".join(wrong)
