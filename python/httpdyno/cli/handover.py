"""``room`` and ``origin``: the engine takes this process over, with its streams, its terminal and its exit status."""

import os
import sys
from collections.abc import Sequence

from httpdyno.errors import EngineFailed
from httpdyno.lab.location import find_engine

__all__ = ["hand_over"]


def hand_over(arguments: Sequence[str]) -> int:
    """Become the engine; return an exit code only when that fails.

    Parameters
    ----------
    arguments : sequence of str
        The verb and what follows it, ``--help`` included: the engine describes its own options.
    """
    try:
        engine = find_engine()
        # Under the name of the command that was typed, so that usage and errors speak of that one.
        os.execv(engine, ["httpdyno", *arguments])
    except EngineFailed as error:
        return _refuse(error.line, error.exit_code)
    except OSError as error:
        return _refuse(f"the engine cannot be started: {error.strerror}", EngineFailed.exit_code)


def _refuse(line: str, exit_code: int) -> int:
    sys.stderr.write(f"httpdyno: {line}\n")
    return exit_code
