"""What a command left, for tests that run one."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


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
