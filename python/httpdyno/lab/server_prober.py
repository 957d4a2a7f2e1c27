"""Puts the claims of a server to the test, each on a server of its own."""

from collections.abc import Collection

from httpdyno.lab.interruption import Interruption
from httpdyno.lab.server_process import ServerProcess
from httpdyno.subjects.build import Build
from httpdyno.subjects.probe import ProbeResult
from httpdyno.subjects.server_probe import Answer, ServerCase, conclude_server, server_cases

__all__ = ["probe_server"]


def probe_server(
    build: Build, interruption: Interruption, *, only: Collection[str] | None = None
) -> tuple[ProbeResult, ...]:
    """Run the cases of a built server, on this machine's loopback: all, or only those of some claims.

    Raises
    ------
    Interrupted
        If it was stopped.
    """
    return tuple(
        conclude_server(build.subject, case, _answers(build, case, interruption))
        for case in server_cases(build.subject)
        if only is None or case.claim in only
    )


def _answers(build: Build, case: ServerCase, interruption: Interruption) -> list[Answer] | None:
    with ServerProcess(build, case.settings) as server:
        if not server.ready(interruption):
            return None
        answers = [server.ask(ask) for ask in case.asks]
    return [answer for answer in answers if answer is not None] if None not in answers else None
