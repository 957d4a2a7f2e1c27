"""Puts the claims of a server to the test, each on a server of its own."""

from collections.abc import Collection, Sequence
from typing import Final

from httpdyno.lab.interruption import Interruption
from httpdyno.lab.server_process import ServerProcess
from httpdyno.subjects.build import Build
from httpdyno.subjects.probe import SCALES, Answer, ProbeResult, ServerCase, conclude_server, server_cases

__all__ = ["probe_server"]

_HANG_S: Final = 120.0
"""No answer takes as long, on however busy a machine."""


def probe_server(
    build: Build, interruption: Interruption, *, only: Collection[str] | None = None
) -> tuple[ProbeResult, ...]:
    """Run the cases of a built server, on this machine's loopback: all, or only those of some claims."""
    by_scale = zip(*(server_cases(build.subject, scale=scale) for scale in SCALES), strict=True)
    return tuple(_concluded(build, cases, interruption) for cases in by_scale if only is None or cases[0].claim in only)


def _concluded(build: Build, cases: Sequence[ServerCase], interruption: Interruption) -> ProbeResult:
    """Put one claim to the test, with longer waits where shorter ones did not show what it says."""
    for case in cases:
        result = conclude_server(build.subject, case, _answers(build, case, interruption))
        if result.works or not case.claimed or case.settings == cases[-1].settings:
            break
    return result


def _answers(build: Build, case: ServerCase, interruption: Interruption) -> list[Answer] | None:
    with ServerProcess(build, case.settings) as server:
        if not server.ready(interruption):
            return None
        answers = [server.ask(ask, timeout_s=_HANG_S) for ask in case.asks]
    return [answer for answer in answers if answer is not None] if None not in answers else None
