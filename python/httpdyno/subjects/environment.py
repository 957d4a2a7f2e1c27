"""The environment in which toolchains are asked, subjects are built and clients run."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from httpdyno.subjects.cache import cache_folder, toolchains_folder

__all__ = ["program_path", "tool_environment"]

_FOREIGN = ("VIRTUAL_ENV", "UV_PROJECT_ENVIRONMENT", "PYTHONPATH", "PYTHONHOME")
"""Variables that belong to the Python environment which runs httpdyno and would mislead the one of a subject."""
_SERVERS = "/usr/sbin"


def program_path(caller: Mapping[str, str]) -> str:
    """Return the folders in which programs are searched, as ``PATH``.

    First the toolchains that were brought into the cache, since one is brought only where the machine's is missing or
    too old; then the caller's; then ``DOTNET_ROOT``, where a .NET SDK of one's own is unpacked; then that of servers
    such as ``apache2``, which not every caller has; the folder of this Python comes last: uv is found there when the
    machine has none, and the machine's own ``python3`` is never shadowed.
    """
    own = str(Path(sys.executable).parent)
    toolchains = toolchains_folder(cache_folder(caller)) / "bin"
    first = [str(toolchains)] if toolchains.is_dir() else []
    folders = [*caller.get("PATH", os.defpath).split(os.pathsep), caller.get("DOTNET_ROOT", ""), _SERVERS]
    others = [folder for folder in folders if folder and folder not in {own, *first}]
    return os.pathsep.join([*first, *dict.fromkeys(others), own])


def tool_environment(caller: Mapping[str, str]) -> dict[str, str]:
    """Return the caller's environment without what belongs to this program, and with ``program_path``."""
    environment = {name: value for name, value in caller.items() if name not in _FOREIGN}
    environment["PATH"] = program_path(caller)
    return environment
