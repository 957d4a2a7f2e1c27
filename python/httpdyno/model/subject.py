"""The program under measurement, as its ``subject.toml`` describes it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Final

from httpdyno.errors import InvalidValue
from httpdyno.model.cause import check_case
from httpdyno.model.tool_report import check_parser

__all__ = ["Capabilities", "KnownFailure", "Need", "Subject", "SubjectKind"]

_IDENTIFIER: Final = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


class SubjectKind(StrEnum):
    """What a subject is: it decides which contract it keeps and which experiments take it."""

    CLIENT = "client"
    TOOL = "tool"
    SERVER = "server"


@dataclass(frozen=True, slots=True)
class Need:
    """What must be there before a subject can be built: ``go``, ``>=1.22``."""

    program: str
    """A program, or a library with its kind: ``gem:curb``, ``pkg-config:libcurl``."""
    version: str = ""
    """A constraint such as ``>=1.22``; empty when any version will do."""


@dataclass(frozen=True, slots=True)
class KnownFailure:
    """A case that a subject is known to get wrong: shown in the table, never hidden, and not counted as wrong.

    Raises
    ------
    InvalidValue
        If there is no such case.
    """

    case: str
    """One of ``cause.CASES``: ``stall_tls``, ``keepalive off``."""
    reason: str
    issue: str = ""
    """Where the failure is discussed; empty when nowhere."""

    def __post_init__(self) -> None:
        """Refuse a name that would never explain anything."""
        check_case(self.case)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a subject claims to be able to do; the probe proves each claim before the subject is measured."""

    http: tuple[str, ...] = ()
    keepalive: tuple[bool, ...] = ()
    check: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subject:
    """A client, tool or server under measurement.

    Raises
    ------
    InvalidValue
        If the id is not lower-case words joined by hyphens, the run command is empty though it is not said to be
        unavailable, the concurrency is below 1, or a tool lacks a parser of its report, or another subject has one.
    """

    id: str
    kind: SubjectKind
    language: str
    method: str
    folder: Path
    run_argv: tuple[str, ...]
    concurrency: int = 10
    needs: tuple[Need, ...] = ()
    build_argv: tuple[str, ...] = ()
    version_argv: tuple[str, ...] = ()
    capabilities: Capabilities = field(default_factory=Capabilities)
    known_failures: tuple[KnownFailure, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    unavailable: str = ""
    """Why it can be had nowhere; empty when it can."""
    report_parser: str = ""
    """Which parser reads the report of a tool, one of ``REPORT_PARSERS``; empty for clients and servers."""

    def __post_init__(self) -> None:
        """Refuse what no subject can be."""
        if not _IDENTIFIER.fullmatch(self.id):
            raise InvalidValue(f"subject {self.id!r}: the name must be lower-case letters and digits joined by hyphens")
        if not self.run_argv and not self.unavailable:
            raise InvalidValue(f"subject {self.id}: the command to run is empty; set argv under [run]")
        if self.concurrency < 1:
            raise InvalidValue(f"subject {self.id}: concurrency must be 1 or more, not {self.concurrency}")
        self._check_report_parser()

    def _check_report_parser(self) -> None:
        if self.report_parser and self.kind is not SubjectKind.TOOL:
            raise InvalidValue(f"subject {self.id}: only a tool has a report; a {self.kind} must not have [report]")
        if self.kind is SubjectKind.TOOL and not self.unavailable:
            if not self.report_parser:
                raise InvalidValue(f"subject {self.id}: a tool needs a parser for its report; set it under [report]")
            check_parser(self.report_parser)

    def known_failure(self, case: str) -> KnownFailure | None:
        """Find the known failure of that case; None when there is none."""
        return next((failure for failure in self.known_failures if failure.case == case), None)
