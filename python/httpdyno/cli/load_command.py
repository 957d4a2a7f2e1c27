"""``httpdyno load`` once its options are read: what can be refused is, the engine sends, its result is shown.

Imports next to nothing before the engine is started: it must start at once. What reads its report is imported while it
sends, what judges and draws it when it has sent.
"""

from __future__ import annotations

import os
import stat
import sys
from contextlib import contextmanager, suppress

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
        _list_given(values, interruption) as listed,
        _outputs_given(listed) as given,
        start_load(engine, load_arguments(given)) as started,
    ):
        ended = _measure(given, started, interruption)
    from httpdyno.cli.load_result import finish_load

    finish_load(ended, values["format"], limits)


def _check_format(name: str) -> None:
    if name not in FORMATS:
        from httpdyno.cli.terminal import check_format

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


@contextmanager
def _outputs_given(values: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Have what is to go into a pipe or to a device written to a file first: the run is made of it, too."""
    options = {name: values[name] for name in ("samples", "hdr_log") if _is_stream(values[name])}
    if not options:
        yield values
        return
    from contextlib import ExitStack
    from shutil import copyfileobj

    from httpdyno.errors import UsageError
    from httpdyno.lab.scratch import ScratchFile
    from httpdyno.storage import storage_errors

    for name, path in options.items():
        if values["repeat"] > 1:
            raise UsageError(
                f"--{name.replace('_', '-')} {path}: with --repeat each trial has a file of its own; name a file"
            )
    with ExitStack() as stack:
        files = {name: stack.enter_context(ScratchFile()) for name in options}
        yield {**values, **{name: str(file.path) for name, file in files.items()}}
        for name, path in options.items():
            descriptor = _descriptor(path)
            with (
                storage_errors(f"--{name.replace('_', '-')}: cannot write"),
                suppress(BrokenPipeError),
                files[name].path.open("rb") as content,
                # Not by its name, which would begin a file anew that standard output goes to.
                open(path if descriptor is None else os.dup(descriptor), "wb") as stream,  # noqa: PTH123  # or a number
            ):
                copyfileobj(content, stream)


def _is_stream(path: str | None) -> bool:
    """Whether it is an open descriptor, or a file that is there and keeps nothing: a pipe, a terminal, a device."""
    if path is not None and _descriptor(path) is not None:
        return True
    try:
        mode = os.stat(path).st_mode if path is not None else None  # noqa: PTH116  # pathlib is too slow to import
    except OSError:
        return False
    return mode is not None and not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def _descriptor(path: str) -> int | None:
    """Return the number of the descriptor that a path names, such as ``/dev/stdout``."""
    named = {"/dev/stdout": 1, "/dev/stderr": 2}.get(path)
    folder, _, number = path.rpartition("/")
    return int(number) if folder in ("/dev/fd", "/proc/self/fd") and number.isdecimal() else named


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
