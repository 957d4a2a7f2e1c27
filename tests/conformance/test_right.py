"""The reference client passes every case: a case that a right client does not pass is a defect of the case."""

from pathlib import Path

import pytest

from conformance.rooms import Trial, is_as_expected, outcomes_of, runner_of
from httpdyno.judge.scripted.case_file import read_cases
from httpdyno.lab.engine import Engine

pytestmark = pytest.mark.slow


def test_the_reference_client_passes_every_case(engine: Engine, tmp_path: Path) -> None:
    files = read_cases()
    found = outcomes_of(runner_of(engine, tmp_path), [Trial(case, "", "pass") for case in files], files)
    wrong = [f"{trial.case}: {outcome}" for trial, outcome in found.items() if not is_as_expected(trial, outcome)]
    assert not wrong, "\n".join(wrong)
