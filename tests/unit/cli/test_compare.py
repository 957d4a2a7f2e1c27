"""`httpdyno compare`: its output, its exit codes, its refusals."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.runs import MACHINE, NOON, make_run
from doubles.trials import trial, trials_of
from httpdyno.model import Outcome, Trial

VERSION_1 = Path(__file__).parents[2] / "golden" / "run-of-version-1"
BEFORE = [100.0, 102, 99, 101, 100]
AFTER = [90.0, 91, 89, 92, 90]


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two runs: go became slower, rust did not."""
    keep(tmp_path, "before", trials_of("go", BEFORE, version="1.25") + trials_of("rust", BEFORE))
    keep(tmp_path, "after", trials_of("go", AFTER, version="1.26") + trials_of("rust", BEFORE), hours=1)
    return tmp_path / "runs"


def keep(folder: Path, name: str, trials: Sequence[Trial], hours: int = 0, kernel: str = "6.1") -> None:
    started_at = NOON + timedelta(hours=hours)
    make_run(folder / "runs", trials, name=name, started_at=started_at, machine=replace(MACHINE, kernel=kernel))


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("names", [("before", "after"), ("previous", "latest"), ("runs/before", "./runs/after")])
def test_two_runs_are_compared_subject_by_subject(httpdyno: Command, names: tuple[str, str]) -> None:
    ended = httpdyno("compare", *names, "--format", "json")
    assert (ended.code, ended.err) == (0, "")
    versions = ("subject", "metric", "version_a", "version_b", "verdict")
    assert [tuple(row[name] for name in versions) for row in ended.rows] == [
        (*row, *rest)
        for metric in ("right_per_core_s", "right_per_s")
        for row, rest in (
            (("go", metric), ("1.25", "1.26", "slower")),
            (("rust", metric), ("1", "1", "no difference shown")),
        )
    ]
    assert ended.rows[0]["change_percent"] == pytest.approx(-10, abs=0.1)
    assert ended.rows[0]["difference"] == "worse"


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize("name", ["table", "plain"])
def test_people_see_change_interval_and_verdict(httpdyno: Command, name: str) -> None:
    out = httpdyno("compare", "before", "after", "--format", name).out
    assert "-10.0 % (-11.5 % to -8.4 %)" in out
    assert "slower" in out
    assert "no difference shown" in out
    assert "A: before, 2026-11-21 12:00 UTC" in out
    assert "change_percent" not in out


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(("name", "mark"), [("table", ""), ("plain", ""), ("markdown", "**")])
def test_the_first_line_is_the_verdict(httpdyno: Command, name: str, mark: str) -> None:
    gate = ("--fail-if", "right_per_s < -5%", "--format", name)
    first = httpdyno("compare", "after", "--baseline", "rust", *gate).out.replace("\n  ", " ").splitlines()[0]
    said = "go is slower than rust: right_per_s -10.0 % (95 %: -10.8 to -9.1 %), beyond 'right_per_s < -5%'"
    assert first.replace("\\", "") == f"{mark}{said}{mark}"
    first = httpdyno("compare", "before", "--baseline", "rust", *gate).out.replace("\n  ", " ").splitlines()[0]
    said = (
        "no difference shown between go and rust: right_per_s +0.0 % (95 %: +0.0 to +0.0 %);"
        " no threshold is broken ('right_per_s < -5%')"
    )
    assert first.replace("\\", "") == f"{mark}{said}{mark}"


@pytest.mark.usefixtures("runs")
def test_the_latest_run_is_compared_when_none_is_named(httpdyno: Command) -> None:
    ended = httpdyno("compare", "--baseline", "rust", "--metric", "right_per_s")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.startswith("go is slower than rust: right_per_s -10.0 % (95 %: -10.8 to -9.1 %)\n")
    assert "run: after, 2026-11-21 13:00 UTC; its trials are paired by block" in ended.out


def test_no_run_to_compare_is_one_line(httpdyno: Command) -> None:
    ended = httpdyno("compare")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == "httpdyno: latest: runs holds no run; make one with: httpdyno bench\n"


def test_value_over_baseline_is_the_change(httpdyno: Command, tmp_path: Path) -> None:
    # Medians of either would say -4 %, the blocks of both +9.5 %.
    steady, unsteady = [100.0, 100, 100, 102, 50], [96.0, 96, 150, 112, 60]
    keep(tmp_path, "one", trials_of("a", steady) + trials_of("b", [*unsteady, 7.0]))
    for arguments in (["one", "--baseline", "a"], ["one"]):
        (row,) = httpdyno("compare", *arguments, "--metric", "right_per_s", "--format", "json").rows
        quotient = row["value"] / row["baseline_value"]
        assert 100 * (quotient - 1) == pytest.approx(row["change_percent"], abs=0.001)
    keep(tmp_path, "two", trials_of("a", unsteady), hours=1)
    ended = httpdyno("compare", "one", "two", "--metric", "right_per_s", "--format", "json")
    (row,) = [one for one in ended.rows if one["subject"] == "a"]
    assert 100 * (row["value_b"] / row["value_a"] - 1) == pytest.approx(row["change_percent"], abs=0.001)


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("changes", "code", "said"),
    [
        (
            ["right_per_s < -5%"],
            1,
            "go in B is slower than in A: right_per_s -10.0 % (95 %: -11.5 to -8.4 %), beyond 'right_per_s < -5%'",
        ),
        (["right_per_s<-8%", "right_per_s > 50%"], 1, "beyond 'right_per_s < -8%'"),
        # The estimate is beyond it, the interval is not.
        (["right_per_s < -9.9%"], 0, ""),
        (["right_per_s < -20%"], 0, ""),
        (["right_per_s > +5%"], 0, ""),
    ],
)
def test_a_threshold_decides_the_exit_code(httpdyno: Command, changes: list[str], code: int, said: str) -> None:
    options = [part for change in changes for part in ("--fail-if", change)]
    ended = httpdyno("compare", "before", "after", *options, "--format", "json")
    assert ended.code == code
    assert said in ended.err
    assert bool(ended.err) is bool(said)
    # The table is printed nevertheless.
    assert len(ended.rows) == 2


@pytest.mark.usefixtures("runs")
def test_the_metric_of_a_threshold_is_added_to_the_named_metrics(httpdyno: Command) -> None:
    ended = httpdyno(
        "compare", "before", "after", "--metric", "time", "--metric", "right_per_s", "--fail-if", "time > 3%",
        "--fail-if", "right_per_s < -50%", "--format", "json",
    )  # fmt: skip
    assert [(row["subject"], row["metric"]) for row in ended.rows] == [
        ("go", "time"),
        ("rust", "time"),
        ("go", "right_per_s"),
        ("rust", "right_per_s"),
    ]
    # The doubles have no times: the output must not suggest that the threshold was checked.
    assert ended.code == 3
    assert ended.err.splitlines() == [
        "httpdyno: go: time not judged, 0 trials of 3 or more",
        "httpdyno: rust: time not judged, 0 trials of 3 or more",
        "httpdyno: --fail-if 'time > +3%': no comparison can be judged by it; see the verdicts",
    ]


def test_a_gate_that_nothing_could_be_held_against_does_not_open(httpdyno: Command, tmp_path: Path) -> None:
    keep(tmp_path, "before", trials_of("go", BEFORE))
    crashed = [trial("go", block, outcome=Outcome.CRASHED, validity=None, summary=None) for block in range(5)]
    keep(tmp_path, "after", crashed, hours=1)
    ended = httpdyno("compare", "before", "after", "--fail-if", "right_per_s < -5%", "--format", "json")
    assert ended.code == 3
    assert [row["verdict"] for row in ended.rows] == ["not judged, B: crashed"]
    ended = httpdyno("compare", "before", "after")
    assert (ended.code, ended.err) == (0, "")


def test_a_gate_names_the_subjects_that_it_cannot_judge(httpdyno: Command, tmp_path: Path) -> None:
    keep(tmp_path, "before", trials_of("go", BEFORE) + trials_of("gone", BEFORE) + trials_of("rust", BEFORE))
    spoiled = [*trials_of("go", AFTER[:4]), trial("go", 4, outcome=Outcome.CRASHED, validity=None)]
    keep(tmp_path, "after", spoiled + trials_of("rust", BEFORE), hours=1)
    ended = httpdyno("compare", "before", "after", "--fail-if", "right_per_s < -5%")
    assert ended.code == 0
    assert ended.err.splitlines() == [
        "httpdyno: go: right_per_s not judged, B: crashed",
        "httpdyno: gone: right_per_s only in A",
    ]


def test_runs_of_two_machines_are_refused_and_compared_anyway(httpdyno: Command, tmp_path: Path) -> None:
    keep(tmp_path, "here", trials_of("go", BEFORE))
    keep(tmp_path, "there", trials_of("go", AFTER), kernel="6.12")
    ended = httpdyno("compare", "here", "there")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "httpdyno: runs A and B are not comparable: kernel: 6.1 in A, 6.12 in B; compare them anyway with --anyway\n"
    )
    ended = httpdyno("compare", "here", "there", "--anyway")
    assert ended.code == 0
    assert (
        "A and B differ in more than the subjects, which may explain a change: kernel: 6.1 in A, 6.12 in B" in ended.out
    )
    assert httpdyno("compare", "here", "there", "--anyway", "--fail-if", "right_per_s < -5%").code == 1


@pytest.mark.usefixtures("runs")
def test_the_subjects_of_one_run_are_compared(httpdyno: Command) -> None:
    ended = httpdyno("compare", "after", "--format", "json")
    assert [(row["metric"], row["subject"], row["baseline"], row["verdict"]) for row in ended.rows] == [
        ("right_per_core_s", "rust", "go", "faster"),
        ("right_per_s", "rust", "go", "faster"),
    ]
    gate = ("compare", "after", "--baseline", "rust", "--fail-if", "right_per_s < -5%", "--format", "json")
    ended = httpdyno(*gate)
    assert ended.code == 1
    assert [(row["subject"], row["baseline"], row["verdict"]) for row in ended.rows] == [("go", "rust", "slower")]
    assert ended.err.startswith("httpdyno: go is slower than rust: right_per_s -")
    assert httpdyno(*gate[:3], "go", *gate[4:]).code == 0


def test_a_run_of_version_1_can_be_compared(httpdyno: Command, tmp_path: Path) -> None:
    shutil.copytree(VERSION_1, tmp_path / "again")
    ended = httpdyno("compare", str(VERSION_1), "again", "--format", "json")
    assert ended.code == 0
    assert len(ended.rows) == 2 * 3
    assert all(row["verdict"].startswith("not judged, ") for row in ended.rows)
    assert httpdyno("compare", str(VERSION_1)).code == 0


@pytest.mark.usefixtures("runs")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["before", "absent"],
            "'absent': there is no such run, neither at that path nor below runs; choose from: after, before",
        ),
        (["before", "before"], "are one run; compare one run with httpdyno compare before"),
        (["before", "after", "--metric", "speed"], "no metric 'speed'; "),
        (
            ["before", "after", "--metric", "wire_bytes"],
            "wire_bytes has no direction; choose from: ",
        ),
        (
            ["before", "after", "--fail-if", "slower"],
            "threshold 'slower' is not valid; write it like 'right_per_s",
        ),
        (["before", "after", "--fail-if", "speed < -5%"], "no metric 'speed'; "),
        (["before", "after", "--fail-if", "p99 < -100%"], "threshold 'p99_ms < -100%' always passes"),
        (
            ["before", "after", "--baseline", "go"],
            "--baseline conflicts with a second run: of two runs the first is the baseline",
        ),
        (
            ["before", "--fail-if", "p99 > 1%"],
            "--fail-if inside one run needs --baseline, one of its subjects: go, rust",
        ),
        (["before", "--baseline", "node"], "there is no subject 'node' in this run; it has: go, rust"),
        (["before", "after", "--format", "xml"], "--format: 'xml' is unknown; choose from: "),
    ],
)
def test_mistakes_are_one_line_and_exit_2(httpdyno: Command, arguments: list[str], said: str) -> None:
    ended = httpdyno("compare", *arguments)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"record_version": 3},
            "written by a newer httpdyno (records of version 3; this httpdyno reads up to 2); update",
        ),
        ({"record_version": None}, "manifest.json has no record_version; this is not a run of httpdyno"),
        ({"experiment": "dance"}, "experiment 'dance' is unknown to this version of httpdyno; known: bench"),
        ({"machine": 7}, "manifest.json is damaged at machine"),
    ],
)
def test_what_is_no_run_that_can_be_read_is_refused(
    httpdyno: Command, runs: Path, changes: dict[str, object], said: str
) -> None:
    manifest = json.loads((runs / "before" / "manifest.json").read_text(encoding="utf-8"))
    (runs / "before" / "manifest.json").write_text(json.dumps(manifest | changes), encoding="utf-8")
    for arguments in (["before", "after"], ["after", "before"], ["before"]):
        ended = httpdyno("compare", *arguments)
        assert (ended.code, ended.out, len(ended.err.splitlines())) == (2, "", 1)
        if "experiment" in changes and arguments == ["after", "before"]:
            assert "A is a run of bench, B one of dance" in ended.err
        else:
            assert said in ended.err


def test_a_run_without_its_trials_is_refused(httpdyno: Command, runs: Path) -> None:
    (runs / "before" / "trials.parquet").write_bytes(b"PAR1")
    ended = httpdyno("compare", "before", "after")
    assert (ended.code, len(ended.err.splitlines())) == (2, 1)
    assert "runs/before: the run is damaged" in ended.err
