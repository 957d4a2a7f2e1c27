"""``httpdyno load`` once its options are read: what can be refused is, the engine sends, its result is shown.

Imports next to nothing before the engine is started: it must start at once. What reads its report is imported while it
sends, what judges and draws it when it has sent.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from httpdyno.experiments.load.started import start_load
from httpdyno.experiments.load.words import FORMATS, load_arguments
from httpdyno.lab.interruption import Interruption
from httpdyno.lab.location import find_engine, usable_engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from httpdyno.experiments.load.limit import LoadLimit
    from httpdyno.experiments.load.run import LoadRun
    from httpdyno.experiments.load.started import StartedLoad

__all__ = ["send_load"]


def send_load(values: Mapping[str, Any]) -> None:
    """Send a load, and show how it fared; the values are those of ``LOAD_OPTIONS``, by name."""
    _check_format(values["format"])
    _check_requests(values)
    limits = _limits(values["fail_if"] or (), open_loop=values["rate"] is not None)
    if not values["no_store"]:
        _require_folder(values["out"])
    engine = usable_engine(os.environ) or str(find_engine())
    with (
        Interruption() as interruption,
        _list_given(values, interruption) as given,
        start_load(engine, load_arguments(given)) as started,
    ):
        ended = _measure(given, started, interruption)
    from httpdyno.cli.load_result import finish_load

    finish_load(ended, values["format"], limits)


def _check_format(name: str) -> None:
    if name not in FORMATS:
        from httpdyno.cli.tables import check_format

        check_format(name)


def _check_requests(values: Mapping[str, Any]) -> None:
    """Refuse what the engine would refuse too, in words for those who typed it."""
    from httpdyno.errors import UsageError

    if not (values["urls"] or values["urls_file"] or values["requests_file"]):
        raise UsageError(
            "load: there is no URL to send requests to; write: httpdyno load http://localhost:8080/,"
            " or give --urls or --requests-file"
        )
    for url in values["urls"] or ():
        if "://" not in url:
            meant = f"http://{url[:200]}{'' if '/' in url else '/'}"
            raise UsageError(f"load: {url[:200]!r} is no URL; did you mean {meant}?")
    for option in ("body_file", "requests_file", "cacert"):
        if path := values[option]:
            _require_file(f"--{option.replace('_', '-')} {path}", path)


def _require_file(name: str, path: str) -> None:
    from httpdyno.errors import UsageError

    try:
        # Opened and read by the engine: here is only found out whether that will go.
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        raise UsageError(f"{name}: cannot be read: {error.strerror}; name another file") from error


def _limits(texts: Sequence[str], *, open_loop: bool) -> list[LoadLimit]:
    if not texts:
        return []
    from httpdyno.experiments.load.limit import parse_load_limit

    limits = [parse_load_limit(text) for text in texts]
    for limit in limits:
        limit.check_schedule(open_loop=open_loop)
    return limits


def _require_folder(folder: str | os.PathLike[str]) -> None:
    if os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK):  # noqa: PTH112  # pathlib is too slow to import
        return
    from pathlib import Path

    from httpdyno.experiments.load.run import require_folder

    require_folder(Path(folder))


@contextmanager
def _list_given(values: Mapping[str, Any], interruption: Interruption) -> Iterator[Mapping[str, Any]]:
    """Copy a list that comes in by standard input to where every trial can read it."""
    if values["urls_file"] != "-":
        yield values
        return
    from httpdyno.lab.scratch import ScratchFile
    from httpdyno.standard_input import standard_input
    from httpdyno.storage import storage_errors

    with ScratchFile() as file:
        with interruption.at_once("the list of URLs was being read"), storage_errors("preparing the list of URLs"):
            # Line by line: a read that fills a buffer goes on after a signal.
            for line in standard_input().buffer:
                file.file.write(line)
            file.file.flush()
        yield {**values, "urls_file": str(file.path)}


def _measure(values: Mapping[str, Any], started: StartedLoad, interruption: Interruption) -> LoadRun:
    from pathlib import Path

    from httpdyno.cli.load_line import LoadLine
    from httpdyno.credentials import without_credentials
    from httpdyno.experiments.load.options import LoadOptions
    from httpdyno.experiments.load.run import measure_load

    line = LoadLine(sys.stderr, values["repeat"])
    with line:
        return measure_load(
            started,
            LoadOptions.of(values),
            repeat=values["repeat"],
            runs=None if values["no_store"] else Path(values["out"]),
            command=("httpdyno", *map(without_credentials, sys.argv[1:])),
            interruption=interruption,
            observer=line if line.shown else None,
            begins=line.trial_begins,
        )
