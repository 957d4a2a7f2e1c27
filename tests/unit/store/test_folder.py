"""Finding a run by its typed name."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from httpdyno.errors import UnknownName, UnreadableRun, UsageError
from httpdyno.store import find_run, run_folders

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def make_run(runs: Path, name: str, started_at: datetime) -> Path:
    folder = runs / name
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_text(json.dumps({"started_at": started_at.isoformat()}), encoding="utf-8")
    return folder


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs, one renamed, and two other entries."""
    monkeypatch.chdir(tmp_path)
    runs = Path("runs")
    make_run(runs, "20261121T120000Z-bench", NOON)
    make_run(runs, "a-name-of-my-own", NOON + timedelta(hours=2))
    make_run(runs, "20261121T130000Z-bench", NOON + timedelta(hours=1))
    (runs / "notes").mkdir()
    (runs / "list.txt").write_text("text", encoding="utf-8")
    return runs


def test_the_run_that_was_started_last_comes_first_whatever_it_is_called(runs: Path) -> None:
    assert [folder.name for folder in run_folders(runs)] == [
        "a-name-of-my-own",
        "20261121T130000Z-bench",
        "20261121T120000Z-bench",
    ]


def test_runs_of_one_second_are_ordered_by_the_fraction(tmp_path: Path) -> None:
    make_run(tmp_path, "20261121T120000Z-bench-2", NOON + timedelta(milliseconds=1))
    make_run(tmp_path, "20261121T120000Z-bench", NOON)
    make_run(tmp_path, "20261121T120000Z-bench-10", NOON + timedelta(milliseconds=9))
    assert [folder.name[16:] for folder in run_folders(tmp_path)] == ["-bench-10", "-bench-2", "-bench"]


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("latest", "runs/a-name-of-my-own"),
        ("previous", "runs/20261121T130000Z-bench"),
        ("20261121T120000Z-bench", "runs/20261121T120000Z-bench"),
        ("runs/20261121T120000Z-bench", "runs/20261121T120000Z-bench"),
        ("./runs/a-name-of-my-own/", "runs/a-name-of-my-own"),
        # Its readability is checked when it is opened.
        ("notes", "runs/notes"),
    ],
)
def test_a_run_has_several_names(runs: Path, name: str, path: str) -> None:
    assert find_run(name, runs) == Path(path)


def test_a_folder_here_goes_before_one_below_runs(runs: Path) -> None:
    Path("a-name-of-my-own").mkdir()
    assert find_run("a-name-of-my-own", runs) == Path("a-name-of-my-own")
    Path("latest").mkdir()
    assert find_run("latest", runs) == Path("runs/a-name-of-my-own")
    assert find_run("./latest", runs) == Path("latest")


def test_a_latest_run_that_is_damaged_is_still_the_latest(runs: Path) -> None:
    for name, text in (("20261121T235959Z-bench", "{"), ("20261121T235958Z-bench", '{"started_at": 7}')):
        (runs / name).mkdir()
        (runs / name / "manifest.json").write_text(text, encoding="utf-8")
    assert find_run("latest", runs).name == "20261121T235959Z-bench"
    assert find_run("previous", runs).name == "20261121T235958Z-bench"


def test_a_damaged_run_without_a_time_is_the_oldest(runs: Path) -> None:
    (runs / "zzz").mkdir()
    (runs / "zzz" / "manifest.json").write_text("[]", encoding="utf-8")
    assert run_folders(runs)[-1].name == "zzz"


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        (
            "absent",
            UnknownName,
            "'absent': there is no such run, neither at that path nor below runs; choose from: a-name-of-",
        ),
        ("", UnknownName, "'': there is no such run"),
        ("list.txt", UnreadableRun, "runs/list.txt is not a run of httpdyno: a run is a folder"),
    ],
)
def test_what_is_no_run_is_refused(runs: Path, name: str, kind: type[UsageError], said: str) -> None:
    with pytest.raises(kind) as error:
        find_run(name, runs)
    assert said in error.value.line


def test_only_the_newest_are_named(runs: Path) -> None:
    for number in range(7):
        make_run(runs, f"run-{number}", NOON + timedelta(days=1 + number))
    with pytest.raises(UnknownName) as error:
        find_run("absent", runs)
    assert error.value.line.endswith("choose from: run-6, run-5, run-4, run-3, run-2 and 5 more (httpdyno runs)")


@pytest.mark.parametrize(("name", "held"), [("latest", "no run"), ("previous", "no run")])
def test_where_there_are_no_runs_there_is_no_latest(tmp_path: Path, name: str, held: str) -> None:
    absent = tmp_path / "absent"
    with pytest.raises(UnknownName) as error:
        find_run(name, absent)
    assert error.value.line == f"{name}: {absent} holds {held}; make one with: httpdyno bench"


def test_one_run_has_no_previous(tmp_path: Path) -> None:
    make_run(tmp_path, "only", NOON)
    with pytest.raises(UnknownName, match="holds only one run"):
        find_run("previous", tmp_path)
