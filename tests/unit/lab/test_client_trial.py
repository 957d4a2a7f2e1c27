"""What becomes of a trial on the real internet: judged by its ending alone."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import ANSWERS_ALL, MakeSubject
from httpdyno.errors import SubjectUnavailable
from httpdyno.judge import JudgedTrial
from httpdyno.lab import live_client
from httpdyno.lab.client_trial import run_client_trial
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.lab import Lab
from httpdyno.lab.room import Pinning
from httpdyno.lab.scratch import ScratchFile
from httpdyno.model import Condition, Outcome, TrialPlan, Validity, Workload
from httpdyno.subjects.builder import BuildOutcome, build_subjects
from httpdyno.subjects.definition import read_subject

FORGETS_THE_FIRST = """
import sys
for number, line in enumerate(sys.stdin):
    if number != 0:
        print(f"{line.strip()},200,2026-11-21T10:00:00Z,1.5,13", flush=True)
"""


@pytest.fixture
def urls() -> Iterator[ScratchFile]:
    with ScratchFile() as file:
        file.file.write(b"http://a.example/1\n\n  http://a.example/2 \r\nhttp://a.example/3\nhttp://b.example/\xff,x\n")
        file.file.flush()
        yield file


def run(program: str, make_subject: MakeSubject, tmp_path: Path, urls: ScratchFile, **fields: object) -> JudgedTrial:
    folder = make_subject("one", program, more=f"environment = {{ PYTHON = {sys.executable!r} }}")
    return run_subject(folder, tmp_path, urls, **fields)


def run_subject(folder: Path, tmp_path: Path, urls: ScratchFile, **fields: object) -> JudgedTrial:
    subject = read_subject(folder)
    builds = build_subjects([subject], tmp_path / "cache")
    workload = Workload((), timeout_s=float(str(fields.pop("timeout_s", 5.0))))
    condition = Condition("bench", "live", workload, **fields)  # type: ignore[arg-type]
    with Interruption() as interruption:
        return Lab(Engine(Path("/nowhere")), Pinning(), interruption, None, builds, urls=urls).run(
            TrialPlan(0, 0, 0, subject, condition), run_client_trial
        )


def test_answers_are_counted_and_not_judged(make_subject: MakeSubject, tmp_path: Path, urls: ScratchFile) -> None:
    judged = run(ANSWERS_ALL, make_subject, tmp_path, urls)
    trial = judged.trial
    assert (trial.outcome, trial.validity, trial.urls_given) == (Outcome.OK, Validity.UNVERIFIED, 4)
    assert trial.tally is not None
    assert (trial.tally.unverified, trial.tally.wrong) == (4, 0)
    assert trial.summary is not None
    assert (trial.summary.urls, trial.summary.status_2xx, trial.summary.right_per_s) == (4, 4, None)
    assert set(judged.samples["verdict"].to_list()) == {"unverified"}
    assert "http://b.example/\ufffd,x" in judged.samples["url"].to_list()


def test_a_client_that_forgets_a_url_is_missing_it(
    make_subject: MakeSubject, tmp_path: Path, urls: ScratchFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_client, "_SILENCE_S", 0.1)
    monkeypatch.setattr(live_client, "_START_S", 300)
    trial = run(FORGETS_THE_FIRST, make_subject, tmp_path, urls, timeout_s=0.05).trial
    assert (trial.outcome, trial.validity) == (Outcome.MISSING, None)
    assert trial.reason is not None
    assert trial.reason.startswith("printed nothing for ")
    assert trial.reason.endswith(" s while it owed 1 answer; its host was asked for nothing more")


def test_who_waits_for_a_host_to_be_spared_did_not_hang(
    make_subject: MakeSubject, tmp_path: Path, urls: ScratchFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing is printed for longer than a client may be silent that owes an answer.
    monkeypatch.setattr(live_client, "_SILENCE_S", 0.1)
    folder = make_subject("one")
    for deadline_s in (1.0, 10.0, 60.0):  # one is late enough for its two answers, however busy the machine is
        trial = run_subject(
            folder, tmp_path, urls, timeout_s=0.05, deadline_s=deadline_s, per_host_interval_s=1000.0
        ).trial
        assert trial.tally is not None
        if trial.tally.unverified == 2:
            break
    assert (trial.outcome, trial.reason, trial.validity) == (Outcome.OK, None, Validity.UNVERIFIED)
    assert (trial.tally.unverified, trial.tally.not_reached) == (2, 2)


def test_who_owes_an_answer_at_the_deadline_hung(make_subject: MakeSubject, tmp_path: Path, urls: ScratchFile) -> None:
    trial = run("import time\ntime.sleep(100)", make_subject, tmp_path, urls, deadline_s=0.5).trial
    assert (trial.outcome, trial.validity) == (Outcome.HUNG, None)


def test_a_subject_that_was_not_built_says_why(make_subject: MakeSubject, urls: ScratchFile) -> None:
    subject = read_subject(make_subject("one"))
    builds = {"one": BuildOutcome(subject, error=SubjectUnavailable("needs nothing that exists"))}
    plan = TrialPlan(0, 0, 0, subject, Condition("bench", "live", Workload(())))
    with Interruption() as interruption:
        trial = (
            Lab(Engine(Path("/nowhere")), Pinning(), interruption, None, builds, urls=urls)
            .run(plan, run_client_trial)
            .trial
        )
    assert (trial.outcome, trial.reason) == (Outcome.UNAVAILABLE, "needs nothing that exists")
