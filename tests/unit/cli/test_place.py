"""Verbs that take a SUBJECT: by its name, or by the path of its folder."""

import shutil
from pathlib import Path

import pytest

from conftest import MakeSubject
from doubles.command_line import Command

VERBS = [
    ("bench",),
    ("try",),
    ("tune",),
    ("capacity",),
    ("latency",),
    ("cost",),
    ("service",),
    ("subjects", "install"),
    ("subjects", "build"),
    ("subjects", "probe"),
    ("subjects", "check"),
]


@pytest.fixture
def elsewhere(make_subject: MakeSubject, subject_folders: Path, tmp_path: Path) -> Path:
    """A good client in a folder of the user's own, ``mine/good``."""
    make_subject("good")
    (tmp_path / "mine").mkdir()
    shutil.move(subject_folders / "good", tmp_path / "mine" / "good")
    return tmp_path / "mine"


@pytest.mark.parametrize("path", ["./mine/good", "mine/good/"])
def test_bench_and_try_take_the_path_of_a_folder(httpdyno: Command, elsewhere: Path, path: str) -> None:
    assert elsewhere.is_dir()
    ended = httpdyno("bench", path, "--limit", "4", "--repeat", "1", "--format", "json")
    assert (ended.code, [row["subject"] for row in ended.rows]) == (0, ["good"])
    ended = httpdyno("try", path, "--limit", "4", "--format", "plain")
    assert (ended.code, len(ended.out.splitlines())) == (0, 4)


def test_the_folder_in_which_one_stands_is_a_path(
    httpdyno: Command, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(elsewhere / "good")
    assert httpdyno("subjects", "build", ".").code == 0
    monkeypatch.chdir(elsewhere)
    assert httpdyno("subjects", "build", "good").code == 0


@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("./absent", "./absent: there is no such folder; a path names a folder with a subject.toml"),
        ("./empty", "./empty: there is no subject.toml in this folder; name a folder that holds one"),
        ("./file", "./file: this is a file, not a folder; name a folder that holds one"),
    ],
)
def test_a_path_without_a_subject_is_refused(
    httpdyno: Command, tmp_path: Path, verb: tuple[str, ...], path: str, said: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").touch()
    ended = httpdyno(*verb, path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert len(ended.err.splitlines()) == 1


def test_two_subjects_of_the_same_id_are_refused(httpdyno: Command, elsewhere: Path, tmp_path: Path) -> None:
    shutil.copytree(elsewhere / "good", tmp_path / "other" / "good")
    ended = httpdyno("bench", "./mine/good", "./other/good", "--limit", "4")
    assert (ended.code, ended.out) == (2, "")
    said = "two subjects have the name 'good': mine/good and other/good; rename one of the folders"
    assert said in ended.err.replace("./", "")
    shutil.copytree(elsewhere / "good", tmp_path / "mine" / "go-net-http")
    ended = httpdyno("try", "./mine/go-net-http", "--limit", "4")
    assert (ended.code, ended.out) == (2, "")
    assert "two subjects have the name 'go-net-http': " in ended.err
