"""``subject.toml``: what is read, and what is refused in which words."""

import re
from pathlib import Path

import pytest

from conftest import MakeSubject
from httpdyno.errors import InvalidSubject
from httpdyno.model import Capabilities, KnownFailure, Need, SubjectKind
from httpdyno.subjects.definition import read_subject
from httpdyno.subjects.needs import why_unavailable

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
    assert subject.capabilities == Capabilities(("1.1", "2"), (True, False), ("json",), ("timeit",))
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
def test_a_mistake_in_the_claims_of_a_server_is_told(tmp_path: Path, line: str, replacement: str, said: str) -> None:
    with pytest.raises(InvalidSubject, match=re.escape(said)):
        read_subject(write(tmp_path, SERVER.replace(line, replacement, 1)))


def test_what_can_be_derived_need_not_be_written(tmp_path: Path) -> None:
    subject = read_subject(write(tmp_path, 'kind="server"\nlanguage="C"\nmethod="nginx"\n[run]\nargv=["nginx"]'))
    assert (subject.concurrency, subject.needs, subject.build_argv) == (10, (), ())


@pytest.mark.parametrize(
    ("line", "replacement", "said"),
    [
        ("language", "langauge", "unknown key 'langauge'; did you mean 'language'?"),
        ("environment", "enviroment", "unknown key 'run.enviroment'; did you mean 'environment'?"),
        ("reason =", "raeson =", "unknown key 'known_failure.raeson'; did you mean 'reason'?"),
        ('"stall_tls"', '"stall_tsl"', "known_failure.case: unknown case 'stall_tsl'; did you mean 'stall_tls'?"),
        ("concurrency = 125", "colour = 1", "unknown key 'colour'; known are: build, capabilities,"),
        ("concurrency = 125", "concurrency = 0", "concurrency: input should be greater than or equal to 1, not 0"),
        ("concurrency = 125", 'concurrency = "many"', "concurrency: input should be a valid integer, not 'many'"),
        ('check = ["json"]', "", 'json_parser is for who checks JSON; claim check = ["json"], or leave it out'),
        ('["timeit"]', '["timit"]', "capabilities.harness: input should be 'timeit', not 'timit'"),
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


def test_what_can_be_had_nowhere_needs_no_command(tmp_path: Path) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    head = 'kind = "client"\nlanguage = "Ruby"\nmethod = "gone"\n'
    (folder / "subject.toml").write_text(f'{head}unavailable = "no package of it is published"\n', encoding="utf-8")
    subject = read_subject(folder)
    assert subject.run_argv == ()
    assert why_unavailable(subject) == "gone: no package of it is published"
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
        (f'{WHOLE}[report]\nparser = "wrk"\n', "only a tool has a report; a client must not have [report]"),
    ],
)
def test_a_parser_that_is_none_or_not_due_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(InvalidSubject) as caught:
        read_subject(write(tmp_path, text))
    assert said in str(caught.value)
