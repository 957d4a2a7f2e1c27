"""`bench --preset published`: its subjects, its amount, and its output."""

from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command
from httpdyno.experiments.published import compare_preset_run
from httpdyno.experiments.registry import definition_of
from httpdyno.published import published_table
from httpdyno.store import open_run

SEED_COLUMNS = (
    "language,method,concurrency,totalUrls,time,avg,max,okReqsSec,okReqsPct,avgBodyLen,2xx,3xx,4xx,5xx,Exception"
)


@pytest.fixture
def _only_two(make_subject: MakeSubject, subject_folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave two subjects in the catalogue: clients of the publication that answer at once."""
    monkeypatch.setattr("httpdyno.subjects.catalogue.builtin_folder", lambda: subject_folders)
    make_subject("go-net-http")
    make_subject("deno-fetch")


@pytest.mark.usefixtures("_only_two")
def test_a_preset_measures_the_published_clients_as_they_were(httpdyno: Command, tmp_path: Path) -> None:
    ended = httpdyno("bench", "--preset", "published", "--scale", "6/100", "--repeat", "1", "--format", "json")
    assert ended.code == 0, ended.err
    rows = {row["subject"]: row for row in ended.rows}
    assert list(rows) == list(published_table("crawl").subjects)
    measured = {name: (row["concurrency"], row["totalUrls"]) for name, row in rows.items() if row["totalUrls"]}
    assert measured == {"deno-fetch": (150, 600), "go-net-http": (125, 600)}
    (folder,) = (tmp_path / "runs").iterdir()
    run = open_run(folder)
    assert {trial.subject: trial.concurrency for trial in run.records()} == {"deno-fetch": 150, "go-net-http": 125}
    assert (run.manifest.settings["preset"], run.manifest.settings["concurrency"]) == ("published", None)


@pytest.mark.usefixtures("_only_two")
def test_a_preset_prints_the_table_of_the_seed_and_then_the_published_one(httpdyno: Command) -> None:
    ended = httpdyno("bench", "--preset", "published", "--limit", "600", "--repeat", "1", "--format", "plain")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0].split() == SEED_COLUMNS.split(",")
    assert [line.split()[:4] for line in lines[1:3]] in (
        [["Python", "go-net-http", "125", "600"], ["Python", "deno-fetch", "150", "600"]],
        [["Python", "deno-fetch", "150", "600"], ["Python", "go-net-http", "125", "600"]],
    )
    assert lines[3].split()[:6] == ["Rust", "reqwest", "-", "-", "-", "-"]
    assert "Rust reqwest: unavailable: httpdyno has no such subject" in lines
    printed = [line for line in lines if line.split()[:3] == ["language", "method", "figures"]]
    assert len(printed) == 1
    assert any(line.split()[:3] == ["Go", "net/http", "ratio"] for line in lines)


@pytest.mark.usefixtures("_only_two")
def test_subjects_that_are_named_are_measured_alone_and_a_concurrency_overrides(
    httpdyno: Command, make_subject: MakeSubject
) -> None:
    make_subject("mine")
    ended = httpdyno(
        "bench", "mine", "go-net-http", "--preset", "published", "--limit", "500", "--repeat", "1", "--format", "json"
    )
    measured = {row["subject"]: row["concurrency"] for row in ended.rows if row["totalUrls"]}
    assert measured == {"go-net-http": 125, "mine": 1}
    ended = httpdyno(
        "bench", "go-net-http", "--preset", "published", "--limit", "28", "--repeat", "1", "--concurrency", "7",
        "--format", "json",
    )  # fmt: skip
    assert {row["concurrency"] for row in ended.rows if row["totalUrls"]} == {7}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["bench", "--preset", "publisht"], "--preset: bench has no preset 'publisht'; choose from: published"),
        (["bench", "--preset", "published", "--scale", "0"], "--scale: '0' is not a share; write it like 1/10"),
        (["bench", "--preset", "published", "--scale", "2/0"], "--scale: '2/0' is not a share"),
        (["bench", "--preset", "published", "--scale", "3/2"], "--scale: '3/2' is not a share"),
        (["bench", "--scale", "1/10"], "--scale requires --preset"),
        (
            ["bench", "--preset", "published", "--scale", "1/10", "--limit", "5"],
            "httpdyno: --limit conflicts with --scale: both set the number of URLs; leave one out",
        ),
    ],
)
def test_mistakes_are_one_line_and_exit_2(httpdyno: Command, arguments: list[str], said: str) -> None:
    ended = httpdyno(*arguments)
    assert ended.code == 2
    assert said in ended.err
    assert ended.out == ""
    assert len(ended.err.splitlines()) == 1


@pytest.mark.usefixtures("_only_two")
def test_a_report_of_the_run_finds_the_published_table_again(httpdyno: Command, tmp_path: Path) -> None:
    httpdyno("bench", "go-net-http", "--preset", "published", "--quick", "--limit", "500")
    httpdyno("bench", "go-net-http", "--limit", "4", "--quick")
    with_preset, without = (open_run(folder) for folder in sorted((tmp_path / "runs").iterdir()))
    assert compare_preset_run(without, definition_of("bench")) is None
    table = compare_preset_run(with_preset, definition_of("bench"))
    assert table is not None
    assert {"measured", "published", "ratio"} == set(table.values("figures"))
    result = [note.text for note in table.notes]
    assert result[0] == "a first look (--quick): each subject ran once; differences may be chance"
    assert any(line.startswith("machine: published: EC2 c7g.medium") for line in result)
    assert any(line.startswith("web: published: the live internet") and "top-sites, seed" in line for line in result)
    assert any(line.startswith("web top-sites: fitted to these figures") for line in result)


@pytest.mark.usefixtures("_only_two")
def test_a_preset_that_was_stopped_goes_on_as_it_was(httpdyno: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_ENGINE", "refuse")
    assert httpdyno("bench", "--preset", "published", "--limit", "600", "--repeat", "1").code == 3
    monkeypatch.delenv("FAKE_ENGINE")
    ended = httpdyno("bench", "--resume", "latest", "--format", "plain")
    assert ended.code == 0, ended.err
    lines = ended.out.splitlines()
    assert lines[0].split() == SEED_COLUMNS.split(",")
    assert {tuple(line.split()[1:4]) for line in lines[1:3]} == {
        ("go-net-http", "125", "600"),
        ("deno-fetch", "150", "600"),
    }
    assert "Rust reqwest: unavailable: httpdyno has no such subject" in lines
    assert any(line.split()[:3] == ["Deno", "fetch", "ratio"] for line in lines)
