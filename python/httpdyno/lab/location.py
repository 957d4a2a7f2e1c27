"""Where the engine's program is. Imports little: `httpdyno room` must start at once."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from httpdyno.errors import EngineFailed

__all__ = ["ENGINE_NAME", "ENGINE_VARIABLE", "find_engine"]

ENGINE_VARIABLE = "HTTPDYNO_ENGINE"
ENGINE_NAME = "httpdyno-engine"
_CHECKOUT = Path(__file__).resolve().parents[3]


def find_engine(environment: Mapping[str, str] | None = None) -> Path:
    """Find the engine: ``$HTTPDYNO_ENGINE``, else beside this Python, else in the checkout's target folder.

    Raises
    ------
    EngineFailed
        If there is none, or the variable names something that cannot be run.
    """
    variables = os.environ if environment is None else environment
    if named := variables.get(ENGINE_VARIABLE):
        if os.access(named, os.X_OK) and Path(named).is_file():
            return Path(named).absolute()
        raise EngineFailed(f"{ENGINE_VARIABLE}={named} is no program that can be run; unset it to use the usual one")
    places = (Path(sys.executable).parent / ENGINE_NAME, _CHECKOUT / "target" / "release" / ENGINE_NAME)
    for place in places:
        if place.is_file() and os.access(place, os.X_OK):
            return place
    looked = " and ".join(str(place) for place in places)
    raise EngineFailed(f"the engine is missing (looked for {looked}); build it with: make setup")
