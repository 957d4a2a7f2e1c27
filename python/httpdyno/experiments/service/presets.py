"""The published measurement of the service question, as it was run: which servers, points and threads."""

from collections.abc import Mapping
from typing import Final

from httpdyno.experiments.service.axes import Axes
from httpdyno.published import Preset, find_preset

__all__ = ["ALSO_NAMED", "SENT_S", "THREADS_OF", "find_service_preset", "preset_axes", "published_figures"]

SENT_S: Final = 30.0
"""Of each point: 14 rounds of 2 s, and one that was not whole, give the published rates."""
ALSO_NAMED: Final = ("rust-actix-web", "rust-warp")
"""Servers that the publication names without figures."""
THREADS_OF: Final[Mapping[str, int]] = {"flask-gunicorn": 10}
"""Its threads are the requests that it works on; the others have one system thread for any number of them."""


def find_service_preset(name: str) -> Preset:
    """Return the publication of that name.

    Raises
    ------
    UnknownName
        If there is none; the message lists those that there are.
    """
    return find_preset(name, "service")


def preset_axes(preset: Preset) -> Axes:
    """Return the grid of a publication: its numbers of connections, one thread for each server."""
    counts = sorted({count for _, count in published_figures(preset)})
    return Axes(connections=tuple(counts), threads=(1,))


def published_figures(preset: Preset) -> dict[tuple[str, int], tuple[float | None, float | None]]:
    """Return what was published by server and connections: mean of the slowest 5 % in ms, and requests a second."""
    found = {}
    for row in preset.table.rows:
        cells = preset.table.cells(row)
        slowest, rate = (cells[name] for name in ("slowest5", "requestsPerSec"))
        found[row.subject, int(str(cells["connections"]))] = (_figure(slowest), _figure(rate))
    return found


def _figure(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
