"""`runs`: the list of runs."""

from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.runs import NOON, make_run
from doubles.trials import trial
from httpdyno.errors import UnreadableRun
from httpdyno.store import open_run


@pytest.mark.parametrize("option", ["--runs", "--out"])
def test_where_no_runs_are_that_is_said(httpdyno: Command, option: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for asked, folder in (([option, "empty"], "empty"), ([], "runs")):
        ended = httpdyno("runs", *asked)
        said = f"httpdyno: {folder}: no runs in this folder; make one with: httpdyno bench\n"
        assert (ended.code, ended.err) == (0, said)
    (tmp_path / "runs").touch()
    ended = httpdyno("runs")
    assert (ended.code, ended.err) == (2, "httpdyno: runs is not a folder; name the folder that holds the runs\n")


@pytest.mark.parametrize("option", ["--runs", "--out"])
@pytest.mark.parametrize(
    "verb", [["runs"], ["query", "select 1"], ["report", "latest"], ["compare", "latest"], ["published", "crawl"]]
)
def test_a_folder_that_is_named_must_be_one(httpdyno: Command, verb: list[str], option: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name, what in (("nowhere", "does not exist"), ("file", "is not a folder")):
        ended = httpdyno(*verb, option, name)
        said = f"httpdyno: --runs {name}: {what}; name the folder that holds the runs\n"
        assert (ended.code, ended.out, ended.err) == (2, "", said)


def test_runs_are_listed_the_newest_first(httpdyno: Command, given: list[str], tmp_path: Path) -> None:
    assert httpdyno("runs", "--format", "json").rows == []
    httpdyno("bench", *given, "--limit", "4", "--quick")
    httpdyno("bench", *given, "--limit", "4", "--repeat", "2")
    (tmp_path / "runs" / "foreign").mkdir()
    # Whatever its current name is.
    first = min(path for path in (tmp_path / "runs").iterdir() if path.name.endswith("-bench"))
    first.rename(first.with_name("zero"))
    ended = httpdyno("runs", "--format", "json")
    assert [(row["state"], row["trials"], row["planned"]) for row in ended.rows] == [
        ("complete", 2, 2),
        ("complete", 1, 1),
    ]
    assert "left out: runs/foreign is not a run of httpdyno" in httpdyno("runs").err
    with pytest.raises(UnreadableRun):
        open_run(tmp_path / "runs" / "foreign")


def test_old_runs_are_pruned_and_a_pinned_one_stays(httpdyno: Command, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    for day, name in enumerate(("oldest", "pinned", "newer", "newest"), start=1):
        make_run(folder, [trial("client", 0)], name=name, started_at=NOON.replace(day=day))
    assert httpdyno("runs", "pin", "pinned").code == 0
    shown = httpdyno("runs", "--format", "json").rows
    assert [(row["run"], row["pinned"]) for row in shown] == [
        ("newest", None),
        ("newer", None),
        ("pinned", True),
        ("oldest", None),
    ]
    planned = httpdyno("runs", "prune", "--keep", "1", "--dry-run")
    assert (planned.code, planned.err) == (0, "")
    assert ["newer" in planned.out, "oldest" in planned.out, "pinned" in planned.out] == [True, True, False]
    unasked = httpdyno("runs", "prune", "--keep", "1")
    assert (unasked.code, "no terminal to ask at; give --yes" in unasked.err) == (2, True)
    assert len(list(folder.iterdir())) == 4
    assert httpdyno("runs", "prune", "--keep", "1", "--yes").code == 0
    assert {path.name for path in folder.iterdir()} == {"newest", "pinned"}
    assert "no run is beyond a limit" in httpdyno("runs", "prune", "--keep", "1", "--yes").err
    assert httpdyno("runs", "pin", "pinned", "--remove").code == 0
    assert httpdyno("runs", "prune", "--size", "1", "--yes").code == 0
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["prune"], "runs prune requires a limit: --keep 20, --older 30d or --size 2GB"),
        (["prune", "--older", "soon"], "--older: 'soon'"),
        (["prune", "--size", "much"], "--size: 'much'"),
        (["prune", "--keep", "-1"], "--keep"),
        (["pin", "never"], "'never': there is no such run"),
        (["--format", "json", "prune", "--keep", "1"], "write it behind: httpdyno runs prune"),
    ],
)
def test_what_cannot_be_pruned_or_pinned_is_said(httpdyno: Command, arguments: list[str], said: str) -> None:
    ended = httpdyno("runs", *arguments)
    assert (ended.code, said in ended.err) == (2, True), ended.err
