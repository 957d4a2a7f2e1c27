"""Which subjects are found, and what is said about those that are not."""

import shutil
from pathlib import Path

import pytest

from conftest import MakeSubject
from httpdyno.errors import InvalidSubject, UnknownName
from httpdyno.model import SubjectKind
from httpdyno.subjects.catalogue import builtin_folder, read_catalogue


def test_the_four_clients_are_built_in() -> None:
    catalogue = read_catalogue()
    clients = {subject.id for subject in catalogue.of_kind(SubjectKind.CLIENT)}
    assert {"rust-reqwest", "go-net-http", "node-fetch", "python-aiohttp"} <= clients
    assert catalogue.invalid == {}
    assert builtin_folder().is_dir()


def test_whoever_checks_json_says_what_it_is_parsed_with() -> None:
    for client in read_catalogue().of_kind(SubjectKind.CLIENT):
        assert bool(client.json_parser) == ("json" in client.capabilities.check), client.id


def test_further_folders_are_added(make_subject: MakeSubject, subject_folders: Path) -> None:
    one, two = make_subject("one"), make_subject("two")
    for extra in ([subject_folders], [one, two], [subject_folders.parent]):
        assert {"one", "two", "go-net-http"} <= set(read_catalogue(extra).subjects)


def test_what_lies_in_the_folder_of_a_subject_is_none(make_subject: MakeSubject) -> None:
    folder = make_subject("mine")
    shutil.copytree(folder, folder / "library" / "mine")
    assert read_catalogue([folder]).select(["mine"])[0].folder == folder


def test_a_folder_without_subjects_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(InvalidSubject, match=r"there is no subject\.toml in it"):
        read_catalogue([tmp_path])


def test_two_subjects_of_one_id_are_a_mistake_that_stops_no_other(
    make_subject: MakeSubject, subject_folders: Path
) -> None:
    make_subject("go-net-http")
    make_subject("other")
    catalogue = read_catalogue([subject_folders])
    assert {"other", "node-fetch"} <= {subject.id for subject in catalogue.select(["other", "node-fetch"])}
    assert "go-net-http" not in catalogue.subjects
    with pytest.raises(InvalidSubject, match="two subjects are called 'go-net-http': .* and .*; rename"):
        catalogue.select(["go-net-http"])


def test_who_is_measured_without_a_word(make_subject: MakeSubject, subject_folders: Path) -> None:
    make_subject("mine")
    headline = ["go-net-http", "rust-reqwest", "not-there"]
    chosen = read_catalogue([subject_folders]).usual(headline)
    assert [subject.id for subject in chosen] == ["go-net-http", "mine", "rust-reqwest"]
    every = read_catalogue().usual([])
    assert every == read_catalogue().of_kind(SubjectKind.CLIENT)


def test_a_tool_is_no_client(subject_folders: Path) -> None:
    folder = subject_folders / "hammer"
    folder.mkdir()
    (folder / "subject.toml").write_text(
        'kind = "server"\nlanguage = "C"\nmethod = "hammer"\n[run]\nargv = ["hammer"]\n', encoding="utf-8"
    )
    catalogue = read_catalogue([subject_folders])
    with pytest.raises(UnknownName, match="hammer is a server; this takes a client"):
        catalogue.select_of_kind(["hammer"], SubjectKind.CLIENT)
    with pytest.raises(UnknownName, match="this takes a client, see: httpdyno subjects probe$"):
        catalogue.select_of_kind(["hammer"], SubjectKind.CLIENT, instead={SubjectKind.SERVER: "subjects probe"})


def test_claims_are_those_of_clients_and_servers() -> None:
    catalogue = read_catalogue()
    assert {subject.kind for subject in catalogue.claimants(())} == {SubjectKind.CLIENT, SubjectKind.SERVER}
    named = ["flask-dev", "go-net-http"]
    assert [subject.id for subject in catalogue.claimants(named)] == named
    with pytest.raises(UnknownName, match="ab is a tool; this takes a client or a server"):
        catalogue.claimants(["flask-dev", "ab"])


def test_the_same_folder_twice_is_none(make_subject: MakeSubject, subject_folders: Path) -> None:
    make_subject("one")
    assert "one" in read_catalogue([subject_folders, subject_folders]).subjects


def test_one_mistake_does_not_stop_the_others(make_subject: MakeSubject, subject_folders: Path) -> None:
    make_subject("good")
    make_subject("bad", more="[rnu]")
    catalogue = read_catalogue([subject_folders])
    assert "good" in catalogue.subjects
    assert "bad" not in catalogue.subjects
    with pytest.raises(InvalidSubject, match="unknown key 'rnu'; did you mean 'run'"):
        catalogue.select(["good", "bad"])


def test_names_are_selected_in_order_and_once() -> None:
    chosen = read_catalogue().select(["rust-reqwest", "go-net-http", "rust-reqwest"])
    assert [subject.id for subject in chosen] == ["rust-reqwest", "go-net-http"]


def test_an_unknown_name_names_the_nearest() -> None:
    with pytest.raises(UnknownName, match="did you mean 'go-net-http'"):
        read_catalogue().select(["go-nethttp"])
    with pytest.raises(UnknownName, match=r"there are [0-9]+ subjects, see: httpdyno subjects list"):
        read_catalogue().select(["zzz"])
    with pytest.raises(UnknownName, match=r"'zzz': there is no such server; there are [0-9]+ servers, see: "):
        read_catalogue().select(["zzz"], SubjectKind.SERVER)
    # What does not fit is not offered, however near it is.
    with pytest.raises(UnknownName, match=r"'go-net-htp': there is no such tool; there are [0-9]+ tools, see: "):
        read_catalogue().select(["go-net-htp"], SubjectKind.TOOL)
    assert read_catalogue().select(["go-net-http"], SubjectKind.TOOL)[0].kind is SubjectKind.CLIENT
