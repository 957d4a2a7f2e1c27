"""What a command left, for tests that run one."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

CORRECT: Final = frozenset({"VALID", "ORIGIN_LIMITED", "UNSTEADY"})
"""What the trial of a correct client may be: nobody keeps the machine of the tests from having other work."""


@dataclass(frozen=True)
class Ended:
    """What a command left."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """What it printed with `--format json`."""
        return list(json.loads(self.out))


Command = Callable[..., Ended]
"""Runs `httpdyno` with the given arguments; `stdin=` pipes bytes in."""
