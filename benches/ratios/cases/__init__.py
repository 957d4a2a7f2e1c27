"""The cases, in the order in which they are measured."""

from collections.abc import Mapping
from typing import Final

from ratios.case import Case
from ratios.cases import closed_loop, codec, connections, fetch, handshakes, link, open_loop, origin, start_up

__all__ = ["CASES"]

CASES: Final[Mapping[str, Case]] = {
    case.name: case
    for case in (
        closed_loop.HTTP_1,
        closed_loop.HTTP_1_ROOMY,
        closed_loop.HTTP_2,
        closed_loop.HTTP_2_NGINX,
        open_loop.CASE,
        connections.CASE,
        fetch.CASE,
        origin.PLAIN,
        origin.BYTES,
        handshakes.CASE,
        codec.CASE,
        start_up.CASE,
        link.CARRYING,
        link.STARTING,
    )
}
"""By the name that the command line takes."""
