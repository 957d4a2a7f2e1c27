"""The conformance matrix: what each client did in each case, as ``httpdyno conform --matrix FILE`` writes it."""

from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar, Final, Literal

from httpdyno.errors import InvalidValue
from httpdyno.model.cases import CaseOutcome, Level

_DOCUMENTED: Final[dict[str, Any]] = {"use_attribute_docstrings": True}
"""Options with which pydantic reads these records and writes their schema."""


@dataclass(frozen=True, slots=True)
class MatrixClient:
    """A client: a column of the matrix."""

    __pydantic_config__: ClassVar = _DOCUMENTED

    id: str
    """Folder of the client in subjects/clients, or the name of a program."""
    language: str
    method: str
    """Library, or program."""
    version: str

    @property
    def name(self) -> str:
        """Language and library, as in all reports."""
        return f"{self.language} {self.method}".strip() or self.id


@dataclass(frozen=True, slots=True)
class MatrixCase:
    """A case: a row of the matrix."""

    __pydantic_config__: ClassVar = _DOCUMENTED

    id: str
    """GROUP/NAME."""
    group: str
    title: str
    clause: str
    """The clause that decides, as in "RFC 9112, section 5.2"; or the name of a practice."""
    level: Level
    """How strongly the clause requires it."""
    why: str
    """The reason for the case."""
    expected: str
    """What a right client reports."""
    script: tuple[str, ...]
    """What the server does, a line for each step."""


@dataclass(frozen=True, slots=True)
class MatrixCell:
    """Result of one case with one client. A pair without a cell was not tried."""

    __pydantic_config__: ClassVar = _DOCUMENTED

    client: str
    """The client's id."""
    case: str
    """The case's id."""
    outcome: CaseOutcome
    tries: tuple[CaseOutcome, ...]
    """Outcome of each try, in a fresh process."""
    known: str | None
    """The known failure of the client that explains the outcome; null if there is none."""
    reported: tuple[str, ...]
    """What the client reported, a line for each URL."""
    seen: str
    """What differed from the expectation."""
    transcript: tuple[str, ...]
    """What the server saw and sent, a line for each event."""


@dataclass(frozen=True, slots=True)
class Matrix:
    """Results of all cases with all clients.

    Raises
    ------
    InvalidValue
        If an id is there twice, or a case or cell names something that the matrix does not have.
    """

    __pydantic_config__: ClassVar = _DOCUMENTED

    schema: Literal[1]
    """Version of this format."""
    date: str
    """Day of the run, as 2026-11-28."""
    httpdyno: str
    """Version of httpdyno."""
    clients: tuple[MatrixClient, ...]
    """The columns, in their order."""
    groups: tuple[str, ...]
    """Groups of cases, in their order."""
    cases: tuple[MatrixCase, ...]
    """The rows; those of a group in their order."""
    cells: tuple[MatrixCell, ...]
    """In any order."""

    def __post_init__(self) -> None:
        clients = _unique("client", [client.id for client in self.clients])
        groups = _unique("group", self.groups)
        cases = _unique("case", [case.id for case in self.cases])
        _unique("cell", [f"{cell.client} {cell.case}" for cell in self.cells])
        for case in self.cases:
            if case.group not in groups:
                raise InvalidValue(f"conformance matrix: case {case.id}: unknown group {case.group!r}")
        for cell in self.cells:
            if cell.client not in clients or cell.case not in cases:
                raise InvalidValue(f"conformance matrix: cell {cell.client} {cell.case}: unknown client or case")


def _unique(kind: str, ids: list[str] | tuple[str, ...]) -> frozenset[str]:
    counted = Counter(ids)
    if twice := [name for name, count in counted.items() if count > 1]:
        raise InvalidValue(f"conformance matrix: {kind} {twice[0]} is there more than once")
    return frozenset(counted)
