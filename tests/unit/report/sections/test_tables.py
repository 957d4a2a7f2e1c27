"""Rows with distinct names, and the table of wrong answers."""

from dataclasses import replace
from typing import Any

import polars as pl

from doubles.trials import trial
from httpdyno.judge.scripted.case_file import read_cases
from httpdyno.model import Column, ColumnKind, Note, Sample, Table, Tally
from httpdyno.model.subject import FAULTS, HAZARDS, WHOLE_TIMEOUTS
from httpdyno.report.sections.tables import CASES_OF_CAUSES, case_notes, rows_apart, wrong_answers, wrong_notes
from httpdyno.store import polars_schema

COLUMNS = (Column("subject", shown=False), Column("language"), Column("method"), Column("n", ColumnKind.INTEGER))
TABLE = Table(
    COLUMNS,
    (
        ("aiohttp", "Python", "aiohttp", 1),
        ("aiohttp-mine", "Python", "aiohttp", 2),
        ("go", "Go", "net/http", 3),
        ("go", "Go", "net/http", 4),
    ),
)


def test_two_subjects_of_one_name_have_their_ids() -> None:
    assert rows_apart(TABLE).values("method") == ("aiohttp (aiohttp)", "aiohttp (aiohttp-mine)", "net/http", "net/http")
    assert rows_apart(TABLE).values("subject") == TABLE.values("subject")


def test_where_the_id_is_seen_anyway_nothing_is_added() -> None:
    shown = replace(TABLE, columns=(Column("subject"), *COLUMNS[1:]))
    assert rows_apart(shown) == shown
    other = Table((Column("subject"), Column("error")), (("a", "b"),))
    assert rows_apart(other) == other


TRIALS = [
    trial("a", 0, tally=Tally(wrong_length=20)),
    trial("b", 1, tally=Tally(late=4)),
    trial("c", 2, tally=Tally(right=3)),
]
NAMES = {"c": "C", "b": "B", "a": "A"}


def sample(number: int, line: int, verdict: str, **more: Any) -> dict[str, Any]:
    known = {"trial": number, "line": line, "url": f"http://{line:02}", "code": "200", "verdict": verdict}
    return dict.fromkeys(polars_schema(Sample)) | known | {"explained": False} | more


def frame(*samples: dict[str, Any]) -> pl.LazyFrame:
    return pl.DataFrame(list(samples), schema=polars_schema(Sample)).lazy()


def short(line: int) -> dict[str, Any]:
    return sample(0, line, "wrong_length", body_length=9, served_status=200, served_body_length=10)


def test_the_first_of_each_subject_are_named_and_the_others_counted() -> None:
    kinds = (
        sample(1, 1, "late"),
        sample(1, 2, "wrong_time"),
        sample(1, 3, "missed_error", cause="stall_tls"),
        sample(1, 4, "wrong_status"),
    )
    table = wrong_answers(TRIALS, NAMES, frame(*(short(line) for line in range(1, 21)), *kinds))
    assert table is not None
    assert [row[:3] for row in table.rows] == [
        ("B", "http://01", "200; past its timeout"),
        ("B", "http://02", "200; the origin saw no such request at that time"),
        ("B", "http://03", "200; expected an error: stall_tls"),
        # A run that is older than the column has no expected answers.
        ("B", "http://04", "200"),
        *(("A", f"http://{line:02}", "200, 9 B; served 10") for line in range(1, 7)),
    ]
    assert table.notes == (Note("14 more wrong answers, not shown"),)
    assert wrong_notes(table)[0] == Note("wrong answer of B: [200; past its timeout] http://01")


def test_what_a_known_failure_explains_is_named_nowhere() -> None:
    table = wrong_answers(TRIALS, NAMES, frame(short(1), sample(1, 1, "late", explained=True)))
    assert table is not None
    assert [row[0] for row in table.rows] == ["A"]
    assert table.notes == ()


def test_the_case_of_each_cause_is_named_once_for_each_subject() -> None:
    wrong = (
        *(sample(0, line, "missed_error", cause="short_body") for line in range(1, 4)),
        *(sample(0, line, "false_error", cause="interim_response") for line in range(4, 9)),
        sample(0, 9, "missed_error", cause="invalid_url"),
        sample(0, 10, "wrong_length"),
        sample(0, 11, "right", cause="stall_tls"),
        *(sample(0, line, "late", cause="drip_body", explained=True) for line in range(12, 20)),
        sample(1, 1, "missed_error", cause="stall_tls"),
    )
    assert case_notes(TRIALS, NAMES, frame(*wrong)) == (
        Note("wrong at stall_tls: httpdyno conform b deadlines/stalled-handshake"),
        Note("wrong at interim_response: httpdyno conform a framing/interim-kinds"),
        Note("wrong at short_body: httpdyno conform a framing/content-short"),
    )


def test_each_fault_on_a_connection_has_a_case() -> None:
    assert set(" ".join(CASES_OF_CAUSES.values()).split()) <= set(read_cases())
    # No case has a connection attempt that a reset answers at the only address.
    assert set(CASES_OF_CAUSES) == {*FAULTS, *HAZARDS, *WHOLE_TIMEOUTS} - {"refused"}


def test_where_nothing_is_wrong_nothing_is_looked_for() -> None:
    assert wrong_answers(TRIALS[2:], NAMES, frame(short(1))) is None
    assert case_notes(TRIALS[2:], NAMES, frame(short(1))) == ()
    assert wrong_notes(None) == ()
