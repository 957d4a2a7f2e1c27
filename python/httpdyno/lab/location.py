"""Where the engine's program is.

Imports next to nothing, neither ``pathlib`` nor ``typing`` before they are needed: ``httpdyno room`` must start at
once, and those two take longer than all that is done here.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ENGINE_NAME", "ENGINE_VARIABLE", "find_engine", "usable_engine"]

ENGINE_VARIABLE = "HTTPDYNO_ENGINE"
ENGINE_NAME = "httpdyno-engine"
_CHECKOUT = os.path.realpath(os.path.join(os.path.dirname(__file__), *[os.pardir] * 3))  # noqa: PTH118, PTH120


def usable_engine(environment: Mapping[str, str]) -> str | None:
    """Find the engine: ``$HTTPDYNO_ENGINE``, else beside this Python, else in the checkout's target folder."""
    named = environment.get(ENGINE_VARIABLE)
    for place in [named] if named else _places():
        if os.path.isfile(place) and os.access(place, os.X_OK):  # noqa: PTH113
            return os.path.abspath(place)  # noqa: PTH100
    return None


def find_engine(environment: Mapping[str, str] | None = None) -> Path:
    """Find the engine as ``usable_engine`` does.

    Raises
    ------
    EngineFailed
        If there is none, or the variable names something that cannot be run.
    """
    from pathlib import Path

    from httpdyno.errors import EngineFailed

    variables = os.environ if environment is None else environment
    if engine := usable_engine(variables):
        return Path(engine)
    if named := variables.get(ENGINE_VARIABLE):
        raise EngineFailed(f"{ENGINE_VARIABLE}={named} is no program that can be run; unset it to use the usual one")
    raise EngineFailed(f"the engine is missing (looked for {' and '.join(_places())}); build it with: make setup")


def _places() -> list[str]:
    own = os.path.dirname(sys.executable)  # noqa: PTH120
    return [
        os.path.join(own, ENGINE_NAME),  # noqa: PTH118
        os.path.join(_CHECKOUT, "target", "release", ENGINE_NAME),  # noqa: PTH118
    ]
