"""Conformance of clients by scripted cases, with the engine's own fetcher and a client that is wrong on purpose."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from conftest import TESTS, MakeSubject
from doubles.command_line import Command, Ended
from httpdyno.judge.scripted.case_file import read_cases
from httpdyno.judge.scripted.matrix import expected_of, script_of
from httpdyno.report.conformance import read_matrix

pytestmark = pytest.mark.slow

CARELESS = (TESTS / "fixtures" / "careless_client.py").read_text(encoding="utf-8")
CLAIMS = '[capabilities]\nhttp = ["1.1"]\nkeepalive = [true]'
CASES = (
    "connections/truncated-content",
    "tls/self-signed",
    "tls/intermediate",
    "dns/alias-chain",
    "deadlines/silent-after-request",
    "http2/continuation",
)
Conform = Callable[..., Ended]


@pytest.fixture
def conform(httpdyno: Command, make_subject: MakeSubject, subject_folders: Path) -> Conform:
    """Try some cases with a client that is wrong on purpose; ``environment`` decides how."""

    def run(*more: str, environment: str = "", clients: tuple[str, ...] = ("careless",)) -> Ended:
        if not (subject_folders / "careless").exists():
            make_subject("careless", CARELESS, f"environment = {{ {environment} }}\n{CLAIMS}", concurrency=10)
        return httpdyno("conform", *clients, *more, "--subjects", str(subject_folders))

    return run


def outcomes(ended: Ended) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for row in ended.rows:
        found.setdefault(row["subject"], {})[row["case"]] = row["outcome"]
    return found


def test_a_right_client_passes_and_a_careless_one_does_not(conform: Conform) -> None:
    ended = conform(*CASES, "--tries", "1", "--format", "json", clients=("native", "careless"))
    assert ended.code == 0, ended.err
    found = outcomes(ended)
    assert set(found["native"]) == set(CASES)
    assert {case: outcome for case, outcome in found["native"].items() if outcome != "pass"} == {}
    assert found["careless"] == {
        "connections/truncated-content": "fail",
        "tls/self-signed": "unsafe",
        "tls/intermediate": "pass",
        "dns/alias-chain": "pass",
        "deadlines/silent-after-request": "pass",
        "http2/continuation": "unsupported",
    }


def test_the_matrix_is_a_page_and_data(conform: Conform, tmp_path: Path) -> None:
    data, page = tmp_path / "matrix.json", tmp_path / "matrix.html"
    for file in (data, page):
        ended = conform(*CASES, "--tries", "1", "--matrix", str(file))
        assert ended.code == 0, ended.err
        assert ended.err.endswith(f"matrix: {file}\n")
    matrix = read_matrix(json.loads(data.read_text(encoding="utf-8")))
    cell = next(cell for cell in matrix.cells if cell.case == "tls/self-signed")
    assert (cell.client, cell.outcome, cell.tries) == ("careless", "unsafe", ("unsafe",))
    assert cell.transcript
    case = next(case for case in matrix.cases if case.id == "tls/self-signed")
    assert "an error" in case.expected
    assert any("issuer" in line for line in case.script)
    assert "1 of 1 client was unsafe in at least one of 6 cases." in page.read_text(encoding="utf-8")


def test_expectation_and_script_of_every_case_are_described() -> None:
    for file in read_cases().values():
        assert expected_of(file), file.id
        assert all(len(line) < 2_500 for line in script_of(file)), file.id


def test_the_worst_comes_first_and_the_run_is_kept(conform: Conform, httpdyno: Command) -> None:
    ended = conform("connections/truncated-content", "tls/self-signed", "dns/alias-chain", "--tries", "2")
    assert ended.code == 0, ended.err
    first, *lines, last = ended.out.splitlines()
    assert first == "careless: connections 0/1 (1 fail), tls 0/1 (1 unsafe), dns 1/1"
    assert [line.split()[0] for line in lines] == ["unsafe", "fail"]
    assert "RFC 9112, section 8" in lines[1]
    assert "200 with 5 bytes" in lines[1]
    assert last == "show one: httpdyno conform careless tls/self-signed --show"
    kept = httpdyno("report", "latest", "--format", "json")
    assert {row["case"]: row["tries"] for row in kept.rows} == {
        "connections/truncated-content": "fail, fail",
        "tls/self-signed": "unsafe, unsafe",
        "dns/alias-chain": "pass, pass",
    }


@pytest.mark.parametrize(("variable", "outcome"), [("CRASHES_AT", "crash"), ("SILENT_AT", "hang")])
def test_a_case_that_ends_the_process_spares_the_others(conform: Conform, variable: str, outcome: str) -> None:
    cases = ("connections/truncated-content", "dns/alias-chain", "dns/no-such-name")
    ended = conform(*cases, "--tries", "1", "--format", "json", environment=f'{variable} = "alias-chain"')
    assert outcomes(ended)["careless"] == {
        "connections/truncated-content": "fail",
        "dns/alias-chain": outcome,
        "dns/no-such-name": "pass",
    }


def test_a_cell_that_got_worse_ends_with_1(conform: Conform, tmp_path: Path) -> None:
    file = tmp_path / "conform.json"
    cases = ("connections/truncated-content", "dns/alias-chain", "--tries", "1", "--expect", str(file))
    assert conform(*cases, "--update").code == 0
    expected = json.loads(file.read_text(encoding="utf-8"))
    assert expected == {"careless": {"connections/truncated-content": "fail", "dns/alias-chain": "pass"}}
    assert conform(*cases).code == 0
    expected["careless"]["connections/truncated-content"] = "pass"
    file.write_text(json.dumps(expected), encoding="utf-8")
    ended = conform(*cases)
    assert ended.code == 1
    assert "worse: careless: connections/truncated-content: fail, expected pass" in ended.err


def test_a_case_is_shown_with_its_transcript(conform: Conform) -> None:
    ended = conform("connections/truncated-content", "--show")
    assert ended.code == 0, ended.err
    assert re.search(
        r"ms  truncated-content\.connections\.test: connection 1: got \d+ bytes: GET / HTTP/1\.1", ended.out
    )
    assert "http://truncated-content.connections.test/: 200 with 5 bytes" in ended.out
    assert "fail: " in ended.out
    assert "no outcome holds; the first: code 200, not error" in ended.out


def test_a_client_that_fails_everything_may_have_a_broken_adapter(conform: Conform) -> None:
    ended = conform("connections/truncated-content", "tls/self-signed", "--tries", "1")
    assert "careless passes no case: its adapter may be broken" in ended.out


def test_cases_are_listed_with_clause_and_level(conform: Conform) -> None:
    rows = conform("--list", "--group", "tls", "--level", "must", "--format", "json", clients=()).rows
    assert {row["level"] for row in rows} == {"must"}
    assert all(row["clause"] for row in rows)
    assert "tls/self-signed" in [row["case"] for row in rows]
