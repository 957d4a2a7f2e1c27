"""The environment in which toolchains are asked and subjects are built."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

__all__ = ["tool_environment"]

_FOREIGN = ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "PYTHONPATH", "PYTHONHOME")
"""Variables that belong to the Python environment which runs httpdyno and would mislead the one of a subject."""


def tool_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """Give the caller's environment without what belongs to this program, and with the programs beside this Python.

    The folder of this Python comes last: uv is found there when the machine has none, and the machine's own
    ``python3`` is never shadowed.
    """
    environment = {name: value for name, value in caller.items() if name not in _FOREIGN}
    own = str(Path(sys.executable).parent)
    others = [folder for folder in environment.get("PATH", os.defpath).split(os.pathsep) if folder and folder != own]
    environment["PATH"] = os.pathsep.join([*others, own])
    return environment
