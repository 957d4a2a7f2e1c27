"""Subjects with false claims are not measured: each build is probed once, before the first trial."""

from dataclasses import replace
from pathlib import Path

import pytest

from conftest import TESTS, MakeSubject
from doubles.command_line import Command
from httpdyno.lab import conformance
from httpdyno.lab.conformance import CaseRunner, claims_of, results_of, try_claims
from httpdyno.lab.engine import Engine
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.room import Pinning
from httpdyno.subjects.build import build_subjects
from httpdyno.subjects.catalogue import read_subject

CLIENT = (TESTS / "fixtures" / "mistaken_client.py").read_text(encoding="utf-8")
CLAIMS = '[capabilities]\nhttp = ["1.1"]\nkeepalive = [true, false]\ncheck = ["json"]'


@pytest.fixture
def crawl(httpdyno: Command, make_subject: MakeSubject, subject_folders: Path) -> Command:
    """Crawl a few URLs with our own client and with one that claims to reuse connections and does not."""
    make_subject("boaster", CLIENT, f'environment = {{ MISTAKE = "session per request" }}\n{CLAIMS}')

    def run(*more: str) -> object:
        return httpdyno(
            "bench", "native", "boaster", "--subjects", str(subject_folders), "--web", "plain", "--limit", "40",
            "--concurrency", "10", "--repeat", "1", "--timeout", "60", "--format", "json", *more,
        )  # fmt: skip

    return run


def test_a_broken_claim_is_a_row_without_figures_and_the_others_go_on(crawl: Command) -> None:
    ended = crawl()
    assert ended.code == 0, ended.err
    verdicts = {row["subject"]: row["verdict"] for row in ended.rows}
    assert verdicts["boaster"] == "unavailable"
    assert {row["subject"]: row["totalUrls"] for row in ended.rows} == {"native": 40, "boaster": None}
    said = (
        "httpdyno: boaster: not measured: claims that do not hold: keepalive on: claimed, does not work; "
        "look closer with: httpdyno subjects probe boaster"
    )
    assert said in ended.err.splitlines()
    # A build is probed once.
    assert "testing the claims of subjects" in ended.err
    again = crawl()
    assert "probing" not in again.err
    assert said in again.err.splitlines()


def test_a_client_that_never_answers_is_tried_once_and_its_unanswered_urls_are_named(
    engine: Engine, make_subject: MakeSubject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The time does not matter: it would never answer.
    monkeypatch.setattr("httpdyno.judge.client_cases.CLAIM_DEADLINE_S", 1.0)
    silent = "import sys, time\nsys.stdin.read()\ntime.sleep(1000)\n"
    subject = read_subject(make_subject("silent", silent, '[capabilities]\nkeepalive = [true]\ncheck = ["json"]'))
    rooms: list[str] = []
    execute = conformance.CRAWL.execute
    counted = replace(conformance.CRAWL, execute=lambda *given: rooms.append("") or execute(*given))
    monkeypatch.setattr(conformance, "CRAWL", counted)
    with Interruption() as interruption:
        built = build_subjects([subject], tmp_path / "cache")["silent"]
        assert built.build is not None
        results = results_of(list(try_claims(CaseRunner(engine, built.build, Pinning(), interruption))))
    named = ", ".join(f"https://probe.example/bytes/{length}" for length in (101, 102, 103))
    assert [str(result) for result in results if result.claimed] == [
        f"keepalive on: claimed, does not work, no answer to {named} and 5 more within 1 s",
        "check json: claimed, does not work, not tried: it did not answer in an earlier case",
    ]
    assert len(results) == len(claims_of(subject))
    assert len(rooms) == 1
