"""The path of the engine's program, which is also ``{engine}`` in a ``subject.toml``.

Imports neither ``pathlib`` nor ``typing`` before it needs them, because ``httpdyno room`` must start at once.
"""

from __future__ import annotations

import os
import sys

from httpdyno.installation import CHECKOUT, renew_engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path


ENGINE_VARIABLE = "HTTPDYNO_ENGINE"
ENGINE_NAME = "httpdyno-engine"


def usable_engine() -> str | None:
    """Find the engine: ``$HTTPDYNO_ENGINE``, else in one of ``engine_places``."""
    named = os.environ.get(ENGINE_VARIABLE)
    for place in [named] if named else engine_places():
        if os.path.isfile(place) and os.access(place, os.X_OK):  # noqa: PTH113
            return os.path.abspath(place)  # noqa: PTH100
    return None


def engine_places() -> list[str]:
    """List where the engine is searched when ``HTTPDYNO_ENGINE`` is not set.

    The places: next to this Python, as in a virtual environment; next to the command, where one outside of an
    environment was installed; in the checkout's target folder.
    """
    folders = [os.path.dirname(sys.executable)]  # noqa: PTH120
    if os.path.basename(sys.argv[0]) == "httpdyno":  # noqa: PTH119
        folders.append(os.path.dirname(os.path.abspath(sys.argv[0])))  # noqa: PTH100, PTH120
    if CHECKOUT is not None:
        folders.append(os.path.join(CHECKOUT, "target", "release"))  # noqa: PTH118
    return [os.path.join(folder, ENGINE_NAME) for folder in dict.fromkeys(folders)]  # noqa: PTH118


def describe_missing_engine() -> str:
    """Name the places that have no engine, and how to install it."""
    if named := os.environ.get(ENGINE_VARIABLE):
        return f"{ENGINE_VARIABLE}={named} is not an executable program; unset the variable to use the usual engine"
    return f"the engine is missing (searched {' and '.join(engine_places())}); install it with: {renew_engine()}"


def find_engine() -> Path:
    """Find the engine as ``usable_engine`` does; raise ``EngineFailed`` when it is missing."""
    from pathlib import Path

    from httpdyno.errors import EngineFailed

    if engine := usable_engine():
        return Path(engine)
    raise EngineFailed(describe_missing_engine())
