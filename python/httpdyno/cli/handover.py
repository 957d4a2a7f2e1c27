"""Verbs of the engine, such as ``load``: replace this process by the engine."""

from __future__ import annotations

import os
import sys

from httpdyno.subjects.engine_program import find_engine, usable_engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["hand_over"]


def hand_over(arguments: Sequence[str]) -> int:
    """Become the engine; return an exit code only when that fails.

    The arguments are the verb and what follows it, ``--help`` included: the engine describes its own options.
    """
    if (engine := usable_engine(os.environ)) is None:
        return _refuse_missing()
    try:
        # Under the name of the typed command, so that usage and errors show that name.
        os.execv(engine, ["httpdyno", *arguments])
    except OSError as error:
        return _refuse(f"the engine cannot be started: {error.strerror}", exit_code=3)


def _refuse_missing() -> int:
    from httpdyno.errors import EngineFailed

    try:
        find_engine()
    except EngineFailed as error:
        return _refuse(error.line, error.exit_code)
    return _refuse("the engine is missing", EngineFailed.exit_code)


def _refuse(line: str, exit_code: int) -> int:
    sys.stderr.write(f"httpdyno: {line}\n")
    return exit_code
