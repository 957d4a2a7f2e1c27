"""The codec against httparse: nanoseconds for a head, or for a chunk of a body."""

import json
import os
import re
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

from httpdyno.errors import NothingMeasured
from ratios.case import Case, Measured
from ratios.figures import Column, Round, Target
from ratios.place import Place
from ratios.processes import run_pinned

__all__ = ["CASE", "read_bench"]

_ROOT: Final = Path(__file__).resolve().parents[3]
_OURS: Final = "dyno-http"
_BARE: Final = "httparse, bare"
_ALIKE: Final = "httparse, looked up"
_WHOLE: Final = "httparse, whole body"
_INPUT: Final = re.compile(r"^(?P<name>\S.*) \((?P<bytes>[0-9]+) bytes\)$")
_LINE: Final = re.compile(r"^  (?P<parser>\S.*?) {2,}(?P<median>[0-9.]+) \[")
_HEADS: Final = ("request, tool", "request, library", "request, browser", "response, small", "response, site")
_CHUNKS: Final = ("chunks of 10 bytes", "chunks of 4096 bytes")


def read_bench(text: str) -> Round:
    """Read what the benchmark prints: for each parser the median nanoseconds of each input.

    Raises
    ------
    NothingMeasured
        If there is nothing of it.
    """
    measured: dict[str, dict[str, float]] = {}
    name = None
    for line in text.splitlines():
        if heading := _INPUT.match(line):
            name = heading["name"]
        elif (found := _LINE.match(line)) and name:
            parser = _OURS if found["parser"] == "ours" else found["parser"]
            measured.setdefault(parser, {})[name] = float(found["median"])
    if not measured:
        raise NothingMeasured("the benchmark of dyno-http printed no figures")
    return measured


def _program() -> Path:
    """Build the benchmark and give its program."""
    argv = ["cargo", "bench", "--locked", "--quiet", "--package", "dyno-http", "--bench", "httparse"]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(_ROOT / "target")}
    built = subprocess.run(
        [*argv, "--no-run", "--message-format=json"],
        cwd=_ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    lines: list[Mapping[str, object]] = [json.loads(line) for line in built.stdout.splitlines()]
    programs = [Path(str(line["executable"])) for line in lines if line.get("executable")]
    if built.returncode or not programs:
        raise NothingMeasured("the benchmark of dyno-http cannot be built; see above")
    return programs[-1]


def _measure(place: Place) -> Measured:
    run = partial(run_pinned, [_program(), "--bench"], cpus=place.client_cpus, scratch=place.scratch)
    return Measured(tuple(read_bench(run().stdout) for _ in range(place.rounds)))


CASE: Final = Case(
    name="codec",
    title="The codec",
    setting=(
        "Nanoseconds for a head, or a chunk. Looked up: with the fields of framing, host and connection, which "
        "dyno-http always returns. Ratios are the time of httparse divided by that of dyno-http."
    ),
    columns=tuple(Column(name, name, 1) for name in (*_HEADS, *_CHUNKS)),
    targets=(
        *(Target(_OURS, name, _ALIKE, inverse=True) for name in _HEADS),
        *(Target(_OURS, name, _BARE, inverse=True) for name in _HEADS),
        *(Target(_OURS, name, _WHOLE, inverse=True) for name in _CHUNKS),
    ),
    measure=_measure,
)
