"""The values that are measured and planned: frozen, validated, without any I/O.

A module is imported when one of its names is first used: making all dataclasses takes more CPU time than everything
else that the help of a verb does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from httpdyno.model.cases import *
    from httpdyno.model.comparison import *
    from httpdyno.model.condition import *
    from httpdyno.model.counters import *
    from httpdyno.model.link import *
    from httpdyno.model.record import *
    from httpdyno.model.report import *
    from httpdyno.model.subject import *
    from httpdyno.model.trial import *
    from httpdyno.model.units import *

_MODULES: Final = (
    "units",
    "record",
    "link",
    "counters",
    "subject",
    "condition",
    "trial",
    "report",
    "comparison",
    "cases",
)
"""Where the names are, each module after those that it imports."""


def __getattr__(name: str) -> Any:  # noqa: ANN401
    """Import the modules up to the first that has the name."""
    if not name.startswith("_"):
        for module in _MODULES:
            found = vars(import_module(f"{__name__}.{module}"))
            if name in found:
                return globals().setdefault(name, found[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
