"""How each peer is started for a case, and what is read from its report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from httpdyno.errors import NothingMeasured
from httpdyno.judge.tool_reports import read_tool_report
from httpdyno.model import ToolReport
from httpdyno.subjects.build import find_build
from httpdyno.subjects.cache import cache_folder
from httpdyno.subjects.catalogue import read_catalogue
from httpdyno.subjects.needs import why_unavailable
from ratios.place import Place
from ratios.processes import Ended, run_pinned

__all__ = ["Asked", "Peer", "find_peer", "run_peer"]

_ENVIRONMENT: Final = {"TOKIO_WORKER_THREADS": "1"}
"""oha starts a thread for each core of the machine, also where it may use but one."""


@dataclass(frozen=True, slots=True)
class Peer:
    """A load tool that was found here."""

    id: str
    argv: tuple[str, ...]
    """The template of its ``subject.toml``."""
    parser: str
    version: str | None

    @property
    def program(self) -> str:
        """The program alone, for a case that starts it in its own way."""
        return self.argv[0]


@dataclass(frozen=True, slots=True)
class Asked:
    """What a load tool is asked to do."""

    url: str
    connections: int
    seconds: int
    extra: Mapping[str, str] = field(default_factory=dict)


def find_peer(name: str) -> Peer:
    """Find a tool as ``httpdyno subjects install`` has left it.

    Raises
    ------
    NothingMeasured
        If it is not there.
    """
    (subject,) = read_catalogue().select([name])
    if error := why_unavailable(subject):
        raise error
    build = find_build(subject, cache_folder())
    if build is None:
        raise NothingMeasured(f"{name}: is not built; build it with: httpdyno subjects install {name}")
    return Peer(name, build.argv, subject.report_parser, build.version)


def filled(argv: Sequence[str], asked: Asked) -> list[str]:
    """Fill in what a tool is asked: each place stands for one value, any other brace stays as it is."""
    values = {
        "url": asked.url,
        "connections": str(asked.connections),
        "duration_s": str(asked.seconds),
        "threads": "1",
        "timeout_s": "5",
        "method": "GET",
        **asked.extra,
    }
    parts = list(argv)
    for name, value in values.items():
        parts = [part.replace(f"{{{name}}}", value) for part in parts]
    return parts


def run_peer(place: Place, peer: Peer, asked: Asked, *, argv: Sequence[str] | None = None) -> tuple[ToolReport, Ended]:
    """Let a tool ask, on the client's CPUs, and read its report.

    Raises
    ------
    NothingMeasured
        If it fails, or one of its requests did.
    """
    ended = run_pinned(
        filled(argv or peer.argv, asked),
        cpus=place.client_cpus,
        scratch=_folder(place, peer.id),
        environment=_ENVIRONMENT,
        longest_s=asked.seconds * 3 + 60,
    )
    report = read_tool_report(peer.parser, ended.stdout)
    if report.error_count or report.non_2xx or not report.requests:
        raise NothingMeasured(
            f"{peer.id}: {report.requests} answers, {report.error_count} errors, {report.non_2xx or 0} other than 2xx"
        )
    return report, ended


def _folder(place: Place, name: str) -> Path:
    folder = place.scratch / name
    folder.mkdir(exist_ok=True)
    return folder
