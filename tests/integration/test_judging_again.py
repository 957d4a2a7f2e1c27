"""Runs keep the files of their trials, and are judged again from them."""

import gzip
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.command_line import Command
from doubles.in_process import in_process
from httpdyno.model import Validity
from httpdyno.store import open_run

BENCH = (
    "bench",
    "native",
    "--web",
    "plain",
    "--limit",
    "40",
    "--concurrency",
    "4",
    "--repeat",
    "2",
    "--timeout",
    "60s",
)


@pytest.fixture
def here(
    environment: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Command:
    """Run `httpdyno` in this process."""
    return in_process(environment, tmp_path, monkeypatch, capfd)


def alter(archive: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """Change one file of a trial's artifacts."""
    with zipfile.ZipFile(archive) as kept:
        contents = {member: kept.read(member) for member in kept.namelist()}
    contents[name] = change(contents[name])
    with zipfile.ZipFile(archive, "w") as kept:
        for member, content in contents.items():
            kept.writestr(member, content)


def test_one_altered_row_changes_one_verdict(here: Command, tmp_path: Path) -> None:
    assert here(*BENCH).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    unchanged = here("judge", "--format", "json")
    assert (unchanged.code, json.loads(unchanged.out)) == (0, [])
    assert unchanged.err.splitlines()[-1] == "httpdyno: 3 trials judged again: none changed"

    def say_another_status(printed: bytes) -> bytes:
        return printed.replace(b",200,", b",404,", 1)

    alter(folder / "trials" / "000001.zip", "stdout", say_another_status)
    changed = here("judge", "--format", "json")
    assert changed.code == 0
    verdicts = [row for row in json.loads(changed.out) if row["column"] == "verdict"]
    assert [(row["trial"], row["before"], row["after"], row["samples"]) for row in verdicts] == [
        (1, "right", "wrong_status", 1)
    ]
    records = {row["column"]: (row["before"], row["after"]) for row in json.loads(changed.out)}
    assert records["right"] == ("40", "39")
    assert records["wrong_status"] == ("0", "1")
    assert changed.err.splitlines()[-1] == "httpdyno: 3 trials judged again: 1 changed"
    assert open_run(folder).records()[1].tally == open_run(folder).records()[0].tally

    written = here("judge", "--write")
    assert written.err.splitlines()[-1].endswith("1 changed; the run now has the new records")
    first, second = open_run(folder).records()
    assert first.tally is not None
    assert second.tally is not None
    assert (first.tally.wrong, second.tally.wrong, second.validity) == (0, 1, Validity.INCORRECT)
    assert open_run(folder).samples().collect().height == 80
    assert here("judge").err.splitlines()[-1] == "httpdyno: 3 trials judged again: none changed"


def test_another_truth_is_another_verdict(here: Command, tmp_path: Path) -> None:
    assert here(*BENCH).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    (truth,) = (folder / "trials").glob("truth-*.gz")
    first, second, *rest = gzip.decompress(truth.read_bytes()).splitlines(keepends=True)
    truth.write_bytes(gzip.compress(b"".join([first, second.replace(b",status,200,", b",status,201,"), *rest])))
    changed = json.loads(here("judge", "--format", "json").out)
    assert [(row["trial"], row["after"], row["samples"]) for row in changed if row["column"] == "verdict"] == [
        (0, "wrong_status", 1),
        (1, "wrong_status", 1),
    ]


def test_a_run_without_artifacts_is_not_judged_again(here: Command, tmp_path: Path) -> None:
    assert here(*BENCH, "--artifacts", "failed").code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    trials = open_run(folder).records()
    kept = {f"{one.trial:06}.zip" for one in trials if one.validity is not Validity.VALID}
    assert {path.name for path in (folder / "trials").glob("0*.zip")} == kept
    pruned = here("runs", "prune", "--keep", "0", "--artifacts", "--yes")
    assert pruned.code == 0, pruned.err
    assert not (folder / "trials").exists()
    assert open_run(folder).records() == trials
    refused = here("judge")
    assert (refused.code, refused.err.splitlines()[-1]) == (
        3,
        f"httpdyno: {Path('runs', folder.name)} has no artifacts to judge again: measure with --artifacts all,"
        " which keeps them",
    )
    assert here(*BENCH, "--artifacts", "some").code == 2


def test_damaged_artifacts_are_named(here: Command, tmp_path: Path) -> None:
    assert here(*BENCH).code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    archive = folder / "trials" / "000000.zip"
    archive.write_bytes(archive.read_bytes()[:-100])
    damaged = here("judge")
    assert damaged.code == 2
    assert "000000.zip: the artifacts are damaged" in damaged.err.splitlines()[-1]
