"""Where the engine's program is, or why there is none.

Imports next to nothing, neither ``pathlib`` nor ``typing`` before they are needed: ``httpdyno room`` must start at
once, and those two take longer than all that is done here.
"""

from __future__ import annotations

import os

from httpdyno.subjects.engine_program import ENGINE_NAME, ENGINE_VARIABLE, engine_places, usable_engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["ENGINE_NAME", "ENGINE_VARIABLE", "find_engine", "usable_engine"]


def find_engine(environment: Mapping[str, str] | None = None) -> Path:
    """Find the engine as ``usable_engine`` does."""
    from pathlib import Path

    from httpdyno.errors import EngineFailed
    from httpdyno.installation import renew_engine

    variables = os.environ if environment is None else environment
    if engine := usable_engine(variables):
        return Path(engine)
    if named := variables.get(ENGINE_VARIABLE):
        raise EngineFailed(f"{ENGINE_VARIABLE}={named} is no program that can be run; unset it to use the usual one")
    looked_for = " and ".join(engine_places())
    raise EngineFailed(f"the engine is missing (looked for {looked_for}); bring it with: {renew_engine()}")
