"""Subject definitions and the catalogue."""

import re
import shutil
from pathlib import Path

import pytest

from conftest import MakeSubject
from httpdyno.errors import InvalidSubject, UnknownName
from httpdyno.model import Capabilities, KnownFailure, Need, SubjectKind
from httpdyno.subjects.catalogue import builtin_folder, read_catalogue, read_subject
from httpdyno.subjects.needs import why_unavailable


def test_the_four_clients_are_built_in() -> None:
    catalogue = read_catalogue()
    clients = {subject.id for subject in catalogue.of_kind(SubjectKind.CLIENT)}
    assert {"rust-reqwest", "go-net-http", "node-fetch", "python-aiohttp"} <= clients
    assert catalogue.invalid == {}
    assert builtin_folder().is_dir()


def test_every_client_that_checks_json_names_its_parser() -> None:
    for client in read_catalogue().of_kind(SubjectKind.CLIENT):
        assert bool(client.json_parser) == ("json" in client.capabilities.check), client.id


def test_further_folders_are_added(make_subject: MakeSubject, subject_folders: Path) -> None:
    one, two = make_subject("one"), make_subject("two")
    for extra in ([subject_folders], [one, two], [subject_folders.parent]):
        assert {"one", "two", "go-net-http"} <= set(read_catalogue(extra).subjects)


def test_a_subject_inside_the_folder_of_a_subject_is_ignored(make_subject: MakeSubject) -> None:
    folder = make_subject("mine")
    shutil.copytree(folder, folder / "library" / "mine")
    assert read_catalogue([folder]).select(["mine"])[0].folder == folder


def test_a_folder_without_subjects_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(InvalidSubject, match=r"no subject\.toml in this folder"):
        read_catalogue([tmp_path])


def test_two_subjects_of_one_id_are_a_mistake_that_stops_no_other(
    make_subject: MakeSubject, subject_folders: Path
) -> None:
    make_subject("go-net-http")
    make_subject("other")
    catalogue = read_catalogue([subject_folders])
    assert {"other", "node-fetch"} <= {subject.id for subject in catalogue.select(["other", "node-fetch"])}
    assert "go-net-http" not in catalogue.subjects
    with pytest.raises(InvalidSubject, match="two subjects have the name 'go-net-http': .* and .*; rename"):
        catalogue.select(["go-net-http"])


def test_the_headline_and_added_clients_are_the_default(make_subject: MakeSubject, subject_folders: Path) -> None:
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
    with pytest.raises(UnknownName, match="hammer is a server; name a client"):
        catalogue.select_of_kind(["hammer"], SubjectKind.CLIENT)
    with pytest.raises(UnknownName, match="name a client, see: httpdyno subjects probe$"):
        catalogue.select_of_kind(["hammer"], SubjectKind.CLIENT, instead={SubjectKind.SERVER: "subjects probe"})


def test_claims_are_those_of_clients_and_servers() -> None:
    catalogue = read_catalogue()
    assert {subject.kind for subject in catalogue.claimants(())} == {SubjectKind.CLIENT, SubjectKind.SERVER}
    named = ["flask-dev", "go-net-http"]
    assert [subject.id for subject in catalogue.claimants(named)] == named
    with pytest.raises(UnknownName, match="ab is a tool; name a client or a server"):
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
    # A candidate that does not fit is not offered, however similar it is.
    with pytest.raises(UnknownName, match=r"'go-net-htp': there is no such tool; there are [0-9]+ tools, see: "):
        read_catalogue().select(["go-net-htp"], SubjectKind.TOOL)
    assert read_catalogue().select(["go-net-http"], SubjectKind.TOOL)[0].kind is SubjectKind.CLIENT


WHOLE = """
kind = "client"
language = "Go"
method = "net/http"
concurrency = 125
json_parser = "encoding/json"
[needs]
go = ">=1.22"
[build]
argv = ["go", "build"]
[run]
argv = ["{folder}/client"]
environment = { GOMAXPROCS = "1" }
[capabilities]
http = ["1.1", "2"]
keepalive = [true, false]
check = ["json"]
harness = ["timeit"]
methods = true
[version]
argv = ["go", "version"]
[[known_failure]]
case = "stall_tls"
reason = "no deadline on handshakes"
"""


def write(tmp_path: Path, text: str) -> Path:
    folder = tmp_path / "go-client"
    folder.mkdir()
    (folder / "subject.toml").write_text(text, encoding="utf-8")
    return folder


def test_every_key_is_read(tmp_path: Path) -> None:
    folder = write(tmp_path, WHOLE)
    subject = read_subject(folder)
    assert subject.id == "go-client"
    assert subject.kind is SubjectKind.CLIENT
    assert (subject.language, subject.method, subject.concurrency) == ("Go", "net/http", 125)
    assert subject.folder == folder
    assert subject.needs == (Need("go", ">=1.22"),)
    assert subject.build_argv == ("go", "build")
    assert subject.run_argv == ("{folder}/client",)
    assert subject.environment == {"GOMAXPROCS": "1"}
    assert subject.capabilities == Capabilities(("1.1", "2"), (True, False), ("json",), ("timeit",), methods=True)
    assert subject.json_parser == "encoding/json"
    assert subject.version_argv == ("go", "version")
    assert subject.known_failures == (KnownFailure("stall_tls", "no deadline on handshakes"),)


SERVER = """
kind = "server"
language = "Python"
method = "a framework"
[run]
argv = ["serve"]
[capabilities]
endpoints = ["plain", "json", "workloads", "timeout"]
threads = "any"
workers = "one"
"""


def test_the_claims_of_a_server_are_read(tmp_path: Path) -> None:
    claims = read_subject(write(tmp_path, SERVER)).capabilities
    assert claims == Capabilities(endpoints=("plain", "json", "workloads", "timeout"), threads="any", workers="one")


@pytest.mark.parametrize(
    ("line", "replacement", "said"),
    [
        ("endpoints", "endpoint", "unknown key 'capabilities.endpoint'; did you mean 'endpoints'?"),
        (
            '"timeout"]',
            '"timeot"]',
            "capabilities.endpoints: input should be 'plain', 'json', 'workloads' or 'timeout'",
        ),
        ('"workloads", ', "", "a timeout is that of workloads; claim that endpoint, too"),
        ('"any"', "true", "capabilities.threads: input should be 'any' or 'one', not True"),
        ('"one"', '"two"', "capabilities.workers: input should be 'any' or 'one', not 'two'"),
        ('"server"', '"client"', "only a server has endpoints, threads and workers to claim"),
    ],
)
def test_a_mistake_in_the_claims_of_a_server_is_reported(
    tmp_path: Path, line: str, replacement: str, said: str
) -> None:
    with pytest.raises(InvalidSubject, match=re.escape(said)):
        read_subject(write(tmp_path, SERVER.replace(line, replacement, 1)))


def test_optional_keys_have_defaults(tmp_path: Path) -> None:
    subject = read_subject(write(tmp_path, 'kind="server"\nlanguage="C"\nmethod="nginx"\n[run]\nargv=["nginx"]'))
    assert (subject.concurrency, subject.needs, subject.build_argv) == (10, (), ())


@pytest.mark.parametrize(
    ("line", "replacement", "said"),
    [
        ("language", "langauge", "unknown key 'langauge'; did you mean 'language'?"),
        ("environment", "enviroment", "unknown key 'run.enviroment'; did you mean 'environment'?"),
        ("reason =", "raeson =", "unknown key 'known_failure.raeson'; did you mean 'reason'?"),
        ('"stall_tls"', '"stall_tsl"', "known_failure.case: unknown case 'stall_tsl'; did you mean 'stall_tls'?"),
        ("concurrency = 125", "colour = 1", "unknown key 'colour'; choose from: build, capabilities,"),
        ("concurrency = 125", "concurrency = 0", "concurrency: input should be greater than or equal to 1, not 0"),
        ("concurrency = 125", 'concurrency = "many"', "concurrency: input should be a valid integer, not 'many'"),
        ('check = ["json"]', "", 'json_parser is for clients that check JSON; claim check = ["json"], or leave it out'),
        ('["timeit"]', '["timit"]', "capabilities.harness: input should be 'timeit', not 'timit'"),
        ("methods = true", 'methods = "POST"', "capabilities.methods: input should be a valid boolean, not 'POST'"),
        ('method = "net/http"\n', "", "the key 'method' is missing"),
        ('kind = "client"', 'kind = "cleint"', "kind: input should be 'client', 'tool' or 'server', not 'cleint'"),
        ('">=1.22"', '"1.22 or so"', "needs: '1.22 or so' is not understood"),
        (
            'argv = ["{folder}/client"]',
            'argv = "client"',
            'run.argv: must be a list in brackets, such as ["a", "b"], not \'client\'',
        ),
        ('argv = ["{folder}/client"]', "argv = []", "run.argv: must not be empty"),
        ('argv = ["{folder}/client"]', 'argv = [""]', "run.argv: must not be empty"),
        ('argv = ["{folder}/client"]', "argv = [1]", "run.argv: must be a text in quotes, not 1"),
        ('method = "net/http"', "method = 1", "method: must be a text in quotes, not 1"),
        ('environment = { GOMAXPROCS = "1" }', "environment = 1", "run.environment: must be a table, under [run.envi"),
        ('[needs]\ngo = ">=1.22"', 'needs = ["go"]', "needs: must be a table, under [needs], not ['go']"),
        ('language = "Go"', 'language = "Go"\nopen = "x"', "open: must be a table, under [open], not 'x'"),
        ("[[known_failure]]", "[known_failure]", "known_failure: must be tables, each under [[known_failure]], not {"),
        (
            '"stall_tls"',
            '"zzzz"',
            "unknown case 'zzzz'; docs/concepts/web.md and subjects/CONTRACT.md list those that there are",
        ),
        ('language = "Go"', "language = Go", "cannot be read: Invalid value (at line 3, column 12)"),
    ],
)
def test_mistakes_are_named_with_file_and_key(tmp_path: Path, line: str, replacement: str, said: str) -> None:
    assert line in WHOLE
    folder = write(tmp_path, WHOLE.replace(line, replacement))
    with pytest.raises(InvalidSubject) as caught:
        read_subject(folder)
    assert str(caught.value).startswith(f"{folder / 'subject.toml'}: ")
    assert said in str(caught.value)
    assert "\n" not in caught.value.line


def test_an_id_that_is_no_id_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "Go Client"
    folder.mkdir()
    (folder / "subject.toml").write_text(WHOLE, encoding="utf-8")
    with pytest.raises(InvalidSubject, match="must be lower-case letters and digits"):
        read_subject(folder)


def test_bytes_that_are_no_text_are_refused(make_subject: MakeSubject) -> None:
    folder = make_subject("latin")
    (folder / "subject.toml").write_bytes(b'kind = "\xff"')
    with pytest.raises(InvalidSubject, match="cannot be read"):
        read_subject(folder)


def test_an_unavailable_subject_needs_no_command(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    head = 'kind = "client"\nlanguage = "Ruby"\nmethod = "gone"\n'
    (folder / "subject.toml").write_text(f'{head}unavailable = "no package of it is published"\n', encoding="utf-8")
    subject = read_subject(folder)
    assert subject.run_argv == ()
    assert str(why_unavailable(subject)) == "gone: no package of it is published"
    (folder / "subject.toml").write_text(head, encoding="utf-8")
    with pytest.raises(InvalidSubject, match="the key 'run' is missing"):
        read_subject(folder)


TOOL = 'kind = "tool"\nlanguage = "C"\nmethod = "wrk"\n[run]\nargv = ["wrk", "{url}"]\n'


def test_a_tool_names_the_parser_of_its_report(tmp_path: Path) -> None:
    assert read_subject(write(tmp_path, f'{TOOL}[report]\nparser = "wrk"\n')).report_parser == "wrk"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (TOOL, "subject go-client: a tool needs a parser for its report; set it under [report]"),
        (f'{TOOL}[report]\nparser = "wrkk"\n', "report.parser: unknown parser 'wrkk'; did you mean 'wrk'?"),
        (f'{TOOL}[report]\nparsre = "wrk"\n', "unknown key 'report.parsre'; did you mean 'parser'?"),
        (f'{WHOLE}[report]\nparser = "wrk"\n', "only a tool has [report]; a client must not have it"),
    ],
)
def test_a_parser_that_is_none_or_not_due_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidSubject) as caught:
        read_subject(write(tmp_path, text))
    assert said in str(caught.value)
