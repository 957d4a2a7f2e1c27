"""Nobody is measured whose claims do not hold: probed before the first trial, once for each build."""

from pathlib import Path

import pytest

from conftest import TESTS, MakeSubject
from doubles.command_line import Command

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
        "httpdyno: boaster: not measured, for it claims what it does not do: keepalive on: claimed, does not work; "
        "look closer with: httpdyno subjects probe boaster"
    )
    assert said in ended.err.splitlines()
    # A build is probed once.
    assert "boaster: probing its claims" in ended.err
    again = crawl()
    assert "probing" not in again.err
    assert said in again.err.splitlines()
