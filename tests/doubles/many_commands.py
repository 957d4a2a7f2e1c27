"""Runs one `httpdyno` after another in one process: for tests in another network namespace.

Started as a program, it reads a command a line (JSON: words, folder, environment) and writes its result as a line: exit
code, standard output, standard error. As in `in_process`, there is no pause between trials, and no chart is drawn.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

__all__ = ["ManyCommands"]


class ManyCommands:
    """The process, from outside."""

    def __init__(self, prefix: Sequence[str], folder: Path) -> None:
        self._said = folder / "said"
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [*prefix, sys.executable, __file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=said,
                text=True,
                process_group=0,
            )

    def run(self, *words: str, folder: Path, environment: Mapping[str, str]) -> tuple[int, str, str]:
        """Run a command to its end; return its exit code, standard output and standard error."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps([words, str(folder), dict(environment)]) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, self._said.read_text()
        code, out, err = json.loads(line)
        return code, out, err

    def end(self) -> None:
        """End it, whatever it is doing."""
        self._process.kill()
        self._process.communicate()


def _run(words: Sequence[str], folder: str, environment: Mapping[str, str]) -> tuple[int, str, str]:
    from httpdyno.cli import main

    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None
    sys.argv = ["httpdyno", *words]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        kept = [os.dup(descriptor) for descriptor in (1, 2)]
        try:
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            try:
                code = main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else int(bool(end.code))
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            # A search for a test's leftovers must not find this process in its folder.
            os.chdir("/")
            for descriptor, before in zip((1, 2), kept, strict=True):
                os.dup2(before, descriptor)
                os.close(before)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode())
    return code, texts[0], texts[1]


def _serve() -> None:
    from httpdyno.lab import cool_down
    from httpdyno.report import html

    quick: Any = cool_down
    quick.WINDOW_S = quick.LONGEST_S = quick.SHORTEST_WINDOW_S = 0.0
    undrawn: Any = html
    undrawn.page = lambda report: f"<!doctype html>{report.headline}"
    # Commands must not read this standard input.
    asked = os.fdopen(os.dup(0), encoding="utf-8")
    with Path(os.devnull).open(encoding="utf-8") as nothing:
        os.dup2(nothing.fileno(), 0)
    for line in asked:
        answer = json.dumps(_run(*json.loads(line)))
        print(answer, flush=True)


if __name__ == "__main__":
    _serve()
