"""The page that lists every subject: complete, and equal to the folders."""

import re
from pathlib import Path

from doubles.claims import claim_result
from httpdyno.judge.client_cases import claim_cases
from httpdyno.judge.server_cases import server_cases
from httpdyno.model import KnownFailure, Subject, SubjectKind
from httpdyno.subjects.catalogue import read_catalogue
from pages.subject_list import subjects_page

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "subjects.md"


def row(page: str, name: str) -> list[str]:
    (line,) = re.findall(rf"^\| `{name}` \| .*$", page.partition("## Known failures")[0], re.MULTILINE)
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_page_in_the_reference_has_every_subject_with_its_claims() -> None:
    page, catalogue = PAGE.read_text(encoding="utf-8"), read_catalogue()
    for subject in catalogue.subjects.values():
        assert f"| `{subject.id}` |" in page, "write it anew with `make docs-subjects`"
        for failure in subject.known_failures:
            assert f"| `{subject.id}` | `{failure.case}` |" in page, subject.id
    for subject in catalogue.of_kind(SubjectKind.CLIENT):
        if not subject.unavailable:
            found = row(page, subject.id)[4:12]
            claimed = ["yes" if case.claimed else "no" for case in claim_cases(subject)]
            known = {failure.case for failure in subject.known_failures}
            for case, cell, claim in zip(claim_cases(subject), found, claimed, strict=True):
                assert cell == ("known failure" if case.title in known else claim), (subject.id, case.title)


def test_the_page_has_what_each_server_claims() -> None:
    page, catalogue = PAGE.read_text(encoding="utf-8"), read_catalogue()
    for subject in catalogue.of_kind(SubjectKind.SERVER):
        known = {failure.case for failure in subject.known_failures}
        expected = {case.title: "yes" if case.claimed else "no" for case in server_cases(subject)}
        expected |= dict.fromkeys(known & expected.keys(), "known failure")
        assert row(page, subject.id)[4:12] == list(expected.values()), (subject.id, "write it anew: make docs-subjects")


def test_the_results_of_a_probe_are_written_in_words() -> None:
    subject = Subject(
        "a-client", SubjectKind.CLIENT, "C", "a | b", Path("x"), ("x",),
        known_failures=(KnownFailure("keepalive off", "keeps\nthem", "https://issues.example/1"),),
    )  # fmt: skip
    gone = Subject("gone", SubjectKind.CLIENT, "Ruby", "gone", Path("x"), (), unavailable="nowhere to be had")
    results = [
        claim_result("http 1.1", claimed=True, works=True),
        claim_result("http 2", claimed=False, works=False),
        claim_result("keepalive on", claimed=True, works=False),
        claim_result("keepalive off", claimed=True, works=False, known="keeps them"),
        claim_result("check json", claimed=False, works=True),
        claim_result("harness timeit", claimed=False, works=False),
        claim_result("method post", claimed=True, works=True),
        claim_result("method head", claimed=False, works=False),
    ]
    page = subjects_page([gone, subject], {"a-client": ("1.0", results)})
    claims = "yes | no | **claimed, fails** | known failure | **works, not claimed** | no | yes | no"
    assert rf"| `a-client` | C | a \| b | 1.0 | {claims} |" + "\n" in page
    assert "| `a-client` | `keepalive off` | keeps them ([issue](https://issues.example/1)) |\n" in page
    assert "| `gone` | Ruby | gone | nowhere to be had |\n" in page
