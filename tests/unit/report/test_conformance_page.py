"""The page of the conformance matrix without a browser: what it says first, what it holds, and what it refuses."""

import base64
import gzip
import json
import re
from pathlib import Path
from random import Random
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from doubles.matrices import case_of, cell_of, client_of, large_matrix, matrix_of
from httpdyno.errors import InvalidValue
from httpdyno.model import WORST_FIRST
from httpdyno.report.conformance import (
    EVIDENCE_BUDGET,
    clause_url,
    headline_of,
    mark_of,
    matrix_schema,
    read_matrix,
    render_matrix,
    unsafe_cases,
)

SCHEMA = Path(__file__).parents[3] / "docs" / "reference" / "conformance-matrix.schema.json"
HOSTILE = "</script></style>\"'><img src=x onerror='window.broken=1'>\u2028\u202e\x1b{{7*7}}&amp;"


def small(*outcomes: str, clients: int = 1, **changes: Any) -> dict[str, Any]:
    """Return a matrix with these outcomes, row by row."""
    columns = [client_of(place) for place in range(clients)]
    rows = [case_of(place) for place in range(len(outcomes) // clients)]
    pairs = [(column["id"], row["id"]) for row in rows for column in columns]
    cells = [cell_of(*pair, outcome, Random(1), **changes) for pair, outcome in zip(pairs, outcomes, strict=True)]
    return matrix_of(columns, rows, cells)


def evidence_of(page: str) -> list[dict[str, Any]]:
    packed = re.findall(r'data-evidence="([^"]*)"', page)
    return [json.loads(gzip.decompress(base64.b64decode(one))) for one in packed]


def test_the_published_schema_is_that_of_the_matrix() -> None:
    assert matrix_schema() == SCHEMA.read_text(encoding="utf-8"), "renew it: scripts/write-reference"
    schema = json.loads(matrix_schema())
    Draft202012Validator.check_schema(schema)
    matrix = small("pass", "unsafe")
    assert Draft202012Validator(schema).is_valid(matrix)
    for wrong in (matrix | {"schema": 2}, matrix | {"cells": [{}]}, {"schema": 1}):
        assert not Draft202012Validator(schema).is_valid(wrong)


@pytest.mark.parametrize(
    ("outcomes", "clients", "headline"),
    [
        ((), 1, "Nothing was tried: the matrix has no cells."),
        (("pass",), 1, "None of 1 client was unsafe in any of 1 case."),
        (("pass", "fail", "crash", "hang"), 2, "None of 2 clients was unsafe in any of 2 cases."),
        (("unsafe", "pass", "unsafe", "pass"), 2, "1 of 2 clients was unsafe in at least one of 2 cases."),
        (("unsafe", "unsafe"), 2, "2 of 2 clients were unsafe in at least one of 1 case."),
    ],
)
def test_the_headline_counts_clients_that_were_unsafe(outcomes: tuple[str, ...], clients: int, headline: str) -> None:
    assert headline_of(read_matrix(small(*outcomes, clients=clients))) == headline


def test_cases_with_the_most_unsafe_clients_come_first() -> None:
    matrix = read_matrix(small("unsafe", "pass", "pass", "pass", "unsafe", "unsafe", clients=2))
    found = [(case.id, [client.id for client in clients]) for case, clients in unsafe_cases(matrix)]
    assert found == [("framing/case-2", ["client-0", "client-1"]), ("deadlines/case-0", ["client-0"])]


def test_an_unsafe_try_counts_although_the_other_tries_differ() -> None:
    matrix = read_matrix(small("unsteady", tries=["pass", "unsafe", "pass"]))
    assert headline_of(matrix).startswith("1 of 1 client was unsafe")
    assert mark_of(matrix.cells[0]).symbol == "~!"
    assert mark_of(read_matrix(small("unsteady")).cells[0]).symbol == "~"


def test_every_outcome_has_a_symbol_of_its_own() -> None:
    cells = read_matrix(small(*WORST_FIRST)).cells
    assert len({mark_of(cell).symbol for cell in cells}) == len({mark_of(cell).code for cell in cells}) == 8


@pytest.mark.parametrize(
    ("clause", "url"),
    [
        ("RFC 9112, section 5.2", "https://www.rfc-editor.org/rfc/rfc9112#section-5.2"),
        ("RFC 8446, section 4.4.2.4", "https://www.rfc-editor.org/rfc/rfc8446#section-4.4.2.4"),
        ("RFC 9113, section 8", "https://www.rfc-editor.org/rfc/rfc9113#section-8"),
        ("RFC 9110, appendix B.3", "https://www.rfc-editor.org/rfc/rfc9110#appendix-B.3"),
        ("RFC 9112, section 5.2, and RFC 9110, section 5", "https://www.rfc-editor.org/rfc/rfc9112#section-5.2"),
        ("WHATWG Fetch, HTTP-redirect fetch", None),
        ("RFC 9112", None),
        ("javascript:alert(1)", None),
        ("", None),
    ],
)
def test_a_clause_of_an_rfc_has_an_address(clause: str, url: str | None) -> None:
    assert clause_url(clause) == url


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema: Input should be 1"),
        ({"clients": [client_of(0), client_of(0)]}, "client client-0 is there more than once"),
        ({"groups": ["tls"]}, "case deadlines/case-0: unknown group 'deadlines'"),
        ({"cases": []}, "cell client-0 deadlines/case-0: unknown client or case"),
        ({"cells": [cell_of("client-0", "deadlines/case-0", "good", Random(1))]}, "cells.0.outcome: Input should be"),
    ],
)
def test_a_matrix_that_does_not_fit_together_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidValue, match=r"^conformance matrix: ") as refused:
        read_matrix(small("pass") | change)
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


def test_an_empty_matrix_has_a_page() -> None:
    assert "Nothing was tried" in render_matrix(read_matrix(matrix_of([], [], [])))


def test_texts_of_clients_and_servers_are_escaped() -> None:
    texts = dict.fromkeys(("seen", "known"), HOSTILE) | {key: [HOSTILE] for key in ("reported", "transcript")}
    matrix = matrix_of(
        [client_of(0, id=HOSTILE, language=HOSTILE, method=HOSTILE, version=HOSTILE)],
        [case_of(0, id=HOSTILE, title=HOSTILE, clause=HOSTILE, why=HOSTILE, expected=HOSTILE, script=[HOSTILE])],
        [cell_of(HOSTILE, HOSTILE, "unsafe", Random(1), **texts)],
    )
    page = render_matrix(read_matrix(matrix))
    assert page.count("</script>") == page.count("</style>") == 1
    assert "<img" not in page
    assert not re.search("[\x1b\u2028\u202e]", page)
    (found,) = evidence_of(page)
    shown = HOSTILE.replace("\u2028", r"\u2028").replace("\u202e", r"\u202e").replace("\x1b", r"\x1b")
    assert found["title"] == found["why"] == shown
    assert found["cells"][shown]["transcript"] == [shown]


def test_the_page_has_the_evidence_of_every_cell() -> None:
    matrix = large_matrix(clients=3, cases=9)
    found = evidence_of(render_matrix(read_matrix(matrix)))
    assert [one["id"] for one in found] == [case["id"] for case in matrix["cases"]]
    for cell in matrix["cells"]:
        (of_case,) = [one for one in found if one["id"] == cell["case"]]
        kept = of_case["cells"][cell["client"]]
        assert {name: kept[name] for name in ("tries", "known", "reported", "transcript")} == {
            name: cell[name] for name in ("tries", "known", "reported", "transcript")
        }


def test_a_page_is_the_same_for_the_same_matrix() -> None:
    matrix = large_matrix(clients=3, cases=9)
    assert render_matrix(read_matrix(matrix)) == render_matrix(read_matrix(matrix))


def test_long_transcripts_are_cut_and_say_so() -> None:
    noise = Random(1).randbytes(20_000).hex()
    page = render_matrix(read_matrix(small("fail", transcript=["first", noise, "last"])))
    (found,) = evidence_of(page)
    first, second, said = found["cells"]["client-0"]["transcript"]
    assert (first, second) == ("first", noise[: 16_384 - 5])
    assert said == f"({40_000 - 16_384 + 5 + 4} more characters: the command shows them)"


def test_evidence_that_does_not_compress_keeps_the_budget() -> None:
    random = Random(1)
    cells = [[random.randbytes(6000).hex()] for _ in range(1000)]
    matrix = small(*["fail"] * 1000, clients=20)
    for cell, transcript in zip(matrix["cells"], cells, strict=True):
        cell["transcript"] = transcript
    page = render_matrix(read_matrix(matrix))
    assert sum(map(len, re.findall(r'data-evidence="([^"]*)"', page))) <= EVIDENCE_BUDGET
    assert "more characters" in json.dumps(evidence_of(page))


@pytest.mark.parametrize(
    ("first", "second", "cell"),
    [
        ("pass", "pass", '<td class="p"><b>\u2713</b><small>2/2</small>'),
        ("pass", "fail", '<td class="f"><b>F</b><small>1/2</small>'),
        ("unsupported", "lenient", '<td class="l"><b>L</b><small>0/1</small>'),
        ("unsupported", "unsupported", '<td class="x"><b>\u2013</b><small></small>'),
    ],
)
def test_groups_are_counted_without_a_script(first: str, second: str, cell: str) -> None:
    # Every ninth case is of the same group.
    page = render_matrix(read_matrix(small(first, *["pass"] * 8, second)))
    (row,) = re.findall(r'<tr class="group" data-group="deadlines">.*?</tr>', page)
    assert cell in row
