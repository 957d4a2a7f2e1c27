"""The artifacts that a run keeps, and plans after storage."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from doubles.capacity import point
from httpdyno.errors import UnknownName
from httpdyno.judge import Circumstances, trial_not_run
from httpdyno.lab.scratch import ScratchFile
from httpdyno.lab.trial_files import TrialFiles
from httpdyno.model import (
    Condition,
    Link,
    Outcome,
    Subject,
    SubjectKind,
    TrialPlan,
    UrlSeries,
    Validity,
    Workload,
)
from httpdyno.runs import artifacts
from httpdyno.runs.artifacts import ArtifactKeeper, check_artifacts

TOOL = Subject("wrk", SubjectKind.TOOL, "C", "m", Path("/nowhere"), ("x",), report_parser="wrk")
PLAN = TrialPlan(0, 0, 0, TOOL, Condition("capacity", "plain", Workload(UrlSeries("http://a.example/?", 3))))


def keep(keeper: ArtifactKeeper, number: int, *, validity: Validity = Validity.VALID, output: bytes = b"") -> bool:
    plan = replace(PLAN, number=number)
    trial = replace(trial_not_run(plan, Outcome.OK, None), validity=validity)
    with ScratchFile() as stdout, ScratchFile() as stderr, ScratchFile() as arrivals, ScratchFile() as driver:
        stdout.file.write(output)
        stdout.file.flush()
        keeper.keep(plan, TrialFiles({}, stdout, stderr, arrivals, driver), Circumstances(), trial)
    return (keeper.folder / "trials" / f"{number:06}.zip").exists()


def test_all_failed_or_no_trials_are_kept(tmp_path: Path) -> None:
    kept = {
        which: [
            keep(ArtifactKeeper(tmp_path / which, which), number, validity=validity)
            for number, validity in enumerate((Validity.VALID, Validity.DISTURBED))
        ]
        for which in artifacts.KEPT
        if (tmp_path / which).mkdir() is None
    }
    assert kept == {"all": [True, True], "failed": [False, True], "none": [False, False]}
    with pytest.raises(UnknownName, match="--artifacts: there is no 'fail'; did you mean 'failed'"):
        check_artifacts("fail")


def test_no_more_is_kept_than_a_run_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artifacts, "_MOST_BYTES", 5_000)
    random = os.urandom(3_000)
    keeper = ArtifactKeeper(tmp_path)
    assert keep(keeper, 0, output=random)
    assert not keep(keeper, 1, output=random)
    # A resumed run knows the present artifacts.
    assert not keep(ArtifactKeeper(tmp_path), 2, output=random)
    assert len(list((tmp_path / "trials").iterdir())) == 1


@pytest.mark.parametrize("urls", [("http://a/",), Path("/urls"), UrlSeries("http://a/?", 7)])
def test_a_plan_is_the_same_after_it_was_stored(urls: tuple[str, ...] | Path | UrlSeries) -> None:
    condition = Condition("bench", "plain", Workload(urls), link=Link(), memory_bytes=1 << 20, grace_s=1.5)
    plan = TrialPlan(3, 1, 2, TOOL, condition, why="because")
    assert artifacts._plan_from_json(artifacts._plan_to_json(plan)) == plan


def test_a_point_is_stored_with_the_plan() -> None:
    plan = replace(PLAN, condition=replace(PLAN.condition, point=point(size_kib=4, rtt_ms=20)))
    assert artifacts._plan_from_json(artifacts._plan_to_json(plan)) == plan
