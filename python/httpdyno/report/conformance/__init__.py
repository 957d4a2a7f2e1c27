"""The conformance matrix as one HTML file: clients are columns, cases are rows, and each cell opens its evidence.

The file contains everything and loads nothing. Without JavaScript it is a plain table.
"""

import base64
import gzip
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC
from importlib.resources import files
from typing import Any, Final

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from pydantic import TypeAdapter, ValidationError

from httpdyno.errors import InvalidValue
from httpdyno.judge.scripted.case_file import read_cases
from httpdyno.judge.scripted.matrix import matrix_of
from httpdyno.model.cases import WORST_FIRST, CaseOutcome, CaseResult, Cases, Level
from httpdyno.model.matrix import Matrix, MatrixCase, MatrixCell, MatrixClient
from httpdyno.report.cell import without_controls
from httpdyno.report.charts.canvas import DARK, LIGHT, style
from httpdyno.store import Run

EVIDENCE_BUDGET: Final = 4_000_000
"""Most characters that all compressed evidence may take."""
_TEXT_LIMITS: Final = (16_384, 4_096, 1_024, 256)
"""Most characters of a cell's transcript: the first limit that keeps the budget is used, else the last."""
_CLAUSE: Final = re.compile(r"RFC (\d{1,5}), (section|appendix) ([A-Z0-9]+(?:\.\d+)*)")


@dataclass(frozen=True, slots=True)
class Mark:
    """How an outcome is drawn: by colour (the class of its cell) and by a symbol."""

    code: str
    symbol: str
    words: str
    outcomes: tuple[CaseOutcome, ...]
    """The outcomes that a filter finds it by."""


_RISKY: Final = Mark("r", "~!", "unsteady, unsafe in a try", (CaseOutcome.UNSTEADY, CaseOutcome.UNSAFE))
_MARKS: Final = {
    outcome: Mark(code, symbol, outcome.value, (outcome,))
    for outcome, code, symbol in (
        (CaseOutcome.UNSAFE, "u", "!"),
        (CaseOutcome.CRASH, "c", "C"),
        (CaseOutcome.HANG, "h", "H"),
        (CaseOutcome.FAIL, "f", "F"),
        (CaseOutcome.UNSTEADY, "n", "~"),
        (CaseOutcome.LENIENT, "l", "L"),
        (CaseOutcome.PASS, "p", "\u2713"),
        (CaseOutcome.UNSUPPORTED, "x", "\u2013"),
    )
}
_UNTRIED: Final = Mark("", "", "not tried", ())


def matrix_of_runs(runs: Sequence[Run]) -> Matrix:
    """Return the matrix of one run of scripted cases or several; clients without a result are left out.

    A client of several runs has the results of the last one that tried it. Date and version are those of the last run.

    Raises
    ------
    InvalidValue
        If a run has no scripted cases.
    """
    tested: dict[str, tuple[MatrixClient, list[CaseResult]]] = {}
    for run in runs:
        if "scripted_cases" not in run.manifest.settings:
            raise InvalidValue(f"{run.folder}: no scripted cases, so no matrix; make such a run: httpdyno conform")
        results: dict[str, list[CaseResult]] = {}
        for trial in run.records():
            shown = trial.get(Cases)
            results.setdefault(trial.subject, []).extend(shown.cases if shown else ())
        tested |= {
            one.id: (MatrixClient(one.id, one.language, one.method, one.version or ""), results[one.id])
            for one in run.manifest.subjects
            if results.get(one.id)
        }
    last = runs[-1].manifest
    date = last.started_at.astimezone(UTC).date().isoformat()
    return matrix_of(date, last.version, dict(tested.values()), read_cases())


def read_matrix(data: Mapping[str, Any]) -> Matrix:
    """Read the parsed JSON of ``httpdyno conform --matrix FILE.json``; unknown keys are ignored.

    Raises
    ------
    InvalidValue
        If a value is missing or has a wrong form, or the ids do not fit together.
    """
    try:
        return TypeAdapter(Matrix).validate_python(data)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "its shape"
        raise InvalidValue(f"conformance matrix: {place}: {first['msg']}") from error


def matrix_schema() -> str:
    """Write the JSON schema of the matrix, as ``docs/reference`` publishes it."""
    schema = TypeAdapter(Matrix).json_schema(ref_template="#/$defs/{model}")
    described = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "httpdyno conform --matrix FILE.json",
    }
    return json.dumps(described, indent=2) + "\n"


def render_matrix(matrix: Matrix) -> str:
    r"""Write a matrix as one HTML file.

    The page loads nothing, and its content policy allows only its own script. All texts of clients and servers are
    escaped; control characters in them are shown as ``\x1b``. Evidence (transcripts, scripts) is compressed: if it
    would take more than ``EVIDENCE_BUDGET`` characters, long transcripts are cut, and say so.

    Parameters
    ----------
    matrix : Matrix
        Of any size, also without clients or cases; ``read_matrix`` makes it from JSON.

    Returns
    -------
    str
        The HTML. It is the same for the same matrix.
    """
    script = _text("matrix.js")
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_finalize, trim_blocks=True, lstrip_blocks=True
    )
    marks = {(cell.client, cell.case): mark_of(cell) for cell in matrix.cells}
    return environment.from_string(_text("matrix.html.jinja")).render(
        matrix=matrix,
        headline=headline_of(matrix),
        unsafe=unsafe_cases(matrix),
        unsafe_by_client=_unsafe_by_client(matrix),
        legend=_legend(marks.values()),
        known={(cell.client, cell.case) for cell in matrix.cells if cell.known is not None},
        choices=_choices(matrix),
        groups=[(group, [case for case in matrix.cases if case.group == group]) for group in matrix.groups],
        mark_of=lambda client, case: marks.get((client.id, case.id), _UNTRIED),
        count_of=lambda client, cases: _count([marks.get((client.id, case.id), _UNTRIED) for case in cases]),
        evidence=_evidence(matrix),
        clause_url=clause_url,
        # Style and script are httpdyno's own, and contain no closing tags; the digest allows only this script.
        style=Markup(_style()),
        script=Markup(script),
        digest=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def mark_of(cell: MatrixCell) -> Mark:
    """Return how a cell is drawn. An unsteady cell with an unsafe try has a mark of its own."""
    if cell.outcome is CaseOutcome.UNSTEADY and CaseOutcome.UNSAFE in cell.tries:
        return _RISKY
    return _MARKS.get(cell.outcome, _UNTRIED)


def clause_url(clause: str) -> str | None:
    """Return the address of the first clause of an RFC in a text; None if there is none."""
    if not (found := _CLAUSE.search(clause)):
        return None
    rfc, kind, number = found.groups()
    return f"https://www.rfc-editor.org/rfc/rfc{rfc}#{kind}-{number}"


def unsafe_cases(matrix: Matrix) -> list[tuple[MatrixCase, list[MatrixClient]]]:
    """Return the cases in which a client was unsafe in any try, with those clients; most clients first."""
    found = {(cell.client, cell.case) for cell in matrix.cells if CaseOutcome.UNSAFE in mark_of(cell).outcomes}
    listed = [(case, [client for client in matrix.clients if (client.id, case.id) in found]) for case in matrix.cases]
    return sorted(((case, clients) for case, clients in listed if clients), key=lambda pair: -len(pair[1]))


def headline_of(matrix: Matrix) -> str:
    """Return the answer as one sentence: the number of clients that were unsafe."""
    if not matrix.cells:
        return "Nothing was tried: the matrix has no cells."
    of = f"{len(matrix.clients)} {'client' if len(matrix.clients) == 1 else 'clients'}"
    cases = f"{len(matrix.cases)} {'case' if len(matrix.cases) == 1 else 'cases'}"
    unsafe = unsafe_cases(matrix)
    if not unsafe:
        return f"None of {of} was unsafe in any of {cases}."
    count = len({client.id for _, clients in unsafe for client in clients})
    return f"{count} of {of} {'was' if count == 1 else 'were'} unsafe in at least one of {cases}."


def _unsafe_by_client(matrix: Matrix) -> list[tuple[MatrixClient, int]]:
    counted = Counter(client for _, clients in unsafe_cases(matrix) for client in clients)
    return counted.most_common()


def _choices(matrix: Matrix) -> dict[str, list[tuple[str, str]]]:
    """Return the values and texts of each filter."""
    levels = {case.level for case in matrix.cases}
    used = {outcome for cell in matrix.cells for outcome in mark_of(cell).outcomes}
    same = {
        "language": sorted({client.language for client in matrix.clients}, key=str.casefold),
        "group": [group for group in matrix.groups if any(case.group == group for case in matrix.cases)],
        "level": [level.value for level in Level if level in levels],
        "outcome": [outcome.value for outcome in WORST_FIRST if outcome in used],
    }
    clients = [(client.id, client.name) for client in matrix.clients]
    return {"client": clients, **{name: [(value, value) for value in values] for name, values in same.items()}}


def _count(marks: Sequence[Mark]) -> tuple[Mark, int, int]:
    """Return the worst mark of a client in a group, and how many of the cases that were tried passed."""
    order = (_MARKS[CaseOutcome.UNSAFE], _RISKY, *list(_MARKS.values())[1:], _UNTRIED)
    tried = [mark for mark in marks if mark not in (_MARKS[CaseOutcome.UNSUPPORTED], _UNTRIED)]
    return min(marks, key=order.index, default=_UNTRIED), tried.count(_MARKS[CaseOutcome.PASS]), len(tried)


def _legend(marks: Iterable[Mark]) -> list[tuple[Mark, int]]:
    counted = Counter(marks)
    return [(mark, counted[mark]) for mark in (_MARKS[CaseOutcome.UNSAFE], _RISKY, *list(_MARKS.values())[1:])]


def _evidence(matrix: Matrix) -> dict[str, str]:
    """Compress the evidence of each case, as base64 by the id of the case."""
    cells: dict[str, list[MatrixCell]] = {case.id: [] for case in matrix.cases}
    for cell in matrix.cells:
        cells[cell.case].append(cell)
    for limit in _TEXT_LIMITS:
        packed: dict[str, str] = {}
        left = EVIDENCE_BUDGET
        for case in matrix.cases:
            packed[case.id] = _pack(case, cells[case.id], limit)
            left -= len(packed[case.id])
            if left < 0 and limit != _TEXT_LIMITS[-1]:
                break
        else:
            break
    return packed


def _pack(case: MatrixCase, cells: Sequence[MatrixCell], limit: int) -> str:
    of_client = {
        without_controls(cell.client): {
            "tries": cell.tries,
            "known": cell.known,
            "seen": _cut([cell.seen], limit),
            "reported": _cut(cell.reported, limit),
            "transcript": _cut(cell.transcript, limit),
        }
        for cell in cells
    }
    content = {**asdict(case), "script": _cut(case.script, limit), "cells": of_client}
    text = json.dumps(_visible(content), separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()


def _cut(lines: Sequence[str], limit: int) -> list[str]:
    """Keep the first ``limit`` characters of lines, and say how many more there were."""
    kept: list[str] = []
    left = limit
    for line in lines:
        if left <= 0:
            break
        kept.append(line[:left])
        left -= len(line)
    more = sum(map(len, lines)) - sum(map(len, kept))
    return [*kept, f"({more} more characters: the command shows them)"] if more > 0 else kept


def _visible(value: Any) -> Any:  # noqa: ANN401
    """Make the control characters of all texts visible."""
    if isinstance(value, str):
        return without_controls(value)
    if isinstance(value, Mapping):
        return {key: _visible(one) for key, one in value.items()}
    return [_visible(one) for one in value] if isinstance(value, list | tuple) else value


def _text(name: str, package: str = __package__) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _finalize(value: object) -> object:
    return without_controls(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _style() -> str:
    """Write the colours of both schemes, the rules of all pages, then those of the matrix."""
    colours = f":root{{{style(LIGHT)}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{style(DARK)}}}}}\n"
    return colours + _text("page.css", "httpdyno.report.html") + _text("matrix.css")
