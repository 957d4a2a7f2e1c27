"""A server subject as the peer of a trial: how it is started, where it is found and what it answers."""

import os
from typing import Final

import polars as pl

from httpdyno.errors import InvalidValue
from httpdyno.judge import Expectations
from httpdyno.judge.reference import EXPECTED
from httpdyno.lab.room import PEER_PORT, Command
from httpdyno.model import UrlSeries
from httpdyno.subjects.build import Build
from httpdyno.subjects.cache import program_path

__all__ = ["PEER_URL", "peer_command", "peer_expectations"]

PEER_URL: Final = f"http://peer.example:{PEER_PORT}"
"""Where subjects find a server that plays the peer: its room gives it that name."""
_LENGTHS: Final = {"/plain": 13, "/json": 16_384}
"""Bytes of what each path answers (``subjects/CONTRACT.md``): both have one length only."""


def peer_command(build: Build) -> Command:
    """Return how a server is started that plays the peer; the room tells it where to listen."""
    return Command(
        argv=build.argv,
        folder=build.folder,
        environment={"PATH": program_path(os.environ), **build.environment},
    )


def peer_expectations(series: UrlSeries) -> Expectations:
    """Return what a server answers to a series of URLs: the content that its contract fixes, and no stamps of arrivals.

    The series must be of the peer's ``/plain`` or ``/json``.
    """
    path = series.prefix.removeprefix(PEER_URL).partition("?")[0]
    if path not in _LENGTHS or not series.prefix.startswith(PEER_URL):
        raise InvalidValue(f"{series.prefix}: a server's answer there is not known; ask it for /plain or /json")
    urls = pl.Series("url", list(series))
    same = {"outcome": "status", "status": 200, "length": _LENGTHS[path], "cause": None, "arrives": 0}
    return Expectations.of(
        pl.DataFrame({"url": urls}).with_columns(
            pl.lit(same.get(name), dtype=type_).alias(name) for name, type_ in EXPECTED.items() if name != "url"
        )
    )
