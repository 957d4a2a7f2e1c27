"""Every verb that takes a RUN finds it by the same names, and refuses other names in one line with exit code 2."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from doubles.command_line import Command

VERSION_1 = Path(__file__).parents[2] / "golden" / "run-of-version-1"
VERBS = {
    "compare": ["compare", "{run}"],
    "compare, as the second": ["compare", str(VERSION_1), "{run}", "--anyway"],
    "query": ["query", "select * from samples", "--run", "{run}"],
    "report": ["report", "{run}", "--format", "plain"],
    "plan": ["plan", "1/s", "--from", "{run}"],
    "published": ["published", "crawl", "--compare", "{run}"],
    "resume": ["bench", "--resume", "{run}"],
}
READING = [verb for verb in VERBS if verb != "resume"]


def without_manifest(folder: Path) -> None:
    (folder / "manifest.json").unlink()


def without_trials(folder: Path) -> None:
    (folder / "trials.parquet").unlink()


def with_manifest(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        values = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        (folder / "manifest.json").write_text(json.dumps(values | changes), encoding="utf-8")

    return change


def with_text(text: str) -> Callable[[Path], None]:
    return lambda folder: (folder / "manifest.json").write_text(text, encoding="utf-8") and None


DAMAGES = {
    "foreign": (without_manifest, "runs/spoilt is not a run of httpdyno: it has no manifest.json"),
    "torn": (
        with_text('{"experiment": "ben'),
        "runs/spoilt: manifest.json is damaged; measure again, or remove the folder",
    ),
    "no manifest": (with_text('{"name": "left-pad"}'), "has no record_version; this is not a run of httpdyno"),
    "newer": (
        with_manifest(record_version=99),
        "written by a newer httpdyno (records of version 99; this httpdyno reads",
    ),
    "wrong": (with_manifest(trials_planned="many"), "manifest.json is damaged at trials_planned"),
}
CURE = "; measure again, or remove the folder\n"


@pytest.fixture
def spoilt(tmp_path: Path) -> Path:
    """A run of version 1 below ``runs``, to be spoilt."""
    shutil.copytree(VERSION_1, tmp_path / "runs" / "spoilt")
    return tmp_path / "runs" / "spoilt"


def ask(httpdyno: Command, verb: str, run: str) -> tuple[int, str, str]:
    ended = httpdyno(*(argument.format(run=run) for argument in VERBS[verb]))
    return ended.code, ended.out, ended.err


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_no_run_that_can_be_read_is_one_line(httpdyno: Command, spoilt: Path, verb: str, damage: str) -> None:
    spoil, said = DAMAGES[damage]
    spoil(spoilt)
    code, out, err = ask(httpdyno, verb, "spoilt")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert said in err
    assert err.endswith(CURE) or "damaged" not in said


def test_where_the_latest_run_is_damaged_others_are_pointed_at(httpdyno: Command, spoilt: Path) -> None:
    spoil, said = DAMAGES["torn"]
    spoil(spoilt)
    ended = httpdyno("report", "latest")
    assert ended.err == f"httpdyno: {said}; name another, see: httpdyno runs\n"


@pytest.mark.parametrize("verb", READING)
def test_a_run_without_its_trials_is_one_line(httpdyno: Command, spoilt: Path, verb: str) -> None:
    without_trials(spoilt)
    code, out, err = ask(httpdyno, verb, "spoilt")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert "runs/spoilt: the run is damaged" in err
    assert err.endswith(CURE)


@pytest.mark.parametrize("verb", VERBS)
def test_a_name_of_no_run_is_one_line_with_those_that_there_are(httpdyno: Command, spoilt: Path, verb: str) -> None:
    code, out, err = ask(httpdyno, verb, "splot")
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert f"'splot': there is no such run, neither at that path nor below runs; choose from: {spoilt.name}" in err


# A run of version 1 has no CPU time of an answer, so no plan is possible.
@pytest.mark.parametrize("verb", [verb for verb in READING if verb != "plan"])
@pytest.mark.parametrize("name", ["latest", "spoilt", "runs/spoilt", "./runs/spoilt/"])
def test_a_run_of_version_1_is_found_by_each_of_its_names(
    httpdyno: Command, spoilt: Path, verb: str, name: str
) -> None:
    assert spoilt.is_dir()
    code, out, err = ask(httpdyno, verb, name)
    assert code == 0, err
    assert out
