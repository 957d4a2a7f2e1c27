"""Output of a client, parsed by the engine itself."""

from collections.abc import Mapping
from typing import Any

from httpdyno.judge import Lines, TrialArtifacts, ending_from_report, read_lines
from httpdyno.lab.engine import Engine
from httpdyno.lab.scratch import ScratchFile
from httpdyno.subjects.engine_program import find_engine


def lines_of(printed: str | bytes, *, killed: bool = False) -> Lines:
    """Parse output that a test has written."""
    with ScratchFile() as file, ScratchFile() as rows:
        file.file.write(printed.encode() if isinstance(printed, str) else printed)
        file.file.flush()
        Engine(find_engine()).write_lines(file.path, rows.file, killed=killed)
        return read_lines(rows.path)


def artifacts(report: Mapping[str, Any], printed: str | bytes = b"", **more: Any) -> TrialArtifacts:
    """Return the files of a trial with this report and this output."""
    return TrialArtifacts(report, lines_of(printed, killed=ending_from_report(report).killed), **more)
