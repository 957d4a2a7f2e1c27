"""Runs of the real engine, read back: compared, queried, loaded."""

from pathlib import Path

import httpdyno as package
from conftest import MakeSubject
from doubles.asking_client import ASKS
from doubles.command_line import Command


def test_runs_are_compared_queried_and_loaded(
    httpdyno: Command, make_subject: MakeSubject, subject_folders: Path, tmp_path: Path
) -> None:
    make_subject("asks", ASKS)
    for seed in ("1", "1", "7"):
        given = ("--subjects", str(subject_folders), "--web", "plain", "--limit", "5", "--timeout", "60")
        assert httpdyno("bench", "asks", *given, "--repeat", "1", "--seed", seed).code == 0
    first, second, third = sorted(path.name for path in (tmp_path / "runs").iterdir())

    alike = httpdyno("compare", first, second, "--format", "json")
    assert alike.code == 0, alike.err
    assert {row["metric"]: row["subject"] for row in alike.rows} == {"right_per_core_s": "asks", "right_per_s": "asks"}
    assert all(row["verdict"].startswith("not judged, ") for row in alike.rows)

    other = httpdyno("compare", first, third)
    assert (other.code, other.out) == (2, "")
    assert "runs A and B are not comparable: seed of the web plain: 1 in A, 7 in B" in other.err

    counted = httpdyno("query", "select run, count(*) as n from samples group by run order by run", "--format", "json")
    assert counted.rows == [{"run": name, "n": 5} for name in (first, second, third)]

    run = package.load_run("latest", runs=tmp_path / "runs")
    assert run.folder.name == third
    assert run.table()["totalUrls"].to_list() == [5]
    assert len(run.samples.collect()) == 5
